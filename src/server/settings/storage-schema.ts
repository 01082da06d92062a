import * as z from 'zod'
import { apiAddressProblem, isOnLoopback, parseUrl, trimSlashes, WEB_URL_PATTERN } from '../../core/parse-url.ts'
import { credentialSchema, refuseProblems, withSecrets } from './secret-schema.ts'

const MAX_ORIGINS = 20

/** An http or https base URL without user, query or fragment. A trailing slash is removed. */
export const httpBaseUrlSchema = z
  .string()
  .check(refuseProblems(apiAddressProblem))
  .meta({ pattern: WEB_URL_PATTERN })
  .transform(trimSlashes)

const replacedStorageSchema = z
  .string()
  .min(1)
  .transform((text) => (text.startsWith('s3://') && !text.endsWith('/') ? `${text}/` : text))
  .describe('Former storage, whose entire content was copied here')

const filesStorageSchema = z.strictObject({ kind: z.literal('files').describe('Files in the data directory') })

const s3StorageSchema = withSecrets(
  z.strictObject({
    kind: z.literal('s3').describe('A bucket of S3 or of an S3-compatible service'),
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, {
        error: 'must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens',
      })
      .describe('Name of the bucket'),
    prefix: z
      .string()
      .max(512, { error: 'must have at most 512 characters' })
      .regex(/^(?!\/)(?!.*\/\/)(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^\p{Cc}]*$/u, { error: 'must be a valid key prefix' })
      .transform((text) => (text === '' || text.endsWith('/') ? text : `${text}/`))
      .default('')
      .describe('Prefix of the keys'),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, { error: 'must be a region, such as eu-central-1' })
      .default('us-east-1')
      .describe('Region of the bucket'),
    endpoint: httpBaseUrlSchema.optional().describe('URL of an S3 service other than AWS'),
    path_style: z
      .boolean({ error: 'must be true or false' })
      .optional()
      .describe('Whether URLs contain the bucket in the path instead of the host. Default: true if endpoint is set'),
    credentials_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File in the format of ~/.aws/credentials. By default, AWS_* variables and ~/.aws/credentials are used',
      ),
    credentials_credential: credentialSchema('the content of a credentials file'),
    profile: z.string().min(1).default('default').describe('Profile in the credentials file'),
    replaces: replacedStorageSchema.optional(),
  }),
  ['credentials_file', 'credentials_credential', 'optional'],
)

const ipfsStorageSchema = withSecrets(
  z.strictObject({
    kind: z.literal('ipfs').describe('An IPFS node'),
    api: httpBaseUrlSchema.default('http://127.0.0.1:5001').describe('URL of the RPC API of a Kubo node'),
    auth_file: z
      .string()
      .min(1)
      .optional()
      .describe('File with the value of the Authorization header, or only a token'),
    auth_credential: credentialSchema('the value of the Authorization header, or only a token'),
    replaces: replacedStorageSchema.optional(),
  }),
  ['auth_file', 'auth_credential', 'optional'],
)

/** The place where files are stored. */
export const storageSchema = z.discriminatedUnion('kind', [filesStorageSchema, s3StorageSchema, ipfsStorageSchema], {
  error: 'must be files, s3 or ipfs',
})

/** A service that keeps content available on the IPFS network. It implements the IPFS Pinning Service API. */
export const pinningSchema = withSecrets(
  z.strictObject({
    endpoint: httpBaseUrlSchema.describe('URL of the service'),
    token_file: z.string().min(1).optional().describe('File with the access token'),
    token_credential: credentialSchema('the access token'),
    origins: z
      .array(z.string().regex(/^\/\S+$/, { error: 'must be a multiaddress' }))
      .max(MAX_ORIGINS)
      .default([])
      .describe(
        'Multiaddresses from which the service fetches content. Default: the addresses of the IPFS node, if the storage is one',
      ),
  }),
  ['token_file', 'token_credential', 'required'],
).check((context) => {
  const { endpoint } = context.value
  const url = parseUrl(endpoint)
  if (url?.protocol === 'http:' && !isOnLoopback(url)) {
    const message = 'must be https, because http would send the token unencrypted'
    context.issues.push({ code: 'custom', message, input: endpoint, path: ['endpoint'] })
  }
})

export type StorageEntry = z.output<typeof storageSchema>
export type S3Entry = z.output<typeof s3StorageSchema>
export type PinningEntry = z.output<typeof pinningSchema>
