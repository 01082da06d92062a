import { credentialsFile } from '../../config/paths.ts'
import { type KeptIn, saveApiKey } from '../../config/saved-keys.ts'
import { messageOf } from '../../core/errors.ts'
import type { Secret } from '../../core/secret.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'

/** Saves a key for a server: in the system keyring where that works and isn't declined, else in a file. */
export async function keepKey(
  { env, openKeyring, io }: Deps,
  origin: string,
  key: Secret,
  wanted?: KeptIn,
): Promise<KeptIn> {
  if (wanted !== 'file') {
    try {
      await saveApiKey(env, origin, key, await openKeyring())
      return 'keyring'
    } catch (error) {
      if (wanted === 'keyring') throw error
      io.debug(safe(`the key goes to a file: ${messageOf(error)}`))
    }
  }
  await saveApiKey(env, origin, key)
  return 'file'
}

/** Where that is, in words. */
export function placeOfKey({ env }: Pick<Deps, 'env'>, keptIn: KeptIn): string {
  return keptIn === 'keyring' ? 'the system keyring' : `${credentialsFile(env)}, which only you may read`
}

const SHOWN = 8

/** The beginning of a key, enough to tell it from others: servers give their keys a prefix for that. Never more than a quarter. */
export function maskedKey(key: Secret): string {
  const text = key.reveal()
  return `${text.slice(0, Math.min(SHOWN, Math.floor(text.length / 4)))}…`
}
