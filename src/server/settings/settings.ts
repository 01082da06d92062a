import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Settings } from './types.ts'

/** Where a data dir's own settings are, should there be any. */
const FILE = 'backend.yaml'

const NONE: Settings = {
  chains: new Map(),
  clusters: new Map(),
  storage: { kind: 'files' },
  pinning: null,
  ipfsGateway: null,
  requireStoredFiles: false,
}

/** The file that holds a backend's settings, should it be there. */
export const settingsPath = (dataDir: string, named: string | undefined): string =>
  named === undefined ? join(dataDir, FILE) : resolve(named)

/** The settings in a file that is named, else in the data dir's own, else none; their reader is loaded only for a file. */
export async function loadSettings(dataDir: string, named: string | undefined): Promise<Settings> {
  const path = settingsPath(dataDir, named)
  if (named === undefined && !existsSync(path)) return NONE
  const { readSettings } = await import('./read-settings.ts')
  return readSettings(path)
}
