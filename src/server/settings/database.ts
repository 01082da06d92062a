import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { Secret } from '../../core/secret.ts'
import { settingsPath } from './settings.ts'

/** The location of a PostgreSQL database. */
export interface DatabaseSettings {
  url: Secret
  /** URL of the database server itself, if `url` points to a connection pooler. */
  directUrl?: Secret | undefined
}

/** Database settings from a single source: flags, the environment or the settings file. */
export type PartialDatabaseSettings = { [Field in keyof DatabaseSettings]?: DatabaseSettings[Field] | undefined }

export interface DatabaseLocation {
  dataDir: string
  settingsFile?: string | undefined
  /** Values of flags or environment variables, which take precedence over the settings file. */
  database?: PartialDatabaseSettings | undefined
}

/**
 * Returns the PostgreSQL database of a backend, from the options or the settings file; null if the backend uses SQLite
 * in its data directory.
 *
 * @throws GdnError `invalid_config`, `invalid_input`
 */
export async function resolveDatabaseSettings({
  dataDir,
  settingsFile,
  database,
}: DatabaseLocation): Promise<DatabaseSettings | null> {
  const path = settingsPath(dataDir, settingsFile)
  const inFile = settingsFile === undefined && !existsSync(path) ? {} : await readDatabaseSettings(path)
  const url = database?.url ?? inFile.url
  const directUrl = database?.directUrl ?? (database?.url === undefined ? inFile.directUrl : undefined)
  return url === undefined ? null : { url, directUrl }
}

const emptyProblem = (text: string) => (text === '' ? 'is missing' : null)

async function readDatabaseSettings(path: string): Promise<PartialDatabaseSettings> {
  const { readSettingsFile } = await import('./read-settings.ts')
  const { readPasswordFile } = await import('../../keystore/password.ts')
  const { database_url, database_url_file, database_direct_url, database_direct_url_file } = readSettingsFile(path)
  const read = (field: string, url: string | undefined, file: string | undefined) => {
    if (url === undefined)
      return file === undefined ? undefined : readPasswordFile(resolve(dirname(path), file), emptyProblem)
    if (file === undefined) return new Secret(url)
    throw new GdnError('invalid_config', `the file has both ${field} and ${field}_file: keep one of them`, {
      place: { file: path },
    })
  }
  const url = read('database_url', database_url, database_url_file)
  const directUrl = read('database_direct_url', database_direct_url, database_direct_url_file)
  return { url, directUrl }
}
