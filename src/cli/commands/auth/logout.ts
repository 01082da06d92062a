import { forgetApiKey, listSavedOrigins } from '../../../config/saved-keys.ts'
import { parseServerOrigin } from '../../../config/server.ts'
import { GdnCommand, noServerNamedError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { isSet, safe } from '../../io/io.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'

export interface LogoutFlags extends OutputFlags, ServerFlags {
  all?: boolean
}

const VIEW: View = { fields: ['server', 'kept_in'], columns: ['server', 'kept_in'], id: 'server' }

export function command(deps: Deps, run = logout): GdnCommand {
  return new GdnCommand({
    about: 'The command does not revoke the key. If others may have the key, revoke it on the server that issued it.',
    examples: [
      ['Log out of your default server', 'gdn auth logout'],
      ['Log out of another server', 'gdn auth logout --base-url https://api.example.com'],
      ['Log out of all servers', 'gdn auth logout --all'],
    ],
  })
    .switchFlag('--all', 'Delete every saved key')
    .with(addServerFlags, addOutputFlags)
    .action(async (flags: LogoutFlags) => await run(deps, flags))
}

export async function logout(deps: Deps, flags: LogoutFlags): Promise<void> {
  const { io, env, openKeyring } = deps
  const output = createOutput(io, flags, VIEW)
  const origins = flags.all
    ? (await listSavedOrigins(env)).map(({ origin }) => origin)
    : [await resolveOrigin(deps, flags)]
  const deleted: { server: string; kept_in: string }[] = []
  for (const origin of origins) {
    const keptIn = await forgetApiKey(env, origin, openKeyring)
    if (keptIn === null) io.note(`There is no saved key for ${safe(origin)}.`)
    else {
      deleted.push({ server: origin, kept_in: keptIn })
      io.note(`Deleted the key for ${safe(origin)} from ${keptIn === 'file' ? 'the file' : 'the system keyring'}.`)
    }
  }
  if (flags.all && origins.length === 0) io.note('No key is saved.')
  if (isSet(env.GDN_API_KEY)) io.warn('GDN_API_KEY is set, and gdn uses it until you unset it.')
  if (isOutputRequested(flags)) await output.many(deleted)
}

async function resolveOrigin(deps: Deps, flags: LogoutFlags): Promise<string> {
  const { baseUrl } = await deps.settings(flags)
  if (baseUrl !== null) return parseServerOrigin(baseUrl.value)
  throw noServerNamedError(
    '--base-url',
    'Add --base-url <url>, or --all. Run `gdn auth status` to list the saved keys.',
  )
}
