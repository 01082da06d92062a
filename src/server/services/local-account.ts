import { join } from 'node:path'
import { PERMISSIONS } from '../../api/permissions.ts'
import { newId } from '../../core/ids.ts'
import { readPrivateText, writePrivateFile } from '../../core/private-file.ts'
import { Secret } from '../../core/secret.ts'
import { findApiKey, insertAccount, localAccountId, updateApiKey } from '../store/accounts.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'
import { type Caller, findCaller, hashKey, newApiKey, registerApiKey } from './authenticate.ts'

const API_KEY_FILE = 'api-key'

/**
 * Returns the key of the data directory's local account. The first start creates the account, and a key with all
 * permissions. The key is stored in a file with mode 0600. If the file was removed or the key was revoked, creates a
 * new key.
 */
export async function openLocalAccount(store: Store, dataDir: string, now: number): Promise<Secret> {
  return await store.transaction(async (db) => {
    // Acquire a lock, because processes that share a directory or a database may start at the same time.
    await lockUntilCommit(db, 'local account')
    return await openIn(db, dataDir, now)
  })
}

/** Adds the permissions that are new in this version to the local account's key. */
async function grantAll(db: Db, { keyId, accountId, permissions }: Caller): Promise<void> {
  if (accountId !== (await localAccountId(db)) || PERMISSIONS.every((permission) => permissions.has(permission))) return
  await updateApiKey(db, keyId, { permissions: JSON.stringify(PERMISSIONS) })
}

async function openIn(db: Db, dataDir: string, now: number): Promise<Secret> {
  const path = join(dataDir, API_KEY_FILE)
  const text = readPrivateText(path, { code: 'data_dir' })?.trim() ?? ''
  let key = new Secret(text)
  const caller = text === '' ? null : await findCaller(db, key, now)
  if (caller !== null) {
    await grantAll(db, caller)
    return key
  }
  if (text === '' || (await findApiKey(db, hashKey(key))) !== null) {
    key = newApiKey()
    await writePrivateFile(path, `${key.reveal()}\n`)
  }
  const existingId = await localAccountId(db)
  const accountId = existingId ?? newId()
  if (existingId === null) await insertAccount(db, { id: accountId, email: null, created_at: now })
  await registerApiKey(db, { key, accountId, name: 'local', now })
  return key
}
