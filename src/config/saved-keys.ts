import { dirname } from 'node:path'
import { GdnError, messageOf } from '../core/errors.ts'
import { readPrivateFile, refuseOpenFolder } from '../core/private-file.ts'
import { Secret } from '../core/secret.ts'
import { parseStrictJson } from '../core/strict-json.ts'
import type { Keyring, OpenKeyring } from './keyring.ts'
import { credentialsFile } from './paths.ts'
import { decodeUtf8 } from './read-text.ts'
import type { Credentials } from './schema.ts'
import { writePrivately } from './write-user-file.ts'

const MAX_BYTES = 1024 * 1024

/** Where a key is kept: in the credentials file itself, or in the system keyring, of which the file holds a note. */
export type KeptIn = 'file' | 'keyring'

/** The origins that keys are saved for, and where each is kept. No keyring is opened for this. */
export async function savedOrigins(env: NodeJS.ProcessEnv): Promise<{ origin: string; keptIn: KeptIn }[]> {
  return Object.entries(await readCredentials(env)).map(([origin, saved]) => ({
    origin,
    keptIn: typeof saved === 'string' ? 'file' : 'keyring',
  }))
}

/** The key saved for an origin, and for no other. The keyring is opened only where the key is known to be in it. */
export async function savedApiKey(
  env: NodeJS.ProcessEnv,
  origin: string,
  openKeyring: OpenKeyring,
): Promise<Secret | null> {
  const keys = await readCredentials(env)
  const saved = Object.hasOwn(keys, origin) ? keys[origin] : undefined
  if (saved === undefined) return null
  if (typeof saved === 'string') return new Secret(saved)
  const key = await (await openKeyring().catch(outOfReach(origin))).get(origin).catch(outOfReach(origin))
  if (key !== null) return key
  throw new GdnError('unauthorized', `the system keyring has no API key for ${origin} any more`, {
    hint: `gdn auth login --base-url ${origin} saves it again`,
  })
}

function outOfReach(origin: string): (error: unknown) => never {
  return (cause) => {
    const reason = cause instanceof GdnError ? cause.message : `the system keyring can't be read: ${messageOf(cause)}`
    throw new GdnError('unauthorized', `the API key for ${origin} is kept in the system keyring, and ${reason}`, {
      hint: `unlock it, set GDN_API_KEY, or save the key in a file: gdn auth login --store file --base-url ${origin}`,
      cause,
    })
  }
}

/**
 * Saves a key for an origin: in the keyring, where one is given, else in a file that only its owner may read. What was
 * kept for it elsewhere is gone afterwards.
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
    // A keyring that took it and doesn't have it would lose it: some sessions have one that forgets at once.
    if ((await keyring.get(origin))?.reveal() !== key.reveal()) throw new Error('it did not keep what was put into it')
  }
  await writeCredentials(env, { ...keys, [origin]: keyring === null ? key.reveal() : { kept_in: 'keyring' } })
}

/** Forgets the key of an origin, wherever it is. @returns where it was; null: there was none */
export async function forgetApiKey(
  env: NodeJS.ProcessEnv,
  origin: string,
  openKeyring: OpenKeyring,
): Promise<KeptIn | null> {
  const { [origin]: saved, ...others } = await readCredentials(env)
  if (saved === undefined) return null
  if (typeof saved !== 'string') {
    await (await openKeyring().catch(outOfReach(origin))).remove(origin).catch(outOfReach(origin))
  }
  await writeCredentials(env, others)
  return typeof saved === 'string' ? 'file' : 'keyring'
}

async function readCredentials(env: NodeJS.ProcessEnv): Promise<Credentials> {
  const path = credentialsFile(env)
  const bytes = readPrivateFile(path, { maxBytes: MAX_BYTES, looseCode: 'unauthorized' })
  if (bytes === null) return {}
  await refuseOpenFolder(dirname(path))
  const text = decodeUtf8(bytes, path, 'invalid_config')
  const { parseCredentials } = await import('./schema.ts')
  return parseCredentials(parseStrictJson(text, path, 'invalid_config'), path)
}

async function writeCredentials(env: NodeJS.ProcessEnv, keys: Credentials): Promise<void> {
  const path = credentialsFile(env)
  await refuseOpenFolder(dirname(path))
  await writePrivately(path, `${JSON.stringify(keys, null, 2)}\n`)
}
