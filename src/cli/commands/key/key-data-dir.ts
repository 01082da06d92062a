import { resolve } from 'node:path'
import { databaseGiven, type GivenDatabase } from '../../../config/database-url.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { orAborted } from '../../../core/or-aborted.ts'
import type { Store } from '../../../server/store/open-store.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { notEmpty } from '../../flags/parse.ts'

export interface DataDirFlags {
  dataDir?: string
  databaseUrl?: string
}

export function addDataDirFlag(command: GdnCommand): GdnCommand {
  valueFlag(command, '--data-dir <dir>', "The backend's data dir (that of gdn local start)", { parse: notEmpty })
  return addDatabaseFlag(command)
}

/** A URL with a password belongs into the environment: the flag is for those without. */
export const addDatabaseFlag = (command: GdnCommand): GdnCommand =>
  valueFlag(command, '--database-url <url>', 'Its PostgreSQL; with a password better GDN_DATABASE_URL', {
    parse: notEmpty,
  })

/** The data dir that a key command works on: by default the one of `gdn serve` and `gdn local start`. */
export function dataDirOf({ env, cwd }: Pick<Deps, 'env' | 'cwd'>, flags: DataDirFlags): string {
  return flags.dataDir === undefined ? localDataDirectory(env) : resolve(cwd, flags.dataDir)
}

/** The database that a command works on: PostgreSQL where one is named, else that of the data dir. */
export function databasePlace(
  deps: Pick<Deps, 'env' | 'cwd'>,
  flags: DataDirFlags & { config?: string },
): { dataDir: string; database: GivenDatabase; settingsFile: string | undefined } {
  return {
    dataDir: dataDirOf(deps, flags),
    database: databaseGiven(flags.databaseUrl, deps.env),
    settingsFile: settingsGiven(deps, flags),
  }
}

/**
 * Works on that database, beside the backend's running processes; no longer than until a signal comes, be it that the
 * database gives no answer.
 */
export async function onDatabase<Result>(
  deps: Pick<Deps, 'env' | 'cwd' | 'signals'>,
  flags: DataDirFlags,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { administrate } = await import('../../../server/administration.ts')
  return await orAborted(administrate(databasePlace(deps, flags), work), deps.signals.signal)
}

/** The backend's settings where a flag or the environment names them; elsewhere the data dir's own count. */
export function settingsGiven(
  { env, cwd }: Pick<Deps, 'env' | 'cwd'>,
  { config }: { config?: string },
): string | undefined {
  const file = config ?? env.GDN_BACKEND_CONFIG
  return file === undefined || file === '' ? undefined : resolve(cwd, file)
}
