import type * as z from 'zod'
import { getpresignedurl, MAX_SIGNED_URL_MINUTES } from '../../../api/endpoints/getpresignedurl.ts'
import type { Settings } from '../../../config/settings.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import type { GdnCommand, Parse } from '../../command.ts'
import { notEmpty } from '../../flags/common.ts'
import type { Io } from '../../io/io.ts'
import { askLine, promptIfMissing } from '../../prompt/ask-missing.ts'
import { checkRequest } from '../../request/check-request.ts'

/** The email address to use with the local backend, which has one account and accepts any address. */
const LOCAL_EMAIL = 'local@example.com'

export interface AccountFlags {
  email?: string
  /** Validity of the signed URL in minutes. */
  validFor?: number
}

export function addAccountFlags(command: GdnCommand): GdnCommand {
  command.valueFlag('--email <address>', "E-mail address of the account (your profile's email)", notEmpty)
  return command.valueFlag(
    '--valid-for <time>',
    'How long the signed URL is valid, such as 24h; at most 7d',
    parseValidity,
  )
}

/** Returns the request for a signed URL, validated against the API schema. */
export async function signedUrlRequest(
  io: Io,
  flags: AccountFlags,
  settings: Settings,
): Promise<z.output<typeof getpresignedurl.request>> {
  const server = await settings.server()
  const knownEmail = flags.email ?? settings.email?.value ?? (server.source === 'local' ? LOCAL_EMAIL : undefined)
  const email = await promptIfMissing(io, knownEmail, () =>
    askLine(io, { message: 'E-mail address of your account', flag: '--email' }),
  )
  if (email === undefined) {
    throw new GdnError('usage', 'is required: signed URLs are issued to an account', {
      place: { flag: '--email' },
      hint: 'Add --email <address>, or run `gdn config set email <address>` to save it.',
    })
  }
  return checkRequest(getpresignedurl.request, { email, timeout: flags.validFor }, null)
}

const MINUTES_PER_UNIT: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1440 }

/** Parses a duration such as `15m`, `24h` or `7d`. Returns minutes, as the API requires. */
const parseValidity: Parse<number> = Object.assign(
  (raw: string, flag: string) => {
    const [, count = '', unit = ''] = /^([1-9][0-9]{0,5})([mhd])$/.exec(raw) ?? []
    const minutes = Number(count) * (MINUTES_PER_UNIT[unit] ?? 0)
    if (minutes >= 1 && minutes <= MAX_SIGNED_URL_MINUTES) return minutes
    throw flagError(flag, `must be a time such as 15m, 24h or 7d, at most 7d, not ${quoted(raw)}`)
  },
  { takes: { type: 'duration' } as const },
)
