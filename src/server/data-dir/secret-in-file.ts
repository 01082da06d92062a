import { join } from 'node:path'
import { readPrivateText, writePrivateFile } from '../../core/private-file.ts'
import type { Store } from '../store/open-store.ts'
import { findOrCreateSecret } from '../store/secrets.ts'

export interface SecretLocation {
  dataDir: string
  /** The secret's file name in the data directory. */
  file: string
  /** The shared store; null to use the data directory. */
  store: Pick<Store, 'db' | 'postgres'> | null
}

/**
 * Returns a secret that is generated on first use. The secret is stored in a file with mode 0600 in the data directory,
 * or in the database of a cluster. The first process of a cluster copies the secret from its file to the database.
 *
 * @returns the secret, and the name of its location for messages
 */
export async function readOrCreateSecret(
  { dataDir, file, store }: SecretLocation,
  make: () => string,
): Promise<{ text: string; place: string }> {
  const path = join(dataDir, file)
  if (store !== null && store.postgres !== null) {
    const text = await findOrCreateSecret(store.db, file, () => readPrivateText(path, { code: 'data_dir' }) ?? make())
    return { text, place: `${file} in ${store.postgres.name}` }
  }
  let text = readPrivateText(path, { code: 'data_dir' })
  if (text === null) {
    text = make()
    await writePrivateFile(path, text)
  }
  return { text, place: path }
}
