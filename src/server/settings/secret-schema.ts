import * as z from 'zod'

/** Name of a secret that systemd or the container runtime provides as a file. */
const credentialNameSchema = z.string().regex(/^[\w.-]+$/, { error: 'must be the name of a credential' })

/** Returns the schema of an optional field that names a credential with this content. */
export const credentialSchema = (content: string) =>
  credentialNameSchema
    .optional()
    .describe(`Name of a systemd credential, or of a file in /run/secrets, that contains ${content}`)

/** Names of the two fields that can provide a secret: the path of a file, or the name of a credential. */
type SecretFields = readonly [file: string, credential: string, required: 'required' | 'optional']

/** Returns a schema that rejects both a file and a credential for one secret, and a required secret with neither. */
export function withSecrets<Schema extends z.ZodObject>(schema: Schema, ...secrets: readonly SecretFields[]): Schema {
  return schema
    .check((context) => {
      for (const [file, credential, required] of secrets) {
        const [isFile, isCredential] = [file, credential].map((field) => context.value[field] !== undefined)
        const needed = required === 'required'
        if (isFile !== isCredential || (!needed && !isFile)) continue
        const message = needed
          ? `needs either ${file} or ${credential}`
          : `must have ${file} or ${credential}, not both`
        context.issues.push({ code: 'custom', message, input: context.value })
      }
    })
    .meta({
      allOf: secrets.map(([file, credential, required]) =>
        required === 'required'
          ? { oneOf: [{ required: [file] }, { required: [credential] }] }
          : { not: { required: [file, credential] } },
      ),
    })
}

/** Returns a check that rejects a string with the problem that `problemOf` finds in it. */
export const refuseProblems =
  (problemOf: (text: string) => string | null) =>
  ({ value, issues }: z.core.ParsePayload<string>): void => {
    const problem = problemOf(value)
    if (problem !== null) issues.push({ code: 'custom', message: problem, input: value })
  }
