import { resolve } from 'node:path'
import type { DatabaseLocation } from '../settings/database.ts'
import { loadServerSettings, settingsPath } from '../settings/settings.ts'
import type { ServerSettings } from '../settings/types.ts'
import type { RemoteContext } from '../storage/remote/open-remote.ts'
import type { CheckResult } from './check-result.ts'
import { examineDatabase } from './database.ts'
import { examineStorage } from './storage.ts'

export type CheckupOptions = DatabaseLocation & RemoteContext

/**
 * Checks all parts of a backend's configuration: database, data directory, storage and networks. The check can run
 * while the backend runs. It only writes one small file to the storage.
 */
export async function checkUp(options: CheckupOptions): Promise<CheckResult[]> {
  const dataDir = resolve(options.dataDir)
  let settings: ServerSettings
  try {
    settings = await loadServerSettings(dataDir, options.settingsFile)
  } catch (error) {
    return [{ check: 'backend', status: 'fail', error }]
  }
  const { found: database, store } = await examineDatabase(options)
  try {
    const { examineChain } = settings.chains.size === 0 ? NO_CHECKS : await import('./chains.ts')
    const { examineCluster } = settings.clusters.size === 0 ? NO_CHECKS : await import('./clusters.ts')
    const chains = await Promise.all([
      ...[...settings.chains.values()].map((chain) => examineChain(chain, store, options.credentialsDirectory)),
      ...[...settings.clusters.values()].map((cluster) => examineCluster(cluster, store, options.credentialsDirectory)),
    ])
    return [
      {
        check: 'backend',
        status: 'ok',
        message: describeSettings(settings, settingsPath(dataDir, options.settingsFile)),
      },
      database,
      ...(await examineStorage(settings.storage, dataDir, options)),
      ...chains.flat(),
    ]
  } finally {
    await store?.close()
  }
}

const NO_CHECKS = {
  examineChain: async (): Promise<CheckResult[]> => [],
  examineCluster: async (): Promise<CheckResult[]> => [],
}

function describeSettings({ chains, clusters, storage }: ServerSettings, path: string): string {
  const byUrl = [...chains.keys(), ...clusters.keys()]
  const networks = byUrl.length === 0 ? 'embedded chains' : byUrl.join(', ')
  const files = { files: 'files in the data directory', s3: 'files in a bucket', ipfs: 'files on an IPFS node' }[
    storage.kind
  ]
  return `${path}: ${networks}; ${files}`
}
