import { credentialsFile } from '../../config/paths.ts'
import { forgetKeyringEntry, type KeyStorage, saveApiKey } from '../../config/saved-keys.ts'
import { messageOf } from '../../core/errors.ts'
import type { Secret } from '../../core/secret.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'

/**
 * Saves a key for a server in the system keyring, or in a file if the keyring doesn't work or the user chooses a file.
 */
export async function saveKey(
  { env, openKeyring, io }: Deps,
  origin: string,
  key: Secret,
  place?: KeyStorage,
): Promise<KeyStorage> {
  if (place !== 'file') {
    try {
      await saveApiKey(env, origin, key, await openKeyring())
      return 'keyring'
    } catch (error) {
      if (place === 'keyring') throw error
      io.debug(safe(`the key is saved in a file: ${messageOf(error)}`))
    }
  }
  // First remove an earlier key, while the credentials file still contains its location.
  await forgetKeyringEntry(env, origin, openKeyring).catch((error: unknown) =>
    io.warn(safe(`An earlier key for ${origin} remains in the system keyring: ${messageOf(error)}`)),
  )
  await saveApiKey(env, origin, key)
  return 'file'
}

/** Describes where a key is saved. */
export function describeKeyPlace({ env }: Pick<Deps, 'env'>, keptIn: KeyStorage): string {
  return keptIn === 'keyring' ? 'the system keyring' : `${credentialsFile(env)}, which only you can read`
}

const MAX_SHOWN_CHARS = 8

/** Returns the first characters of a key, at most a quarter of it. Different servers use different prefixes. */
export function maskedKey(key: Secret): string {
  const text = key.reveal()
  return `${text.slice(0, Math.min(MAX_SHOWN_CHARS, Math.floor(text.length / 4)))}…`
}
