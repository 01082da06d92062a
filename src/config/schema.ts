import * as z from 'zod'
import { blockchainHint } from '../api/blockchain-hint.ts'
import { apiVersion, blockchain } from '../api/fields.ts'
import { validate } from '../api/validate.ts'
import { GdnError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { hasUserInfo, parseUrl } from '../core/parse-url.ts'
import { storageProblem, storageUrlProblem } from './storage.ts'

const line = z.string().regex(/^[^\p{Cc}]+$/u, { error: 'must be one line of text' })

const baseUrl = line.check((context) => {
  const { value } = context
  const url = parseUrl(value)
  if (!/^https?:\/\//.test(value) || url === null) {
    context.issues.push({ code: 'custom', message: 'must be an http(s) URL', input: value })
  } else if (hasUserInfo(url)) {
    context.issues.push({ code: 'custom', message: 'must not have a user name or password', input: '' })
  }
})

const rate = z
  .number({ error: 'must be a positive number' })
  .positive({ error: 'must be a positive number' })
  .max(1_000_000)

const settings = {
  base_url: baseUrl.optional(),
  blockchain: blockchain.optional(),
  contract: line.optional(),
  wallet: line.optional(),
  /** Requests per second. */
  rate: rate.optional(),
  /** The version of the API that requests follow. */
  api_version: apiVersion.optional(),
}

const checked = (problemOf: (value: string) => string | null) =>
  line.check((context) => {
    const message = problemOf(context.value)
    if (message !== null) context.issues.push({ code: 'custom', message, input: context.value })
  })

/** In the user's own profiles only: a project's file must not direct where the user's credentials are used. */
const storageSettings = {
  /** Where local files are uploaded if the server accepts none: `s3://bucket/prefix` or `ipfs`. */
  storage: checked(storageProblem).optional(),
  storage_endpoint: checked(storageUrlProblem).optional(),
  storage_region: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, { error: 'must be the name of a region' })
    .optional(),
  storage_public_url: checked(storageUrlProblem).optional(),
  ipfs_api: checked(storageUrlProblem).optional(),
}

/** In the user's own profiles only: the wallet host knows the keys of the wallets. */
const walletSettings = {
  /** Of the account, for wallets. */
  email: z.email({ error: 'must be an e-mail address' }).max(254).optional(),
  /** Another allowed origin of signed URLs than the server's. */
  wallet_url: checked(storageUrlProblem).optional(),
}

/** In the user's own profiles only: a project's file must not direct which URLs are requested. */
const priceSettings = {
  /** Where the price of a coin is read from. `{coin}` is the symbol of the network's coin. */
  price_url: baseUrl.optional(),
  /** The path of the price in the JSON response: `data.amount`. */
  price_path: z
    .string()
    .regex(/^[^\s.]+(\.[^\s.]+){0,19}$/, { error: 'must be a path such as data.amount' })
    .optional(),
  price_currency: z
    .string()
    .regex(/^[A-Z]{3,5}$/, { error: 'must be a currency such as USD' })
    .optional(),
}

const profileSettings = z.strictObject({ ...settings, ...storageSettings, ...walletSettings, ...priceSettings })

const userConfig = z.strictObject({
  /** The profile that is used if none is named. */
  profile: line.optional(),
  profiles: z.record(z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/), profileSettings).optional(),
})

/** A project's file may name a profile of the user and settings, but never a key. */
const projectConfig = z.strictObject({ ...settings, profile: line.optional() })

/** A key, or the note that it is stored in the system keyring. */
const credential = z.union([
  z.string().regex(/^[\x21-\x7e]{1,4096}$/),
  z.strictObject({ kept_in: z.literal('keyring') }),
])

const credentials = z.record(z.url(), credential)

export type ProfileSettings = z.output<typeof profileSettings>
export type UserConfig = z.output<typeof userConfig>
export type ProjectConfig = z.output<typeof projectConfig>
/** By the origin that each was saved for. */
export type Credentials = z.output<typeof credentials>

/** A project's configuration and its path. */
export interface ProjectFile {
  path: string
  config: ProjectConfig
}

/** The names of all profile settings. */
export const SETTING_NAMES = Object.keys({
  ...settings,
  ...storageSettings,
  ...walletSettings,
  ...priceSettings,
}) as (keyof ProfileSettings)[]

const SECRET_NAMES = new Set(['api_key', 'apikey', 'key', 'x-api-key', 'token', 'secret', 'api-key'])

function parseWith<Schema extends z.ZodType>(schema: Schema, known: readonly string[], value: unknown, file: string) {
  const result = validate(schema, value)
  if (result.ok) return result.value
  const issues = result.issues.map((issue) => {
    const name = String(issue.path.at(-1) ?? '')
    const unknown = issue.code === 'unrecognized_keys'
    return {
      place: { file, field: issue.field },
      message: unknown ? unknownSetting(name) : issue.message,
      ...(unknown && !SECRET_NAMES.has(name.toLowerCase()) ? { hint: knownHint(name, known) } : {}),
    }
  })
  const [first] = issues
  throw new GdnError('invalid_config', first?.message ?? 'is not a configuration of gdn', {
    place: first?.place ?? { file },
    ...(first?.hint === undefined ? {} : { hint: first.hint }),
    details: { issues },
  })
}

function unknownSetting(name: string): string {
  return SECRET_NAMES.has(name.toLowerCase())
    ? 'an API key is not allowed here: set GDN_API_KEY, or save the key with gdn auth login'
    : 'is not a known setting'
}

function knownHint(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near === undefined ? `Use one of ${known.join(', ')}.` : `Did you mean ${near}?`
}

export function parseUserConfig(value: unknown, file: string): UserConfig {
  return parseWith(userConfig, ['profile', 'profiles', ...SETTING_NAMES], value, file)
}

export function parseProjectConfig(value: unknown, file: string): ProjectConfig {
  return parseWith(projectConfig, ['profile', ...Object.keys(settings)], value, file)
}

export function parseCredentials(value: unknown, file: string): Credentials {
  return parseWith(credentials, [], value, file)
}

/** Parses a value of `config set` by the same schema. */
export function parseSetting(name: keyof ProfileSettings, raw: string): ProfileSettings {
  const value = name === 'rate' && /^[0-9.]+$/.test(raw) ? Number(raw) : raw
  const result = validate(profileSettings, { [name]: value })
  if (result.ok) return result.value
  throw new GdnError('usage', result.issues[0]?.message ?? 'is not a value', {
    place: { field: name },
    ...(name === 'blockchain' ? { hint: blockchainHint(raw) } : {}),
  })
}
