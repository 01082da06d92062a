import * as z from 'zod'
import { anyAddressProblem } from '../api/address.ts'
import { blockchainHint } from '../api/blockchain-hint.ts'
import { ENS_FORM, isEnsName } from '../api/ens-name.ts'
import { apiVersionSchema, blockchainSchema } from '../api/fields.ts'
import { validate } from '../api/validate.ts'
import { GdnError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { hasUserInfo, parseUrl, WEB_URL_PATTERN } from '../core/parse-url.ts'
import { quoted } from '../core/quoted.ts'
import { S3_URL_PATTERN, storageProblem, storageUrlProblem } from './storage.ts'

const lineSchema = z.string().regex(/^[^\p{Cc}]+$/u, { error: 'must be one line of text' })

const baseUrlSchema = lineSchema
  .check((context) => {
    const { value } = context
    const url = parseUrl(value)
    if (!/^https?:\/\//.test(value) || url === null) {
      context.issues.push({ code: 'custom', message: 'must be an http(s) URL', input: value })
    } else if (hasUserInfo(url)) {
      context.issues.push({ code: 'custom', message: 'must not have a user name or password', input: '' })
    }
  })
  .meta({ pattern: '^https?://' })

const rateSchema = z
  .number({ error: 'must be a positive number' })
  .positive({ error: 'must be a positive number' })
  .max(1_000_000)

/** @param pattern the part of the check that JSON Schema can express */
const makeLineSchema = (problemOf: (value: string) => string | null, pattern: string) =>
  lineSchema
    .check((context) => {
      const message = problemOf(context.value)
      if (message !== null) context.issues.push({ code: 'custom', message, input: context.value })
    })
    .meta({ pattern })

/** The form of an address on any blockchain, for JSON Schema. `anyAddressProblem` is stricter. */
const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$|^[1-9A-HJ-NP-Za-km-z]{32,44}$'

/** Returns why a text isn't an address on any blockchain, with the text; null if it is one. */
function quotedAddressProblem(text: string): string | null {
  const problem = anyAddressProblem(text)
  return problem === null ? null : `${quoted(text)} ${problem}`
}

/** Like `quotedAddressProblem`, but also accepts the name of a wallet and an ENS name, which are resolved on use. */
const walletProblem = (text: string): string | null =>
  text.startsWith('@') || isEnsName(text) ? null : quotedAddressProblem(text)

const settingFields = {
  base_url: baseUrlSchema.optional(),
  blockchain: blockchainSchema.optional(),
  contract: makeLineSchema(quotedAddressProblem, ADDRESS_PATTERN).optional(),
  wallet: makeLineSchema(walletProblem, `^@|${ADDRESS_PATTERN}|^${ENS_FORM}$`).optional(),
  rate: rateSchema.optional(),
  api_version: apiVersionSchema.optional(),
}

const webUrlSchema = makeLineSchema(storageUrlProblem, WEB_URL_PATTERN)

/**
 * Allowed only in the user's own profiles, because a project file must not decide where the user's credentials are
 * used.
 */
const storageFields = {
  storage: makeLineSchema(storageProblem, `^ipfs$|${S3_URL_PATTERN.source}`).optional(),
  storage_endpoint: webUrlSchema.optional(),
  storage_region: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, { error: 'must be the name of a region' })
    .optional(),
  storage_public_url: webUrlSchema.optional(),
  ipfs_api: webUrlSchema.optional(),
}

/** Allowed only in the user's own profiles, because the wallet host has the private keys of the wallets. */
const walletFields = {
  email: z.email({ error: 'must be an e-mail address' }).max(254).optional(),
  wallet_url: webUrlSchema.optional(),
}

/** Allowed only in the user's own profiles, because a project file must not decide which URLs are requested. */
const priceFields = {
  price_url: baseUrlSchema.optional(),
  price_path: z
    .string()
    .regex(/^[^\s.]+(\.[^\s.]+){0,19}$/, { error: 'must be a path such as data.amount' })
    .optional(),
  price_currency: z
    .string()
    .regex(/^[A-Z]{3,5}$/, { error: 'must be a currency such as USD' })
    .optional(),
}

/**
 * Allowed only in the user's own profiles, because a project file must not decide which node is trusted to resolve
 * names.
 */
const nameFields = { ens_rpc_url: baseUrlSchema.optional() }

/** Matches the documented names of manifest columns, which `manifest/columns.ts` reads, and `ignore`. */
const COLUMN_MEANING_PATTERN =
  /^(?:title|description|receiver|sender|id|contract_address|blockchain|image|ignore|(?:file|attr(?:\([^)]*\))?|extra):.+)$/

/** Allowed only in the project file, because these settings apply to the project's manifests. */
const manifestFields = {
  map: z
    .record(
      z.string().min(1).max(1000),
      makeLineSchema(
        (meaning) =>
          COLUMN_MEANING_PATTERN.test(meaning)
            ? null
            : `"${meaning}" is not a manifest column: use a column such as image or attr:Mood`,
        COLUMN_MEANING_PATTERN.source,
      ),
    )
    .optional(),
  unknown_columns: z
    .enum(['error', 'attr', 'extra', 'ignore'], { error: 'must be attr, extra, ignore or error' })
    .optional(),
}

const profileSettingsSchema = z.strictObject({
  ...settingFields,
  ...storageFields,
  ...walletFields,
  ...priceFields,
  ...nameFields,
})

/** The JSON Schema of the file, for editors. gdn ignores this property. */
const $schema = z.string().optional()

export const userConfigSchema = z.strictObject({
  $schema,
  profile: lineSchema.optional(),
  profiles: z.record(z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/), profileSettingsSchema).optional(),
})

/** The project file may refer to one of the user's profiles and contain settings, but never a key. */
export const projectConfigSchema = z.strictObject({
  $schema,
  ...settingFields,
  ...manifestFields,
  profile: lineSchema.optional(),
})

/** A key, or a note that the key is in the system keyring. */
const credentialSchema = z.union([
  z.string().regex(/^[\x21-\x7e]{1,4096}$/),
  z.strictObject({ kept_in: z.literal('keyring') }),
])

const credentialsSchema = z.record(z.url(), credentialSchema)

export type ProfileSettings = z.output<typeof profileSettingsSchema>
export type UserConfig = z.output<typeof userConfigSchema>
export type ProjectConfig = z.output<typeof projectConfigSchema>
/** The saved keys, by server origin. */
export type Credentials = z.output<typeof credentialsSchema>

export interface ProjectFile {
  path: string
  config: ProjectConfig
}

export const SETTING_NAMES = Object.keys({
  ...settingFields,
  ...storageFields,
  ...walletFields,
  ...priceFields,
  ...nameFields,
}) as (keyof ProfileSettings)[]

const SECRET_NAMES = new Set(['api_key', 'apikey', 'key', 'x-api-key', 'token', 'secret', 'api-key'])

function parseWith<Schema extends z.ZodType>(
  schema: Schema,
  knownNames: readonly string[],
  value: unknown,
  file: string,
) {
  const result = validate(schema, value)
  if (result.ok) return result.value
  const issues = result.issues.map((issue) => {
    const name = String(issue.path.at(-1) ?? '')
    const unknown = issue.code === 'unrecognized_keys'
    return {
      place: { file, field: issue.field },
      message: unknown ? unknownSetting(name) : issue.message,
      ...(unknown && !SECRET_NAMES.has(name.toLowerCase()) ? { hint: knownHint(name, knownNames) } : {}),
    }
  })
  const [first] = issues
  throw new GdnError('invalid_config', first?.message ?? 'is not a gdn configuration', {
    place: first?.place ?? { file },
    hint: first?.hint,
    details: { issues },
  })
}

function unknownSetting(name: string): string {
  return SECRET_NAMES.has(name.toLowerCase())
    ? 'an API key is not allowed here: set GDN_API_KEY, or save the key with gdn auth login'
    : 'is not a known setting'
}

function knownHint(name: string, knownNames: readonly string[]): string {
  const near = nearest(name, knownNames)
  return near === undefined ? `Use one of ${knownNames.join(', ')}.` : `Did you mean ${near}?`
}

export function parseUserConfig(value: unknown, file: string): UserConfig {
  return parseWith(userConfigSchema, ['profile', 'profiles', ...SETTING_NAMES], value, file)
}

export function parseProjectConfig(value: unknown, file: string): ProjectConfig {
  return parseWith(
    projectConfigSchema,
    ['profile', ...Object.keys({ ...settingFields, ...manifestFields })],
    value,
    file,
  )
}

export function parseCredentials(value: unknown, file: string): Credentials {
  return parseWith(credentialsSchema, [], value, file)
}

/** Parses a value from `gdn config set` with the schema of configuration files. */
export function parseSetting(name: keyof ProfileSettings, raw: string): ProfileSettings {
  const value = name === 'rate' && /^[0-9.]+$/.test(raw) ? Number(raw) : raw
  const result = validate(profileSettingsSchema, { [name]: value })
  if (result.ok) return result.value
  const [message, hint] =
    name === 'blockchain'
      ? [`unknown blockchain ${quoted(raw)}`, blockchainHint(raw)]
      : [result.issues[0]?.message ?? 'is not a valid value']
  throw new GdnError('usage', message, { place: { field: name }, hint })
}
