import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { GdnError } from '../core/errors.ts'
import { fileIdentity } from '../core/file-identity.ts'
import { parseJson } from '../core/json.ts'
import { pathExists } from '../core/path-exists.ts'
import { readPrivateText, refuseOpenDirectory, writePrivateFile } from '../core/private-file.ts'
import { isAlive } from '../core/process-identity.ts'
import { Secret } from '../core/secret.ts'

const RECORD_FILE = 'backend.json'
const KEY_FILE = 'api-key'
const PORT_FILE = 'port'
/** Name of the log file of a background backend. The file is in the data directory. */
export const LOG_FILE = 'serve.log'
/** The default port of `gdn serve`, and of a local backend when it first starts. */
export const DEFAULT_PORT = 4680

export interface RunningBackend {
  url: string
  pid: number
  /** The gdn version of the backend. */
  version: string
  /** The options of the backend, by flag. Older versions don't record their options. */
  options?: Record<string, string | boolean> | undefined
}

const recordSchema = z.looseObject({
  pid: z.int().positive(),
  url: z.url(),
  process_started: z.string().nullable(),
  boot_id: z.string().nullable(),
  /** Identity of the data directory, which shows whether the record was copied to another directory. */
  folder: z.string(),
  version: z.string(),
  options: z.record(z.string(), z.union([z.string(), z.boolean()])).optional(),
})

/**
 * Returns the backend that serves from `dataDir`, or null. Ignores the record of a killed backend, and a record that
 * was copied from another data directory.
 */
export async function findRunningBackend(dataDir: string): Promise<RunningBackend | null> {
  const text = await readFile(join(dataDir, RECORD_FILE), 'utf8').catch(() => '')
  const parsed = recordSchema.safeParse(parseJson(text))
  if (!parsed.success) return null
  const { pid, url, process_started: startedAt, boot_id: bootId, folder, version, options } = parsed.data
  if (folder !== (await fileIdentity(dataDir).catch(() => null))) return null
  return (await isAlive({ pid, startedAt, bootId })) ? { url, pid, version, options } : null
}

/** Returns whether the backend that serves from `dataDir` has this origin. */
export async function isLocalBackend(dataDir: string, origin: string): Promise<boolean> {
  const running = await findRunningBackend(dataDir).catch(() => null)
  return running !== null && new URL(running.url).origin === origin
}

/**
 * Returns the port that the local backend last used. The port is reused so that the address in wallets and scripts
 * stays valid.
 */
export async function readLastPort(dataDir: string): Promise<string | null> {
  const text = (await readFile(join(dataDir, PORT_FILE), 'utf8').catch(() => '')).trim()
  return /^[1-9]\d{0,4}$/.test(text) ? text : null
}

export async function savePort(dataDir: string, url: string): Promise<void> {
  await writePrivateFile(join(dataDir, PORT_FILE), `${new URL(url).port}\n`)
}

/** Returns whether a gdn backend created a directory. `gdn local reset` deletes only directories of backends. */
export async function isDataDirectory(dataDir: string): Promise<boolean> {
  for (const name of [KEY_FILE, 'lock.db']) {
    if (await pathExists(join(dataDir, name))) return true
  }
  return false
}

/** Returns the API key of the local account. Throws if the key file is missing or other users can read it. */
export async function readLocalApiKey(dataDir: string): Promise<Secret> {
  const key = await localApiKeyIfThere(dataDir)
  if (key !== null) return key
  throw new GdnError('unauthorized', "the local backend's key file is missing", {
    hint: 'Run `gdn local stop` and `gdn local start` to create the file again.',
    place: { file: localApiKeyFile(dataDir) },
  })
}

/** Like localApiKey, but returns null if the file doesn't exist. */
export async function localApiKeyIfThere(dataDir: string): Promise<Secret | null> {
  return await readSecretFile(localApiKeyFile(dataDir))
}

export function localApiKeyFile(dataDir: string): string {
  return join(dataDir, KEY_FILE)
}

/**
 * Reads a file with one API key, or returns null if it doesn't exist. Refuses a file that other users can read or
 * replace.
 */
async function readSecretFile(path: string): Promise<Secret | null> {
  await refuseOpenDirectory(dirname(path), { code: 'unauthorized' })
  const content = readPrivateText(path, { code: 'unauthorized' })
  if (content === null) return null
  const text = content.replace(/\r?\n$/, '')
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return new Secret(text)
  throw new GdnError('unauthorized', `${path} has no valid API key: one line of printable characters is expected`)
}

/** Returns whether `backend.yaml` was changed after the running backend started. */
export async function isConfigNewer(dataDir: string): Promise<boolean> {
  const changedAt = async (file: string) => (await stat(join(dataDir, file)).catch(() => null))?.mtimeMs
  const [config, record] = [await changedAt('backend.yaml'), await changedAt(RECORD_FILE)]
  return config !== undefined && record !== undefined && config > record
}
