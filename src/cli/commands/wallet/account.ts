import type * as z from 'zod'
import { getpresignedurl } from '../../../api/endpoints/getpresignedurl.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import { notEmpty } from '../../flags/parse.ts'
import type { Io } from '../../io/io.ts'
import { askLine, orAsk } from '../../prompt/ask-missing.ts'
import { checkRequest } from '../../request/check-request.ts'
import { validFor } from './valid-for.ts'

/** The local backend takes any: there is one account. */
const LOCAL_EMAIL = 'local@example.com'

export interface AccountFlags {
  email?: string
  /** Minutes. */
  validFor?: number
}

export function addAccountFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--email <address>', "E-mail address of the account (your profile's email)", { parse: notEmpty })
  return valueFlag(command, '--valid-for <time>', 'How long the signed URL can be used: 15m, 24h, at most 7d', {
    parse: validFor,
  })
}

/** The request for a signed URL, checked by the contract. */
export async function signedUrlRequest(
  io: Io,
  flags: AccountFlags,
  settings: Settings,
): Promise<z.output<typeof getpresignedurl.request>> {
  const server = await settings.server()
  const known = flags.email ?? settings.email?.value ?? (server.source === 'local' ? LOCAL_EMAIL : undefined)
  const email = await orAsk(io, known, () =>
    askLine(io, { message: 'E-mail address of your account', flag: '--email' }),
  )
  if (email === undefined) {
    throw new GdnError('usage', 'is needed: signed URLs are issued to an account', {
      place: { flag: '--email' },
      hint: 'give it, or keep it: gdn config set email <address>',
    })
  }
  const timeout = flags.validFor === undefined ? {} : { timeout: flags.validFor }
  return checkRequest(getpresignedurl.request, { email, ...timeout }, null)
}
