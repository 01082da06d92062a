import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { Secret } from '../../core/secret.ts'
import { settingsPath } from './settings.ts'

/** Where a PostgreSQL database is. */
export interface DatabaseSettings {
  url: Secret
  /** Of the server itself, where `url` is that of a pooler. */
  directUrl?: Secret | undefined
}

export interface DatabasePlace {
  dataDir: string
  settingsFile?: string | undefined
  /** By flag or environment; these go before the settings file. */
  database?: Partial<DatabaseSettings> | undefined
}

/**
 * The PostgreSQL database of a backend: as given, else by its settings file; null where it has SQLite in its data dir.
 *
 * @throws GdnError `invalid_config`, `invalid_input`
 */
export async function databaseOf({ dataDir, settingsFile, database }: DatabasePlace): Promise<DatabaseSettings | null> {
  const path = settingsPath(dataDir, settingsFile)
  const inFile = settingsFile === undefined && !existsSync(path) ? {} : await readDatabase(path)
  const url = database?.url ?? inFile.url
  const directUrl = database?.directUrl ?? (database?.url === undefined ? inFile.directUrl : undefined)
  return url === undefined ? null : { url, ...(directUrl === undefined ? {} : { directUrl }) }
}

const isEmpty = (text: string) => (text === '' ? 'is missing' : null)

async function readDatabase(path: string): Promise<Partial<DatabaseSettings>> {
  const { readSettingsFile } = await import('./read-settings.ts')
  const { readPasswordFile } = await import('../../keystore/password.ts')
  const { database_url, database_url_file, database_direct_url, database_direct_url_file } = readSettingsFile(path)
  const read = (field: string, url: string | undefined, file: string | undefined) => {
    if (url === undefined)
      return file === undefined ? undefined : readPasswordFile(resolve(dirname(path), file), isEmpty)
    if (file === undefined) return new Secret(url)
    throw new GdnError('invalid_config', `has ${field} and ${field}_file: give one of them`, { place: { file: path } })
  }
  const url = read('database_url', database_url, database_url_file)
  const directUrl = read('database_direct_url', database_direct_url, database_direct_url_file)
  return { ...(url === undefined ? {} : { url }), ...(directUrl === undefined ? {} : { directUrl }) }
}
