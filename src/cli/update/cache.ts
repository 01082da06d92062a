import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pid } from 'node:process'
import { stateDirectory } from '../../config/paths.ts'

/** The result of the last update check. Times are in milliseconds since the epoch. */
export interface UpdateCache {
  /** Time when the last check started. It is stored before the check sends its request, which may fail. */
  checkedAt: number
  /** Time when the notice was last shown. */
  notifiedAt: number
  /** The latest version in the registry; null if the registry doesn't have this package. */
  latest: string | null
}

const EMPTY_CACHE: UpdateCache = { checkedAt: 0, notifiedAt: 0, latest: null }

export const updateCacheFile = (env: NodeJS.ProcessEnv): string => join(stateDirectory(env), 'update-check.json')

/** Reads the cache. Returns an empty cache if the file is missing or damaged. */
export function readUpdateCache(env: NodeJS.ProcessEnv): UpdateCache {
  try {
    const { checkedAt, notifiedAt, latest } = JSON.parse(readFileSync(updateCacheFile(env), 'utf8'))
    return {
      checkedAt: Number.isFinite(checkedAt) ? checkedAt : 0,
      notifiedAt: Number.isFinite(notifiedAt) ? notifiedAt : 0,
      latest: typeof latest === 'string' ? latest : null,
    }
  } catch {
    return EMPTY_CACHE
  }
}

/** @throws if the file can't be written */
export function writeUpdateCache(env: NodeJS.ProcessEnv, cache: UpdateCache): void {
  const path = updateCacheFile(env)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temp = `${path}.${pid}`
  writeFileSync(temp, `${JSON.stringify(cache)}\n`, { mode: 0o600 })
  chmodSync(temp, 0o600)
  renameSync(temp, path)
}
