import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DEFAULT_API_VERSION } from '../../api/versions.ts'
import type { ServerSettings } from './types.ts'

/** Name of the settings file in a data directory. */
const SETTINGS_FILE_NAME = 'backend.yaml'

const DEFAULT_SETTINGS: ServerSettings = {
  chains: new Map(),
  clusters: new Map(),
  storage: { kind: 'files' },
  pinning: null,
  ipfsGateway: null,
  requireStoredFiles: false,
  apiVersion: DEFAULT_API_VERSION,
}

/** Returns the path where a backend's settings file is, or would be. */
export const settingsPath = (dataDir: string, settingsFile: string | undefined): string =>
  settingsFile === undefined ? join(dataDir, SETTINGS_FILE_NAME) : resolve(settingsFile)

/**
 * Reads the settings from the named file, or from the data directory's file. Without a file, returns the defaults and
 * doesn't load the parser.
 */
export async function loadServerSettings(dataDir: string, settingsFile: string | undefined): Promise<ServerSettings> {
  const path = settingsPath(dataDir, settingsFile)
  if (settingsFile === undefined && !existsSync(path)) return DEFAULT_SETTINGS
  const { readSettings } = await import('./read-settings.ts')
  return readSettings(path)
}
