import * as z from 'zod'
import { checksumAddress, evmAddressProblem } from '../../api/address.ts'
import { EVM_ADDRESS_PATTERN } from '../../api/same-address.ts'
import { problemMessage } from '../../api/validate.ts'
import { hasUserInfo, isOnLoopback, parseUrl, WEB_URL_PATTERN } from '../../core/parse-url.ts'
import { credentialSchema, refuseProblems, withSecrets } from './secret-schema.ts'

const fileSchema = z.string().min(1)

/** A key in a keystore, with the password in a file, in a systemd credential or in /run/secrets. */
export const keystoreSignerSchema = withSecrets(
  z.strictObject({
    keystore: fileSchema.describe('Encrypted key file'),
    password_file: fileSchema.optional().describe('File with the password of the keystore'),
    password_credential: credentialSchema('the password of the keystore'),
  }),
  ['password_file', 'password_credential', 'required'],
)

/** The checksummed address of an account. The input may be in lower case, in upper case or checksummed. */
const accountSchema = z
  .string()
  .check(refuseProblems(evmAddressProblem))
  .meta({ pattern: EVM_ADDRESS_PATTERN.source })
  .transform((text) => checksumAddress(text) as `0x${string}`)

const signerUrlSchema = z.string().check(refuseProblems(urlProblem)).meta({ pattern: WEB_URL_PATTERN })

function urlProblem(text: string): string | null {
  const url = parseUrl(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an https URL'
  if (hasUserInfo(url)) return 'must not have a user name or password: set token_file instead'
  if (url.hash !== '') return 'must not have a fragment'
  if (url.protocol === 'https:' || isOnLoopback(url)) return null
  return "must be https, because http doesn't protect the transactions: http is allowed only for loopback addresses"
}

const TLS_FIELDS = ['client_cert_file', 'client_key_file', 'client_key_credential', 'ca_file'] as const

/** A key in another process that supports `eth_signTransaction`, such as Web3Signer or a bridge to a KMS. */
export const remoteSignerSchema = withSecrets(
  z.strictObject({
    remote_signer: signerUrlSchema.describe('URL of a JSON-RPC server that supports eth_signTransaction'),
    address: accountSchema.describe('Address of the account that signs'),
    token_file: fileSchema.optional().describe('File with the bearer token'),
    token_credential: credentialSchema('the bearer token'),
    client_cert_file: fileSchema
      .optional()
      .describe('Client certificate that authenticates this backend to the signer'),
    client_key_file: fileSchema.optional().describe('Private key of the client certificate'),
    client_key_credential: credentialSchema('the private key of the client certificate'),
    ca_file: fileSchema
      .optional()
      .describe("Certificate authorities for the signer's certificate, instead of the public ones"),
  }),
  ['token_file', 'token_credential', 'optional'],
  ['client_key_file', 'client_key_credential', 'optional'],
).check((context) => {
  const entry = context.value
  const refuse = (field: string, message: string) =>
    context.issues.push({ code: 'custom', message, input: entry, path: [field] })
  const hasKey = entry.client_key_file !== undefined || entry.client_key_credential !== undefined
  if (entry.client_cert_file !== undefined && !hasKey) {
    refuse('client_cert_file', 'needs client_key_file or client_key_credential')
  }
  if (entry.client_cert_file === undefined && hasKey) {
    const field = entry.client_key_file === undefined ? 'client_key_credential' : 'client_key_file'
    refuse(field, 'needs client_cert_file')
  }
  if (entry.remote_signer.startsWith('https:')) return
  const unused = TLS_FIELDS.find((field) => entry[field] !== undefined)
  if (unused !== undefined) refuse(unused, 'requires an https URL')
})

export type KeystoreEntry = z.output<typeof keystoreSignerSchema>
export type RemoteSignerEntry = z.output<typeof remoteSignerSchema>
export type SignerEntry = KeystoreEntry | RemoteSignerEntry

/**
 * The two schemas behind each schema that `createSignerSchema` returns, and the field that determines which one
 * applies.
 */
export const SIGNER_KINDS = new Map<z.core.$ZodType, { field: string; having: z.ZodType; without: z.ZodType }>()

/**
 * Returns the schema of a signer that can be of two kinds. The kind depends on whether the entry has `field`, so that
 * errors refer to the intended kind.
 */
export function createSignerSchema<With extends z.ZodType, Without extends z.ZodType>(
  field: string,
  having: With,
  without: Without,
) {
  const schema = z.unknown().transform((entry, context): z.output<With> | z.output<Without> => {
    const isHaving = typeof entry === 'object' && entry !== null && field in entry
    const result = (isHaving ? having : without).safeParse(entry, { error: problemMessage, reportInput: true })
    if (result.success) return result.data
    for (const issue of result.error.issues) context.issues.push(issue as z.core.$ZodRawIssue)
    return z.NEVER
  })
  SIGNER_KINDS.set(schema, { field, having, without })
  return schema
}

/** An operator: a signer in another process if the entry has `remote_signer`, otherwise a keystore. */
export const signerSchema = createSignerSchema('remote_signer', remoteSignerSchema, keystoreSignerSchema)

/** Returns the name that lists show for a signer: its keystore file, or its address and the host that signs. */
export const signerName = (entry: SignerEntry): string =>
  'keystore' in entry ? entry.keystore : `${entry.address} at ${new URL(entry.remote_signer).host}`
