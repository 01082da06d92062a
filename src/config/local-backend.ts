import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { acquireLock, lockHolder } from '../core/process-lock.ts'
import type { Secret } from '../core/secret.ts'
import { readSecretFile } from './secret-file.ts'

const RECORD = 'backend.json'
const LOCK = 'serve.lock'
const KEY = 'api-key'
/** The log of a backend that runs in the background. */
export const LOG_FILE = 'serve.log'

/** A backend that serves from a data directory. */
export interface RunningBackend {
  url: string
  pid: number
}

/**
 * Marks this process as the one that serves from `dataDir`. The backend itself writes down its address there; this
 * lock says that the record is true, and dies with the process: what a killed backend left behind is not believed.
 *
 * @returns takes the mark away again
 */
export async function markServing(dataDir: string, url: string): Promise<() => Promise<void>> {
  const lock = await acquireLock(join(dataDir, LOCK), `serve ${url}`)
  return () => lock.release()
}

/** The backend that serves from `dataDir` now, or null. */
export async function runningBackend(dataDir: string): Promise<RunningBackend | null> {
  const holder = await lockHolder(join(dataDir, LOCK))
  if (holder === null) return null
  const text = await readFile(join(dataDir, RECORD), 'utf8').catch(() => '')
  const url = urlIn(text, holder.pid)
  return url === null ? null : { url, pid: holder.pid }
}

function urlIn(text: string, pid: number): string | null {
  try {
    const record: unknown = JSON.parse(text)
    if (record === null || typeof record !== 'object' || !('url' in record) || !('pid' in record)) return null
    return typeof record.url === 'string' && record.pid === pid && URL.canParse(record.url) ? record.url : null
  } catch {
    return null
  }
}

/** Whether a directory is one that a backend of ours made: nothing else may be deleted by `local reset`. */
export async function isDataDirectory(dataDir: string): Promise<boolean> {
  for (const name of [LOCK, KEY, 'lock.db']) {
    if (
      await stat(join(dataDir, name)).then(
        () => true,
        () => false,
      )
    )
      return true
  }
  return false
}

/** The local account's API key, which the backend keeps in a file that only its owner may read. */
export async function localApiKey(dataDir: string): Promise<Secret> {
  return await readSecretFile(join(dataDir, KEY))
}

/** Where the local account's key is kept. */
export function localApiKeyFile(dataDir: string): string {
  return join(dataDir, KEY)
}
