import { PERMISSIONS, type Permission } from '../../../api/permissions.ts'
import { makeShortTextSchema } from '../../../api/text.ts'
import { validate } from '../../../api/validate.ts'
import { API_VERSIONS, type ApiVersion } from '../../../api/versions.ts'
import { flagError } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import { insertBackendFlags } from '../../connect/insert-backend-flags.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags, oneOf, someOf } from '../../flags/common.ts'
import { email } from '../../flags/email.ts'
import { safe } from '../../io/io.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'
import { formatLocalTime } from '../../text/local-time.ts'
import { KEY_VIEW, keyRecord } from './key-view.ts'

export interface CreateFlags extends OutputFlags, DataDirFlags {
  name?: string
  email?: string
  permission?: (Permission | 'all')[][]
  expires?: string
  apiVersion?: ApiVersion
}

/** The only view that includes the key itself. */
const CREATED_VIEW: View = { ...KEY_VIEW, fields: [...KEY_VIEW.fields, 'api_key'] }

export function command(deps: Deps, run = create): GdnCommand {
  return new GdnCommand({
    about: `The command prints the key only once and does not store it, so save the key. The key belongs to the account of the e-mail address, and gives access only to the collections and NFTs of that account. Permissions are ${PERMISSIONS.join(', ')}, and all. You can run this command while the backend is running.`,
    examples: [
      [
        'Create a key for a shop that mints NFTs',
        'gdn key create --name shop --email shop@example.com \\\n  --permission nft:create,nft:read',
      ],
      [
        'Create a key that expires in a month',
        'gdn key create --name test --email me@example.com --permission all \\\n  --expires 30d',
      ],
      [
        'Save the key in a secret store',
        'gdn key create --name shop --email shop@example.com \\',
        '  --permission nft:create | pass insert -e gdn/shop',
      ],
    ],
  })
    .valueFlag('--name <name>', 'Name of the key', { required: true })
    .valueFlag('--email <address>', 'E-mail address of the account; gdn creates the account if it does not exist', {
      parse: email,
      required: true,
    })
    .valueFlag('--permission <a,b>', 'Permissions of the key; repeatable', {
      parse: parsePermissions,
      repeatable: true,
      required: true,
    })
    .valueFlag('--expires <when>', 'Expiry: 30d, 12h, or the last day in UTC, such as 2027-01-31 (never)')
    .valueFlag('--api-version <version>', "API version of the key (the backend's)", oneOf(API_VERSIONS))
    .with(addDataDirFlag, addOutputFlags)
    .action(async (flags: CreateFlags) => await run(deps, flags))
}

/** Parses a list such as `nft:create,nft:read`, or `all`. */
const parsePermissions = someOf([...PERMISSIONS, 'all'])

/** Checks the flag values before the database is opened. */
function readFlags(flags: CreateFlags, now: number) {
  const { name, email, permission, expires, apiVersion = null } = flags
  if (name === undefined)
    throw requiredFlagError('--name', 'Add --name with the purpose of the key, such as --name shop.')
  if (email === undefined)
    throw requiredFlagError(
      '--email',
      "Add --email with the account's e-mail address, such as --email shop@example.com.",
    )
  if (permission === undefined) {
    throw requiredFlagError(
      '--permission',
      `Add --permission nft:read, or --permission all. Permissions are ${PERMISSIONS.join(', ')}.`,
    )
  }
  const checked = validate(makeShortTextSchema(100), name)
  if (!checked.ok) throw flagError('--name', checked.issues[0]?.message ?? 'is not valid')
  const expiresAt = expires === undefined ? null : parseExpiry(expires, '--expires', now)
  return {
    name,
    email,
    permissions: permission.flat().flatMap((word) => (word === 'all' ? PERMISSIONS : [word])),
    expiresAt,
    apiVersion,
    now,
  }
}

/** Formats a time for a note on stderr. */
const formatTime = ({ stderrTty }: Deps['io'], ms: number): string =>
  stderrTty ? formatLocalTime(ms, 'minute') : `${new Date(ms).toISOString().slice(0, 16)}Z`

export async function create(deps: Deps, flags: CreateFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, CREATED_VIEW, { shownOnce: 'api_key' })
  const request = readFlags(flags, deps.now())
  const { createApiKey } = await import('../../../server/services/api-keys.ts')
  const { key, record } = await withBackendDatabase(deps, flags, (store) => createApiKey(store, request))
  if (isOutputRequested(flags)) await output.one({ ...keyRecord(record), api_key: key.disclose() })
  else await io.data(`${key.disclose()}\n`)
  const version = record.apiVersion === null ? '' : `, API ${record.apiVersion}`
  const until = record.expiresAt === null ? '' : `, until ${formatTime(io, record.expiresAt)}`
  io.note(
    `This is the key ${safe(record.name)} of ${safe(record.email ?? '')}: ${record.permissions.join(', ')}${version}${until}.`,
  )
  io.note(
    insertBackendFlags(`The key is not shown again. To revoke the key, run \`gdn key revoke ${record.id}\`.`, flags),
  )
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: DAY_MS }

/**
 * Returns the time when a key expires, in milliseconds since the epoch. Accepts a duration from now (`30d`, `12h` or
 * `90m`), a date such as `2027-01-31` (the end of that day in UTC), or a time such as `2027-01-31T12:00:00Z`.
 */
export function parseExpiry(raw: string, flag: string, now: number): number {
  const at = parseDuration(raw, now) ?? parseDate(raw)
  if (at === null) {
    throw flagError(flag, `must be a time such as 30d, 12h or 2027-01-31, not ${quoted(raw)}`)
  }
  if (at <= now) throw flagError(flag, `${raw} is in the past`)
  return at
}

function parseDuration(raw: string, now: number): number | null {
  const match = /^([1-9][0-9]{0,5})([mhd])$/.exec(raw)
  const unit = UNIT_MS[match?.[2] ?? '']
  return match === null || unit === undefined ? null : now + Number(match[1]) * unit
}

function parseDate(raw: string): number | null {
  const match = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2})?Z)?$/.exec(raw)
  if (match === null) return null
  const [, day = '', time] = match
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // For February 30, JavaScript returns either an invalid date or a day in March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return null
  if (time === undefined) return midnight + DAY_MS
  const at = Date.parse(raw)
  return Number.isNaN(at) ? null : at
}
