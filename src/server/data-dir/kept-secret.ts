import { join } from 'node:path'
import { readPrivateText, writePrivateFile } from '../../core/private-file.ts'
import type { Store } from '../store/open-store.ts'
import { keepSecret } from '../store/secrets.ts'

export interface SecretPlace {
  dataDir: string
  /** Its name in the data dir. */
  file: string
  /** Null: there is only the data dir. */
  store: Pick<Store, 'db' | 'postgres'> | null
}

/**
 * A secret that is made on first use: kept in a 0600 file of the data dir, or where several processes share a database,
 * in that. What stands in the file of the one who is first there goes into the database.
 *
 * @returns the secret, and what the place may be called in messages
 */
export async function keptSecret(
  { dataDir, file, store }: SecretPlace,
  make: () => string,
): Promise<{ text: string; place: string }> {
  const path = join(dataDir, file)
  if (store !== null && store.postgres !== null) {
    const text = await keepSecret(store.db, file, () => readPrivateText(path, { code: 'data_dir' }) ?? make())
    return { text, place: `${file} in ${store.postgres.name}` }
  }
  let text = readPrivateText(path, { code: 'data_dir' })
  if (text === null) {
    text = make()
    await writePrivateFile(path, text)
  }
  return { text, place: path }
}
