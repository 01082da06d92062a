import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { GdnError } from '../core/errors.ts'
import { fileIdentity } from '../core/file-identity.ts'
import { parseJson } from '../core/json.ts'
import { readPrivateText, refuseOpenFolder, writePrivateFile } from '../core/private-file.ts'
import { isAlive } from '../core/process-identity.ts'
import { Secret } from '../core/secret.ts'

const RECORD = 'backend.json'
const KEY = 'api-key'
const PORT = 'port'
/** The log of a backend that runs in the background. */
export const LOG_FILE = 'serve.log'

/** A backend that serves from a data directory. */
export interface RunningBackend {
  url: string
  pid: number
  /** The version of gdn that it runs. */
  version: string
  /** The options that it runs with, by flag. Older versions don't record them. */
  options?: Record<string, string | boolean> | undefined
}

const record = z.looseObject({
  pid: z.int().positive(),
  url: z.url(),
  process_started: z.string().nullable(),
  boot_id: z.string().nullable(),
  /** The identity of the data directory. */
  folder: z.string(),
  version: z.string(),
  options: z.record(z.string(), z.union([z.string(), z.boolean()])).optional(),
})

/**
 * Returns the backend that serves from `dataDir` now, or null. A record that a killed backend left is ignored, and so
 * is one that was copied with the directory of another.
 */
export async function runningBackend(dataDir: string): Promise<RunningBackend | null> {
  const text = await readFile(join(dataDir, RECORD), 'utf8').catch(() => '')
  const parsed = record.safeParse(parseJson(text))
  if (!parsed.success) return null
  const { pid, url, process_started: startedAt, boot_id: bootId, folder, version, options } = parsed.data
  if (folder !== (await fileIdentity(dataDir).catch(() => null))) return null
  return (await isAlive({ pid, startedAt, bootId })) ? { url, pid, version, options } : null
}

/** Returns the port that the local backend used last, because wallets and scripts have its address. */
export async function lastPort(dataDir: string): Promise<string | null> {
  const text = (await readFile(join(dataDir, PORT), 'utf8').catch(() => '')).trim()
  return /^[1-9]\d{0,4}$/.test(text) ? text : null
}

export async function rememberPort(dataDir: string, url: string): Promise<void> {
  await writePrivateFile(join(dataDir, PORT), `${new URL(url).port}\n`)
}

/** Whether a directory was created by a backend of ours. `local reset` deletes nothing else. */
export async function isDataDirectory(dataDir: string): Promise<boolean> {
  for (const name of [KEY, 'lock.db']) {
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

/** Returns the API key of the local account, from a file that only its owner may read. */
export async function localApiKey(dataDir: string): Promise<Secret> {
  const key = await localApiKeyIfThere(dataDir)
  if (key !== null) return key
  throw new GdnError('unauthorized', "the local backend's key file is missing", {
    hint: 'Run `gdn local stop` and `gdn local start` to create it again.',
    place: { file: localApiKeyFile(dataDir) },
  })
}

/** Like localApiKey; null if no backend was ever started. */
export async function localApiKeyIfThere(dataDir: string): Promise<Secret | null> {
  return await readSecretFile(localApiKeyFile(dataDir))
}

/** Returns the path of the local account's key. */
export function localApiKeyFile(dataDir: string): string {
  return join(dataDir, KEY)
}

/** Reads a file with one API key, or returns null if it doesn't exist. Refuses one that others may read or replace. */
async function readSecretFile(path: string): Promise<Secret | null> {
  await refuseOpenFolder(dirname(path), { code: 'unauthorized' })
  const found = readPrivateText(path, { code: 'unauthorized' })
  if (found === null) return null
  const text = found.replace(/\r?\n$/, '')
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return new Secret(text)
  throw new GdnError('unauthorized', `${path} has no valid API key: one line of printable characters is expected`)
}
