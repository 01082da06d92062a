import { resolve } from 'node:path'
import { readDatabaseOptions, type SpecifiedDatabase } from '../../config/database-url.ts'
import { findRunningBackend } from '../../config/local-backend.ts'
import { localBackendId } from '../../config/local-backend-id.ts'
import { localDataDirectory } from '../../config/paths.ts'
import { isLoopbackOrigin, parseServerOrigin, type Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import { rejectOnAbort } from '../../core/or-aborted.ts'
import { shellWord } from '../../core/shell-word.ts'
import type { Store } from '../../server/store/open-store.ts'
import type { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import { notEmpty } from '../flags/common.ts'
import { safe } from '../io/io.ts'

export interface DataDirFlags {
  dataDir?: string
  databaseUrl?: string
}

export function addDataDirFlag(command: GdnCommand): GdnCommand {
  command.valueFlag('--data-dir <dir>', "Data directory of the backend (the local backend's)", notEmpty)
  return addDatabaseFlag(command)
}

/** Adds `--database-url`. A URL that contains a password belongs in the environment instead. */
export const addDatabaseFlag = (command: GdnCommand): GdnCommand =>
  command.valueFlag(
    '--database-url <url>',
    'PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead',
    notEmpty,
  )

export interface BackendFlags extends DataDirFlags {
  config?: string
}

/** Adds the flags that select a backend on this machine and its configuration. */
export function addBackendFlags(command: GdnCommand): GdnCommand {
  command.valueFlag('--config <file>', 'Configuration of the backend (backend.yaml in the data directory)', notEmpty)
  return addDataDirFlag(command)
}

/** Returns the data directory. Default: the directory that `gdn serve` and `gdn local start` use. */
export function resolveDataDir({ env, cwd }: Pick<Deps, 'env' | 'cwd'>, flags: DataDirFlags): string {
  return flags.dataDir === undefined ? localDataDirectory(env) : resolve(cwd, flags.dataDir)
}

/**
 * Returns the database of a command: PostgreSQL if a flag or the environment specifies it, or else the database in the
 * data directory.
 */
export function resolveDatabase(
  deps: Pick<Deps, 'env' | 'cwd'>,
  flags: DataDirFlags & { config?: string },
): { dataDir: string; database: SpecifiedDatabase; settingsFile: string | undefined } {
  return {
    dataDir: resolveDataDir(deps, flags),
    database: readDatabaseOptions(flags.databaseUrl, deps.env),
    settingsFile: findConfigFile(deps, flags),
  }
}

export type DatabaseOptions = ReturnType<typeof resolveDatabase>

/**
 * Returns the database of an administration command. If it isn't the default, prints it, so that the user notices a
 * wrong database.
 *
 * @throws GdnError `usage` if the default applies although the configuration selects a different server
 */
export async function resolveAdministeredDatabase(
  deps: Pick<Deps, 'env' | 'cwd' | 'io' | 'settings' | 'identify'>,
  flags: DataDirFlags & { config?: string },
): Promise<DatabaseOptions> {
  const place = resolveDatabase(deps, flags)
  const { dataDir, database, settingsFile } = place
  const isNamed = flags.dataDir !== undefined || database.url !== undefined || settingsFile !== undefined
  if (!isNamed) await refuseOtherServer(deps, dataDir)
  const source = flags.databaseUrl === undefined ? 'GDN_DATABASE_URL' : '--database-url'
  const used = database.url === undefined ? `Data directory: ${safe(dataDir)}` : `Database: PostgreSQL (${source})`
  if (isNamed) deps.io.note(used)
  else deps.io.debug(used)
  return place
}

/**
 * Refuses to change the local backend if other commands use a different server. Otherwise, the user could change the
 * wrong backend.
 */
async function refuseOtherServer(
  { settings, identify }: Pick<Deps, 'settings' | 'identify'>,
  dataDir: string,
): Promise<void> {
  const { baseUrl, server } = await settings({})
  if (baseUrl === null) return
  const origin = parseServerOrigin(baseUrl.value, baseUrl.from)
  const running = await findRunningBackend(dataDir)
  let isOther = running === null || parseServerOrigin(running.url) !== origin
  if (isLoopbackOrigin(origin)) {
    isOther =
      running === null
        ? await isOtherBackend(identify, await server(), dataDir)
        : new URL(running.url).port !== new URL(origin).port
  }
  if (!isOther) return
  const byProfile = baseUrl.from.startsWith('profile ') ? 'set GDN_PROFILE=local, or ' : ''
  throw new GdnError(
    'usage',
    `${baseUrl.from} selects the server ${origin}, but this command works on the backend in ${dataDir}`,
    {
      hint: `To work on that backend anyway, ${byProfile}add --data-dir ${shellWord(dataDir)}. To work on the database of ${origin}, specify it with --data-dir or --database-url.`,
    },
  )
}

/** Returns whether a server on this machine belongs to a backend other than the stopped one in a data directory. */
async function isOtherBackend(identify: Deps['identify'], server: Server, dataDir: string): Promise<boolean> {
  const backend = await identify(server, 'once').catch(() => null)
  return backend !== null && backend.id !== null && backend.id !== (await localBackendId(dataDir))
}

/**
 * Runs `work` with the database of a backend, which may be running. A signal stops it, even if the database doesn't
 * respond.
 */
export async function withBackendDatabase<Result>(
  deps: Pick<Deps, 'env' | 'cwd' | 'signals' | 'io' | 'settings' | 'identify'>,
  flags: DataDirFlags,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  return await withDatabaseAt(deps, await resolveAdministeredDatabase(deps, flags), work)
}

/** Runs `work` with the given database, and stops it on a signal. */
export async function withDatabaseAt<Result>(
  { signals }: Pick<Deps, 'signals'>,
  place: DatabaseOptions,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { withDatabase } = await import('../../server/open-database.ts')
  return await rejectOnAbort(withDatabase(place, work), signals.signal)
}

/**
 * Returns the configuration file that a flag or the environment specifies. If undefined, the file in the data directory
 * applies.
 */
export function findConfigFile(
  { env, cwd }: Pick<Deps, 'env' | 'cwd'>,
  { config }: { config?: string },
): string | undefined {
  const file = config ?? env.GDN_BACKEND_CONFIG
  return file === undefined || file === '' ? undefined : resolve(cwd, file)
}
