import { parseBaseUrl } from '../../../client/base-url.ts'
import type { KeyStorage } from '../../../config/saved-keys.ts'
import type { Server } from '../../../config/server.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Secret } from '../../../core/secret.ts'
import { OPENSEA_URL } from '../../../marketplace/opensea.ts'
import { GdnCommand } from '../../command.ts'
import { verifyKey } from '../../connect/check-key.ts'
import { readApiKey } from '../../connect/read-key.ts'
import { describeKeyPlace, maskedKey, saveKey } from '../../connect/save-key.ts'
import type { Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addServerFlags,
  notEmpty,
  type OutputFlags,
  oneOf,
  type ServerFlags,
} from '../../flags/common.ts'
import { isSet, safe } from '../../io/io.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'
import { serverForKey } from './server-for-key.ts'

export interface LoginFlags extends OutputFlags, ServerFlags {
  keyFile?: string
  store?: KeyStorage
  /** Whether to check the key. `--no-check` sets this to false. */
  check?: boolean
}

const VIEW: View = {
  fields: ['server', 'kept_in', 'key', 'works'],
  columns: ['server', 'kept_in', 'key', 'works'],
  id: 'server',
}

export function command(deps: Deps, run = login): GdnCommand {
  return new GdnCommand({
    about:
      'gdn prompts for the key, or reads it from a file or a pipe, never from the command line. gdn checks the key with a request that changes nothing, then saves the key in the system keyring. Without a keyring, it saves the key in a file that only you can read. gdn sends the key only to the server for which you saved it.',
    examples: [
      ['Enter the key in a terminal', 'gdn auth login --base-url https://api.example.com'],
      ['Read the key from a password store', 'pass gdn | gdn auth login --base-url https://api.example.com'],
      ['Save the key in a file, even if there is a keyring', 'gdn auth login --store file'],
    ],
  })
    .valueFlag('--key-file <file>', 'File with the key, or - for standard input', notEmpty)
    .valueFlag(
      '--store <keyring|file>',
      'Where to store the key (the keyring, if available)',
      oneOf(['keyring', 'file']),
    )
    .switchFlag('--no-check', 'Save the key without checking it')
    .with(addServerFlags, addOutputFlags)
    .action(async (flags: LoginFlags) => await run(deps, flags))
}

export async function login(deps: Deps, flags: LoginFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const settings = await deps.settings(flags)
  const server = await serverForKey(deps, settings)
  parseBaseUrl(server.baseUrl, { hasKey: true, allowHttp: false })
  const key = await readApiKey(io, flags.keyFile, `API key for ${server.origin}`)
  if (flags.check !== false) await checkKey(deps, flags, server, key)
  const keptIn = await saveKey(deps, server.origin, key, flags.store)
  if (isOutputRequested(flags)) {
    const record = { server: server.origin, kept_in: keptIn, key: maskedKey(key), works: flags.check !== false || null }
    await output.one(record)
  }
  const checked = flags.check === false ? 'The key was not checked.' : 'The key works.'
  io.note(`${checked} It is saved in ${safe(describeKeyPlace(deps, keptIn))}.`)
  io.note(`gdn sends the key only to ${server.origin}.`)
  if (isSet(deps.env.GDN_API_KEY)) io.warn('GDN_API_KEY is set and overrides the saved key until you unset it.')
  if (server.origin === OPENSEA_URL) io.note('To refresh metadata on OpenSea: gdn nft refresh')
  else if (server.source !== 'profile')
    io.note(`To make this server your default: gdn config set base_url ${server.baseUrl}`)
}

/** Checks a key before it is saved. A rejected key isn't saved. */
async function checkKey(deps: Deps, flags: LoginFlags, server: Server, key: Secret): Promise<void> {
  const settings = await deps.settings(flags)
  const progress = await deps.io.progress(`Checking the key at ${server.origin}`)
  try {
    const { client } = await deps.connect({ ...settings, apiKey: async () => key })
    await verifyKey(client, deps.signals.signal)
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    const refused = error.code === 'unauthorized' || error.code === 'forbidden'
    throw error.with({
      message: `the key was not saved: ${error.message}`,
      hint: refused
        ? 'Copy the whole key again, and check that it belongs to this server.'
        : 'Run the same command with --no-check to save the key without checking it.',
    })
  } finally {
    progress.stop()
  }
}
