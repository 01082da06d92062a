import * as z from 'zod'

/** The name of a credential file of the service manager. */
export const credentialName = z.string().regex(/^[\w.-]+$/, { error: 'must be the name of a credential' })

/** Rejects a secret with both a file and a credential; if it is required, also one with neither. */
export function fileOrCredential<Entry extends object>(
  file: string & keyof Entry,
  credential: string & keyof Entry,
  { needed }: { needed: boolean },
) {
  return (context: z.core.ParsePayload<Entry>): void => {
    const [isFile, isCredential] = [file, credential].map((field) => context.value[field as keyof Entry] !== undefined)
    if (isFile !== isCredential || (!needed && !isFile)) return
    const message = needed ? `needs either ${file} or ${credential}` : `must have ${file} or ${credential}, not both`
    context.issues.push({ code: 'custom', message, input: context.value })
  }
}
