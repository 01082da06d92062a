import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'
import { formatTextAsLocalTime } from '../../text/local-time.ts'
import { type AccountFlags, addAccountFlags, signedUrlRequest } from './account.ts'
import { requestSignedUrl } from './wallet-source.ts'

export interface UrlFlags extends OutputFlags, ServerFlags, AccountFlags {}

const VIEW: View = {
  fields: ['url', 'expires_at'],
  columns: ['url', 'expires_at'],
  id: 'url',
}

export function command(deps: Deps, run = url): GdnCommand {
  return new GdnCommand({
    about:
      'A POST to the URL, without a body or an API key, returns a new wallet with its private key. Anyone with the URL can generate a wallet until the URL expires, so share the URL with one person only. gdn wallet generate requests such a URL, generates a wallet with it, and saves the key in an encrypted file.',
    examples: [
      ['Print a URL that is valid for a day', 'gdn wallet url --email me@example.com --valid-for 24h'],
      ['Generate a wallet with the URL', 'curl -X POST "$URL"'],
    ],
  })
    .with(addAccountFlags, addServerFlags, addOutputFlags)
    .action(async (flags: UrlFlags) => await run(deps, flags))
}

export async function url(deps: Deps, flags: UrlFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const settings = await deps.settings(flags)
  const request = await signedUrlRequest(io, flags, settings)
  const signed = await requestSignedUrl(deps, await deps.connect(settings), request)
  const expires_at = parseExpiry(signed)
  // Print the URL on a separate line, so that the user can copy it.
  if (isOutputRequested(flags)) await output.one({ url: signed.href, expires_at })
  else await io.data(`${signed.href}\n`)
  if (expires_at !== null)
    io.note(`Anyone with the URL can use it until ${io.stderrTty ? formatTextAsLocalTime(expires_at) : expires_at}.`)
}

/** Returns the expiry time in the URL; null if the URL has none. */
function parseExpiry({ searchParams }: URL): string | null {
  const seconds = searchParams.get('expiry') ?? ''
  const at = new Date(/^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : Number.NaN)
  return Number.isNaN(at.getTime()) ? null : at.toISOString().replace('.000Z', 'Z')
}
