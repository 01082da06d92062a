import { dirname } from 'node:path'
import { GdnError, messageOf } from '../core/errors.ts'
import { readPrivateFile, refuseOpenDirectory } from '../core/private-file.ts'
import { Secret } from '../core/secret.ts'
import { parseStrictJson } from '../core/strict-json.ts'
import type { Keyring, OpenKeyring } from './keyring.ts'
import { credentialsFile } from './paths.ts'
import { decodeUtf8 } from './read-text.ts'
import type { Credentials } from './schema.ts'
import { writePrivately } from './write-user-file.ts'

const MAX_CREDENTIALS_BYTES = 1024 * 1024

/** The place where a key is stored: the credentials file, or the system keyring with a note in the credentials file. */
export type KeyStorage = 'file' | 'keyring'

/** Returns the origins with saved keys and where each key is stored. Doesn't open the keyring. */
export async function listSavedOrigins(env: NodeJS.ProcessEnv): Promise<{ origin: string; keptIn: KeyStorage }[]> {
  return Object.entries(await readCredentials(env)).map(([origin, saved]) => ({
    origin,
    keptIn: typeof saved === 'string' ? 'file' : 'keyring',
  }))
}

/**
 * Returns the key saved for exactly this origin. Opens the keyring only if the key is in the keyring according to the
 * credentials file.
 */
export async function readSavedApiKey(
  env: NodeJS.ProcessEnv,
  origin: string,
  openKeyring: OpenKeyring,
): Promise<Secret | null> {
  const keys = await readCredentials(env)
  const saved = Object.hasOwn(keys, origin) ? keys[origin] : undefined
  if (saved === undefined) return null
  if (typeof saved === 'string') return new Secret(saved)
  const key = await (await openKeyring().catch(rethrowKeyringError(origin)))
    .get(origin)
    .catch(rethrowKeyringError(origin))
  if (key !== null) return key
  throw new GdnError('unauthorized', `the system keyring no longer has an API key for ${origin}`, {
    hint: `Run \`gdn auth login --base-url ${origin}\` to save the key again.`,
  })
}

function rethrowKeyringError(origin: string): (error: unknown) => never {
  return (cause) => {
    const reason = cause instanceof GdnError ? cause.message : `can't read the system keyring: ${messageOf(cause)}`
    throw new GdnError('unauthorized', `the API key for ${origin} is stored in the system keyring: ${reason}`, {
      hint: `Unlock the keyring, set GDN_API_KEY, or run \`gdn auth login --store file --base-url ${origin}\` to save the key in a file.`,
      cause,
    })
  }
}

/**
 * Saves a key for an origin in the keyring if one is given, or else in a file that only its owner may read. Replaces an
 * older key in the file.
 */
export async function saveApiKey(
  env: NodeJS.ProcessEnv,
  origin: string,
  key: Secret,
  keyring: Keyring | null = null,
): Promise<void> {
  const keys = await readCredentials(env)
  if (keyring !== null) {
    await keyring.set(origin, key)
    // In some sessions, the keyring accepts a key but loses it immediately.
    if ((await keyring.get(origin))?.reveal() !== key.reveal()) throw new Error('it did not store the key')
  }
  await writeCredentials(env, { ...keys, [origin]: keyring === null ? key.reveal() : { kept_in: 'keyring' } })
}

/** Removes the key of an origin. Returns where the key was stored, or null if there was none. */
export async function forgetApiKey(
  env: NodeJS.ProcessEnv,
  origin: string,
  openKeyring: OpenKeyring,
): Promise<KeyStorage | null> {
  const { [origin]: saved, ...remaining } = await readCredentials(env)
  if (saved === undefined) return null
  await forgetKeyringEntry(env, origin, openKeyring).catch(rethrowKeyringError(origin))
  await writeCredentials(env, remaining)
  return typeof saved === 'string' ? 'file' : 'keyring'
}

/** Removes the key of an origin from the keyring if the key is there according to the credentials file. */
export async function forgetKeyringEntry(
  env: NodeJS.ProcessEnv,
  origin: string,
  openKeyring: OpenKeyring,
): Promise<void> {
  const keys = await readCredentials(env)
  if (typeof keys[origin] === 'object') await (await openKeyring()).remove(origin)
}

async function readCredentials(env: NodeJS.ProcessEnv): Promise<Credentials> {
  const path = credentialsFile(env)
  const bytes = readPrivateFile(path, { maxBytes: MAX_CREDENTIALS_BYTES, looseCode: 'unauthorized' })
  if (bytes === null) return {}
  await refuseOpenDirectory(dirname(path))
  const text = decodeUtf8(bytes, path, 'invalid_config')
  const { parseCredentials } = await import('./schema.ts')
  return parseCredentials(parseStrictJson(text, path, 'invalid_config'), path)
}

async function writeCredentials(env: NodeJS.ProcessEnv, keys: Credentials): Promise<void> {
  const path = credentialsFile(env)
  await refuseOpenDirectory(dirname(path))
  await writePrivately(path, `${JSON.stringify(keys, null, 2)}\n`)
}
