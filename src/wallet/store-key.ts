import { basename } from 'node:path'
import { isSameAddress } from '../api/same-address.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import type { Secret } from '../core/secret.ts'
import { MAX_KEYSTORE_BYTES } from '../keystore/limits.ts'
import { openKeystore } from '../keystore/open.ts'
import { readSecretFile } from '../keystore/private-file.ts'
import type { WalletKey } from '../keystore/private-key.ts'
import { prepareSeal } from '../keystore/seal.ts'
import { KEYSTORE_EXTENSION } from './folder.ts'
import type { NameReservation } from './reservation.ts'

/** A wallet whose keystore was written. */
export interface NewWallet extends WalletKey {
  name: string
  file: string
}

export interface StoreOptions {
  key: WalletKey
  reservation: NameReservation
  password: Secret
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
}

/**
 * Stores a key in an encrypted keystore. When the function returns, the keystore has been written, synced, read back
 * and decrypted. A failure loses nothing, because the key also exists elsewhere or nobody has its address yet.
 *
 * @throws GdnError `file_error` if the keystore can't be written
 */
export async function storeKey({ key, reservation, password, signal }: StoreOptions): Promise<NewWallet> {
  const { address, privateKey } = key
  try {
    const seal = await prepareSeal(password)
    try {
      signal.throwIfAborted()
      const text = seal.sealKeystore(privateKey, address)
      const file = await reservation.keep(text, (written) => verifyKeystore(written, password, address))
      return { ...key, name: basename(file, KEYSTORE_EXTENSION), file }
    } finally {
      seal.wipe()
    }
  } catch (error) {
    if (error instanceof GdnError) throw error
    throw new GdnError('file_error', `can't be written: ${messageOf(error)}`, {
      place: { file: reservation.path },
      cause: error,
    })
  } finally {
    await reservation.release().catch(() => {})
  }
}

/**
 * Reads the keystore back and opens it as a later command would.
 *
 * @throws if the keystore contains a different key
 */
export async function verifyKeystore(file: string, password: Secret, address: string): Promise<void> {
  const opened = await openKeystore(readSecretFile(file, MAX_KEYSTORE_BYTES), password, file)
  if (!isSameAddress(opened.address, address)) throw new Error(`${file} contains a different key than gdn wrote`)
}
