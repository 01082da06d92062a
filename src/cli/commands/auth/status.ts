import { findRunningBackend, localApiKeyFile, localApiKeyIfThere } from '../../../config/local-backend.ts'
import { credentialsFile, localDataDirectory } from '../../../config/paths.ts'
import { listSavedOrigins, readSavedApiKey } from '../../../config/saved-keys.ts'
import { parseServerOrigin } from '../../../config/server.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { GdnError, messageOf } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import { Secret } from '../../../core/secret.ts'
import { GdnCommand } from '../../command.ts'
import { verifyKey } from '../../connect/check-key.ts'
import { maskedKey } from '../../connect/save-key.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { isSet } from '../../io/io.ts'
import { createOutput, type View } from '../../render/output.ts'

export interface StatusFlags extends OutputFlags, ServerFlags {
  check?: boolean
}

const FIELDS = ['server', 'in_use', 'profiles', 'kept_in', 'place', 'key', 'works', 'problem'] as const

export function command(deps: Deps, run = status): GdnCommand {
  return new GdnCommand({
    about:
      'The command shows the beginning of each key, never the whole key. With --check, it checks each key with a request that changes nothing.',
    examples: [
      ['List the saved keys', 'gdn auth status'],
      ['Check whether the keys work', 'gdn auth status --check'],
    ],
  })
    .switchFlag(
      '--check',
      'Check each key with its server; exit code 4 if a key is rejected, 6 if a server is unreachable',
    )
    .with(addServerFlags, addOutputFlags)
    .action(async (flags: StatusFlags) => await run(deps, flags))
}

/** A key and its source. */
interface KeyWithSource {
  server: string
  /** The URL to which the key is sent; null if the server isn't running. */
  url: string | null
  in_use: boolean
  profiles: string
  kept_in: 'keyring' | 'file' | 'environment'
  place: string
  key(): Promise<Secret>
}

export async function status(deps: Deps, flags: StatusFlags): Promise<void> {
  const view: View = {
    fields: FIELDS,
    columns: ['server', 'in_use', 'profiles', 'kept_in', 'key', ...(flags.check ? ['works', 'problem'] : [])],
    id: 'server',
  }
  const output = createOutput(deps.io, flags, view)
  const keys = await findKeys(deps, flags)
  const rows = []
  let exitCode: number = EXIT.ok
  for (const { key: readKey, url, ...row } of keys) {
    let works: boolean | null = null
    let problem: string | null = null
    let key: string | null = null
    try {
      const secret = await readKey()
      key = maskedKey(secret)
      if (flags.check) {
        await check(deps, flags, url, secret)
        works = true
      }
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      problem = messageOf(error)
      if (error.exitCode === EXIT.auth) works = false
      if (exitCode === EXIT.ok) exitCode = error.exitCode
    }
    rows.push({ ...row, key, works, problem })
  }
  await output.many(rows)
  if (rows.length === 0) {
    const server = (await deps.settings(flags)).baseUrl === null ? ' --base-url <url>' : ''
    deps.io.note(`There is no API key. Run \`gdn auth login${server}\` to save one, or set GDN_API_KEY.`)
  }
  deps.setExitCode(exitCode)
}

async function findKeys(deps: Deps, flags: StatusFlags): Promise<KeyWithSource[]> {
  const { env, openKeyring } = deps
  const settings = await deps.settings(flags)
  const serverInUse = settings.baseUrl === null ? null : parseServerOrigin(settings.baseUrl.value)
  const profiles = Object.entries((await readUserConfig(env)).profiles ?? {})
  const profilesOf = (origin: string) =>
    profiles
      .flatMap(([name, { base_url }]) => (base_url && parseServerOrigin(base_url) === origin ? [name] : []))
      .join(', ')
  const variable = isSet(env.GDN_API_KEY) ? new Secret(env.GDN_API_KEY ?? '') : null

  const keys: KeyWithSource[] = (await listSavedOrigins(env)).map(({ origin, keptIn }) => ({
    server: origin,
    url: origin === serverInUse ? (settings.baseUrl?.value ?? origin) : origin,
    in_use: origin === serverInUse && variable === null,
    profiles: profilesOf(origin),
    kept_in: keptIn,
    place: keptIn === 'file' ? credentialsFile(env) : 'system keyring',
    async key() {
      const key = await readSavedApiKey(env, origin, openKeyring)
      if (key !== null) return key
      throw new GdnError('unauthorized', 'the key was deleted in the meantime')
    },
  }))
  if (variable !== null && serverInUse !== null) {
    keys.unshift({
      server: serverInUse,
      url: settings.baseUrl?.value ?? serverInUse,
      in_use: true,
      profiles: profilesOf(serverInUse),
      kept_in: 'environment',
      place: 'GDN_API_KEY',
      // As in every command, throw if only the project's file specifies the server. Such a server must not receive the
      // key.
      key: async () => await settings.apiKey(await settings.server()),
    })
  }
  return [...keys, ...(await localKey(deps, settings.profile === 'local' && serverInUse === null))]
}

/** Returns the key of the local backend; an empty array if no local backend was ever started. */
async function localKey({ env }: Deps, isInUse: boolean): Promise<KeyWithSource[]> {
  const dataDir = localDataDirectory(env)
  const key = await localApiKeyIfThere(dataDir).catch((error: unknown) => error)
  if (key === null) return []
  const backend = await findRunningBackend(dataDir)
  return [
    {
      server: 'local',
      url: backend?.url ?? null,
      in_use: isInUse,
      profiles: 'local',
      kept_in: 'file',
      place: localApiKeyFile(dataDir),
      async key() {
        if (key instanceof Secret) return key
        throw key
      },
    },
  ]
}

async function check(deps: Deps, flags: StatusFlags, url: string | null, key: Secret): Promise<void> {
  if (url === null) throw new GdnError('unreachable', 'the local backend is not running: run `gdn local start`')
  const { local: _local, profile: _profile, ...otherFlags } = flags
  const settings = await deps.settings({ ...otherFlags, baseUrl: url })
  const { client } = await deps.connect({ ...settings, apiKey: async () => key })
  await verifyKey(client, deps.signals.signal)
}
