import * as z from 'zod'
import { apiAddressProblem, isOnLoopback, parseUrl } from '../../core/parse-url.ts'
import { credentialName, fileOrCredential } from './secret-schema.ts'

const MAX_ORIGINS = 20

/** An http or https base URL without user, query or fragment; normalized without a trailing slash. */
export const address = z
  .string()
  .check((context) => {
    const problem = apiAddressProblem(context.value)
    if (problem !== null) context.issues.push({ code: 'custom', message: problem, input: context.value })
  })
  .transform((text) => text.replace(/\/+$/, ''))

/** The place that this one replaces: all of its content was copied here. `s3://art/one` means `s3://art/one/`. */
const replaced = z
  .string()
  .min(1)
  .transform((text) => (text.startsWith('s3://') && !text.endsWith('/') ? `${text}/` : text))

const files = z.strictObject({ kind: z.literal('files') })

const s3 = z
  .strictObject({
    kind: z.literal('s3'),
    bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, {
      error: 'must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens',
    }),
    /** Prefix of the keys. */
    prefix: z
      .string()
      .max(512, { error: 'must have at most 512 characters' })
      .regex(/^(?!\/)(?!.*\/\/)(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^\p{Cc}]*$/u, { error: 'must be a valid key prefix' })
      .transform((text) => (text === '' || text.endsWith('/') ? text : `${text}/`))
      .default(''),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, { error: 'must be a region, such as eu-central-1' })
      .default('us-east-1'),
    /** For other services than AWS. */
    endpoint: address.optional(),
    /** Puts the bucket in the path, not in the host; the default with an endpoint. */
    path_style: z.boolean({ error: 'must be true or false' }).optional(),
    /** A file in the format of ~/.aws/credentials; without it, AWS_* variables and that file are used. */
    credentials_file: z.string().min(1).optional(),
    credentials_credential: credentialName.optional(),
    profile: z.string().min(1).default('default'),
    replaces: replaced.optional(),
  })
  .check(fileOrCredential('credentials_file', 'credentials_credential', { needed: false }))

const ipfs = z
  .strictObject({
    kind: z.literal('ipfs'),
    /** The RPC API of a Kubo node. */
    api: address.default('http://127.0.0.1:5001'),
    /** The value of the Authorization header, or only a token. */
    auth_file: z.string().min(1).optional(),
    auth_credential: credentialName.optional(),
    replaces: replaced.optional(),
  })
  .check(fileOrCredential('auth_file', 'auth_credential', { needed: false }))

/** Where files are stored. */
export const storage = z.discriminatedUnion('kind', [files, s3, ipfs], { error: 'must be files, s3 or ipfs' })

/** A service that keeps content on the IPFS network, with the IPFS Pinning Service API. */
export const pinning = z
  .strictObject({
    endpoint: address,
    token_file: z.string().min(1).optional(),
    token_credential: credentialName.optional(),
    /** Multiaddresses from which the service fetches content; with an IPFS node, its own are sent by default. */
    origins: z
      .array(z.string().regex(/^\/\S+$/, { error: 'must be a multiaddress' }))
      .max(MAX_ORIGINS)
      .default([]),
  })
  .check(fileOrCredential('token_file', 'token_credential', { needed: true }))
  .check((context) => {
    const { endpoint } = context.value
    const url = parseUrl(endpoint)
    if (url?.protocol === 'http:' && !isOnLoopback(url)) {
      const message = 'must be https, because the token would be sent unencrypted'
      context.issues.push({ code: 'custom', message, input: endpoint, path: ['endpoint'] })
    }
  })

export type StorageEntry = z.output<typeof storage>
export type S3Entry = z.output<typeof s3>
export type IpfsEntry = z.output<typeof ipfs>
export type PinningEntry = z.output<typeof pinning>
