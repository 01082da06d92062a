import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { GdnError } from '../core/errors.ts'
import { fileIdentity } from '../core/file-identity.ts'
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
}

const record = z.looseObject({
  pid: z.int().positive(),
  url: z.url(),
  process_started: z.string().nullable(),
  boot_id: z.string().nullable(),
  /** Of the data directory; an older gdn doesn't write it. */
  folder: z.string().optional(),
})

/**
 * The backend that serves from `dataDir` now, or null: what a killed one wrote down is not believed, nor what was copied
 * with the folder of another.
 */
export async function runningBackend(dataDir: string): Promise<RunningBackend | null> {
  const text = await readFile(join(dataDir, RECORD), 'utf8').catch(() => '')
  const parsed = record.safeParse(parseJson(text))
  if (!parsed.success) return null
  const { pid, url, process_started: startedAt, boot_id: bootId, folder } = parsed.data
  if (folder !== undefined && folder !== (await fileIdentity(dataDir).catch(() => null))) return null
  return (await isAlive({ pid, startedAt, bootId })) ? { url, pid } : null
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The port on which the local backend served the last time: wallets and scripts have its address. */
export async function lastPort(dataDir: string): Promise<string | null> {
  const text = (await readFile(join(dataDir, PORT), 'utf8').catch(() => '')).trim()
  return /^[1-9]\d{0,4}$/.test(text) ? text : null
}

export async function rememberPort(dataDir: string, url: string): Promise<void> {
  await writePrivateFile(join(dataDir, PORT), `${new URL(url).port}\n`)
}

/** Whether a directory is one that a backend of ours made: nothing else may be deleted by `local reset`. */
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

/** The local account's API key, which the backend keeps in a file that only its owner may read. */
export async function localApiKey(dataDir: string): Promise<Secret> {
  const key = await localApiKeyIfThere(dataDir)
  if (key !== null) return key
  throw new GdnError('unauthorized', "the local backend's key file is gone", {
    hint: 'gdn local stop, then gdn local start, makes it anew',
    place: { file: localApiKeyFile(dataDir) },
  })
}

/** As localApiKey; null where no backend was ever started. */
export async function localApiKeyIfThere(dataDir: string): Promise<Secret | null> {
  return await readSecretFile(localApiKeyFile(dataDir))
}

/** Where the local account's key is kept. */
export function localApiKeyFile(dataDir: string): string {
  return join(dataDir, KEY)
}

/** Reads a file of ours that holds one API key, or null where there is none; one that others may read, or could replace, is refused. */
async function readSecretFile(path: string): Promise<Secret | null> {
  await refuseOpenFolder(dirname(path), { code: 'unauthorized' })
  const found = readPrivateText(path, { code: 'unauthorized' })
  if (found === null) return null
  const text = found.replace(/\r?\n$/, '')
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return new Secret(text)
  throw new GdnError('unauthorized', `${path} doesn't hold an API key: one line of printable characters is expected`)
}
