import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DEFAULT_API_VERSION } from '../../api/versions.ts'
import type { Settings } from './types.ts'

/** Path of a data directory's own settings file. */
const FILE = 'backend.yaml'

const NONE: Settings = {
  chains: new Map(),
  clusters: new Map(),
  storage: { kind: 'files' },
  pinning: null,
  ipfsGateway: null,
  requireStoredFiles: false,
  apiVersion: DEFAULT_API_VERSION,
}

/** Returns the path of a backend's settings file, if it exists. */
export const settingsPath = (dataDir: string, named: string | undefined): string =>
  named === undefined ? join(dataDir, FILE) : resolve(named)

/**
 * Reads the settings of the given file, else of the data directory, else none. The parser is loaded only for a file.
 */
export async function loadSettings(dataDir: string, named: string | undefined): Promise<Settings> {
  const path = settingsPath(dataDir, named)
  if (named === undefined && !existsSync(path)) return NONE
  const { readSettings } = await import('./read-settings.ts')
  return readSettings(path)
}
