import { join } from 'node:path'
import { newId } from '../../core/ids.ts'
import { Secret } from '../../core/secret.ts'
import { createPrivateFile, readPrivateFile } from '../data-dir/private-file.ts'
import { firstAccountId, insertAccount } from '../store/accounts.ts'
import type { Store } from '../store/open-store.ts'
import { findCaller, newApiKey, registerApiKey } from './authenticate.ts'

const FILE = 'api-key'

/**
 * The data dir's own account and its key, made on first start with every permission. The key is in a 0600 file;
 * a file that was removed gives a new key.
 */
export async function openLocalAccount(store: Store, dataDir: string, now: number): Promise<Secret> {
  const path = join(dataDir, FILE)
  let text = (await readPrivateFile(path))?.trim() ?? ''
  if (text === '') {
    text = newApiKey().reveal()
    await createPrivateFile(path, `${text}\n`)
  }
  const key = new Secret(text)
  if ((await findCaller(store.db, key, now)) !== null) return key
  await store.transaction(async (db) => {
    const known = await firstAccountId(db)
    const accountId = known ?? newId()
    if (known === null) await insertAccount(db, { id: accountId, email: null, created_at: now })
    await registerApiKey(db, { key, accountId, name: 'local', now })
  })
  return key
}
