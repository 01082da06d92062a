import { parseBaseUrl } from '../../../client/base-url.ts'
import type { KeptIn } from '../../../config/saved-keys.ts'
import type { Server } from '../../../config/server.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Secret } from '../../../core/secret.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import { tryKey } from '../../connect/check-key.ts'
import { keepKey, maskedKey, placeOfKey } from '../../connect/keep-key.ts'
import { readKey } from '../../connect/read-key.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { notEmpty, oneOf } from '../../flags/parse.ts'
import { isSet, safe } from '../../io/io.ts'
import { createOutput, isAskedFor } from '../../render/output.ts'
import type { View } from '../../render/view.ts'
import { serverForKey } from './server-for-key.ts'

export interface LoginFlags extends OutputFlags, ServerFlags {
  keyFile?: string
  store?: KeptIn
  /** False with --no-check. */
  check?: boolean
}

const VIEW: View = {
  fields: ['server', 'kept_in', 'key', 'works'],
  columns: ['server', 'kept_in', 'key', 'works'],
  id: 'server',
}

export function command(deps: Deps, run = login): GdnCommand {
  const loginCommand = new GdnCommand({
    about:
      'The key is asked for, or read from a file or a pipe; never given on the command line. It is tried by a call without effect, then kept in the system keyring, or where there is none in a file that only you may read. It is sent to the server it was saved for, and to no other.',
    examples: [
      ['At a terminal', 'gdn auth login --base-url https://api.example.com'],
      ['From a password store', 'pass gdn | gdn auth login --base-url https://api.example.com'],
      ['In a file, even where there is a keyring', 'gdn auth login --store file'],
    ],
  })
  valueFlag(loginCommand, '--key-file <file>', 'File that holds the key; - is standard input', { parse: notEmpty })
  valueFlag(loginCommand, '--store <keyring|file>', 'Where to keep it (the keyring, where one works)', {
    parse: oneOf(['keyring', 'file']),
  })
  switchFlag(loginCommand, '--no-check', "Don't try the key before it is saved")
  addServerFlags(loginCommand)
  addOutputFlags(loginCommand)
  return loginCommand.action(async (flags: LoginFlags) => await run(deps, flags)) as GdnCommand
}

export async function login(deps: Deps, flags: LoginFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const settings = await deps.settings(flags)
  const server = await serverForKey(deps, settings)
  parseBaseUrl(server.baseUrl, { hasKey: true, allowHttp: false })
  const key = await readKey(io, flags.keyFile, `API key for ${server.origin}`)
  if (flags.check !== false) await checkKey(deps, flags, server, key)
  const keptIn = await keepKey(deps, server.origin, key, flags.store)
  if (isAskedFor(flags)) {
    const record = { server: server.origin, kept_in: keptIn, key: maskedKey(key), works: flags.check !== false || null }
    await output.one(record)
  }
  const tried = flags.check === false ? 'Not tried' : 'It works'
  io.note(`${tried}; saved in ${safe(placeOfKey(deps, keptIn))}.`)
  io.note(`It is sent to ${server.origin} and to no other server.`)
  if (isSet(deps.env.GDN_API_KEY)) io.warn('GDN_API_KEY is set: it goes before the saved key until you unset it.')
  if (server.source !== 'profile') io.note(`Make it your usual server: gdn config set base_url ${server.baseUrl}`)
}

/** Tries a key that isn't saved yet. What doesn't work isn't saved. */
async function checkKey(deps: Deps, flags: LoginFlags, server: Server, key: Secret): Promise<void> {
  const settings = await deps.settings(flags)
  const progress = await deps.io.progress(`Trying the key at ${server.origin}`)
  try {
    const { client } = await deps.connect({ ...settings, apiKey: async () => key })
    await tryKey(client, deps.signals.signal)
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    const refused = error.code === 'unauthorized' || error.code === 'forbidden'
    throw new GdnError(error.code, `the key was not saved: ${error.message}`, {
      hint: refused
        ? 'copy it again, whole; is it a key of this server?'
        : 'gdn auth login --no-check saves it untried',
      details: error.details,
      cause: error,
    })
  } finally {
    progress.stop()
  }
}
