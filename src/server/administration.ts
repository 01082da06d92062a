import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { GdnError } from '../core/errors.ts'
import { openStore, type Store } from './store/open-store.ts'

/**
 * Works on the database of a data dir, beside its running backend or while there is none: the data dir's lock is not
 * taken. The database must be there, and of this version.
 *
 * @throws GdnError `data_dir`.
 */
export async function administrate<Result>(dataDir: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const path = join(resolve(dataDir), 'gdn.db')
  try {
    await access(path)
  } catch (cause) {
    throw new GdnError('data_dir', `${dataDir} holds no backend's database`, {
      hint: 'start the backend once (gdn serve, gdn local start), or name its folder with --data-dir',
      cause,
    })
  }
  const store = await openStore(path, { beside: true })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
