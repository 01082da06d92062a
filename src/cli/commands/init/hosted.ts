import { parseBaseUrl } from '../../../client/base-url.ts'
import { checkProfileName } from '../../../config/profile-names.ts'
import { findProfileOverride } from '../../../config/profile-override.ts'
import { readSavedApiKey } from '../../../config/saved-keys.ts'
import type { Server } from '../../../config/server.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { Secret } from '../../../core/secret.ts'
import { verifyKey } from '../../connect/check-key.ts'
import { readApiKey } from '../../connect/read-key.ts'
import { describeKeyPlace, saveKey } from '../../connect/save-key.ts'
import type { Deps } from '../../deps.ts'
import { isSet, safe } from '../../io/io.ts'
import { askText, mayPrompt } from '../../prompt/ask-missing.ts'
import { checkWallet, promptForDefaults, writeProfile } from './defaults.ts'
import type { InitFlags } from './init-flags.ts'
import type { Setup } from './next-steps.ts'

const MAX_KEY_ATTEMPTS = 3

/** A key and its source. Only a `given` key is saved. */
interface KeyWithSource {
  key: Secret
  from: 'given' | 'saved' | 'environment'
}

/** Sets up a profile with a server, its key and defaults. Writes nothing until all values are known and checked. */
export async function initHosted(deps: Deps, flags: InitFlags): Promise<Setup> {
  const { io } = deps
  const profile = checkProfileName(flags.profile ?? 'default')
  if (profile === 'local') {
    throw flagError('--profile', 'the profile local is reserved for the local backend', 'Choose another name.')
  }
  checkWallet(flags)
  const baseUrl = checkUrl(flags.baseUrl ?? (await promptForUrl(deps)))
  const server = await (await deps.settings({ baseUrl })).server()
  // Read a key from a file or a pipe before the first prompt, because the setup can't be completed without a key.
  const knownKey = flags.keyFile !== undefined || !mayPrompt(io) ? await findKey(deps, flags, server) : null
  await confirmReplacing(deps, flags, profile, baseUrl)
  const { key, from } = await findCheckedKey(deps, flags, server, knownKey)
  const defaults = await promptForDefaults(deps, flags)

  const override = await findProfileOverride({ ...deps, profile, baseUrl })
  const keptIn = from === 'given' ? await saveKey(deps, server.origin, key, flags.store) : null
  if (keptIn !== null)
    io.note(`The key is saved in ${safe(describeKeyPlace(deps, keptIn))}. gdn sends the key only to this server.`)
  await writeProfile(deps, profile, { ...defaults, base_url: baseUrl })
  return {
    profile,
    baseUrl,
    override,
    keptIn: keptIn ?? (from === 'environment' ? 'environment' : null),
    ...defaults,
    isChecked: flags.check !== false,
    isRunning: true,
  }
}

function checkUrl(url: string): string {
  try {
    return parseBaseUrl(url, { hasKey: true, allowHttp: false })
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    const { message, hint } = error
    throw flagError('--base-url', message, hint)
  }
}

async function promptForUrl({ io, env }: Deps): Promise<string> {
  if (!mayPrompt(io)) throw flagError('--base-url', 'the URL of the service is required', 'Add --base-url <url>.')
  return await askText(io, {
    message: 'URL of the service',
    flag: '--base-url',
    default: env.GDN_BASE_URL || undefined,
    check(url) {
      try {
        return checkUrl(url.trim()) !== '' ? true : 'a URL is required'
      } catch (error) {
        if (!(error instanceof GdnError)) return 'this is not a URL'
        return error.hint === undefined ? error.message : `${error.message}. ${error.hint}`
      }
    },
  }).then((url) => url.trim())
}

/** Asks for confirmation before a profile for a different server is replaced. */
async function confirmReplacing({ io, env }: Deps, flags: InitFlags, name: string, baseUrl: string): Promise<void> {
  const { profiles = {} } = await readUserConfig(env)
  const before = Object.hasOwn(profiles, name) ? profiles[name]?.base_url : undefined
  if (before === undefined || before === baseUrl || flags.yes) return
  const question = `Replace the profile ${safe(name)}, which has the URL ${safe(before)} (add --profile to create another)?`
  await io.confirm(question, '--yes', { message: 'nothing was written' })
}

/** Returns a given or saved key after checking it. If the server rejects a typed key, prompts again. */
async function findCheckedKey(
  deps: Deps,
  flags: InitFlags,
  server: Server,
  knownKey: KeyWithSource | null,
): Promise<KeyWithSource> {
  const { io } = deps
  for (let attempt = 1; ; attempt++) {
    const givenKey = knownKey ?? (await findKey(deps, flags, server))
    if (flags.check === false) return givenKey
    const progress = await io.progress(`Checking the key at ${server.origin}`)
    try {
      const settings = await deps.settings({ baseUrl: server.baseUrl })
      const { client } = await deps.connect({ ...settings, apiKey: async () => givenKey.key })
      await verifyKey(client, deps.signals.signal)
      return givenKey
    } catch (error) {
      progress.stop()
      const isTyped = givenKey.from === 'given' && flags.keyFile === undefined && mayPrompt(io)
      const isRefused = error instanceof GdnError && (error.code === 'unauthorized' || error.code === 'forbidden')
      if (!isTyped || !isRefused || attempt === MAX_KEY_ATTEMPTS) throw withoutHint(error)
      io.warn(safe(error.message))
    } finally {
      progress.stop()
    }
  }
}

function withoutHint(error: unknown): unknown {
  if (!(error instanceof GdnError)) return error
  const message = `nothing was written: ${error.message}`
  return error.with(error.code === 'unauthorized' ? { message, hint: undefined } : { message })
}

async function findKey({ io, env, openKeyring }: Deps, flags: InitFlags, server: Server): Promise<KeyWithSource> {
  const question = `API key for ${server.origin}`
  if (flags.keyFile !== undefined) return { key: await readApiKey(io, flags.keyFile, question), from: 'given' }
  const variable = env.GDN_API_KEY ?? ''
  if (isSet(variable)) return { key: new Secret(variable), from: 'environment' }
  const saved = await readSavedApiKey(env, server.origin, openKeyring)
  if (saved !== null) {
    io.note(`Using the saved key for ${server.origin}. Run \`gdn auth login\` to save another key.`)
    return { key: saved, from: 'saved' }
  }
  if (mayPrompt(io)) return { key: await readApiKey(io, undefined, question), from: 'given' }
  throw new GdnError('usage', 'the API key is required', {
    place: { flag: '--key-file' },
    hint: 'Add --key-file <file>, or pipe the key in: `… | gdn init --key-file - …`.',
  })
}
