import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pid } from 'node:process'
import { stateDirectory } from '../../config/paths.ts'

/** What is known of a newer version. Times in milliseconds. */
export interface UpdateCache {
  /** When the registry was last asked, or about to be. */
  checkedAt: number
  /** When a person was last told. */
  notifiedAt: number
  /** The registry's latest version; null where it has none of ours. */
  latest: string | null
}

const NOTHING: UpdateCache = { checkedAt: 0, notifiedAt: 0, latest: null }

export const updateCacheFile = (env: NodeJS.ProcessEnv): string => join(stateDirectory(env), 'update-check.json')

/** What was written down. What can't be read counts as nothing. */
export function readUpdateCache(env: NodeJS.ProcessEnv): UpdateCache {
  try {
    const { checkedAt, notifiedAt, latest } = JSON.parse(readFileSync(updateCacheFile(env), 'utf8'))
    return {
      checkedAt: Number.isFinite(checkedAt) ? checkedAt : 0,
      notifiedAt: Number.isFinite(notifiedAt) ? notifiedAt : 0,
      latest: typeof latest === 'string' ? latest : null,
    }
  } catch {
    return NOTHING
  }
}

/** Throws where it can't be written. */
export function writeUpdateCache(env: NodeJS.ProcessEnv, cache: UpdateCache): void {
  const path = updateCacheFile(env)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temp = `${path}.${pid}`
  writeFileSync(temp, `${JSON.stringify(cache)}\n`, { mode: 0o600 })
  chmodSync(temp, 0o600)
  renameSync(temp, path)
}
