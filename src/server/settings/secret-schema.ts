import * as z from 'zod'

/** Of a file that the service manager hands over. */
export const credentialName = z.string().regex(/^[\w.-]+$/, { error: 'must be the name of a credential' })

/** Refuses where a secret's file and its credential are given both; where one is needed, neither as well. */
export function fileOrCredential<Entry extends object>(
  file: string & keyof Entry,
  credential: string & keyof Entry,
  { needed }: { needed: boolean },
) {
  return (context: z.core.ParsePayload<Entry>): void => {
    const [isFile, isCredential] = [file, credential].map((field) => context.value[field as keyof Entry] !== undefined)
    if (isFile !== isCredential || (!needed && !isFile)) return
    const message = needed ? `needs either ${file} or ${credential}` : `takes ${file} or ${credential}, not both`
    context.issues.push({ code: 'custom', message, input: context.value })
  }
}
