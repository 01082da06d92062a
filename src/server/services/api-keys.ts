import { PERMISSIONS, type Permission } from '../../api/permissions.ts'
import { GdnError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { Secret } from '../../core/secret.ts'
import { accountOfEmail, findNamedApiKeys, type ListedApiKey, listApiKeys, revokeApiKey } from '../store/accounts.ts'
import type { Store } from '../store/open-store.ts'
import { hashKey, keyPrefix, newApiKey, registerApiKey } from './authenticate.ts'

/** An API key as it may be shown. Times are milliseconds since the epoch. */
export interface ApiKeyRecord {
  id: string
  name: string
  /** Null for the local account's own key. */
  email: string | null
  /** The first characters of the key. */
  prefix: string
  permissions: Permission[]
  status: 'active' | 'expired' | 'revoked'
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
}

function statusOf({ revoked_at, expires_at }: ListedApiKey, now: number): ApiKeyRecord['status'] {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at <= now ? 'expired' : 'active'
}

function toRecord(row: ListedApiKey, now: number): ApiKeyRecord {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    prefix: row.prefix,
    permissions: JSON.parse(row.permissions) as Permission[],
    status: statusOf(row, now),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}

export interface ApiKeyRequest {
  name: string
  /** Whose account the key is for; the account is made if it is new. */
  email: string
  permissions: readonly Permission[]
  /** Null: never. */
  expiresAt: number | null
  now: number
}

/** Makes a key. It is known here and never again: what is stored is its hash. */
export async function createApiKey(
  store: Store,
  { name, email: given, permissions, expiresAt, now }: ApiKeyRequest,
): Promise<{ key: Secret; record: ApiKeyRecord }> {
  const key = newApiKey()
  const email = given.toLowerCase()
  const inOrder = PERMISSIONS.filter((permission) => permissions.includes(permission))
  const row = await store.transaction(async (db) => {
    const accountId = await accountOfEmail(db, { id: newId(), email, created_at: now })
    return registerApiKey(db, { key, accountId, name, now, permissions: inOrder, expiresAt })
  })
  return { key, record: toRecord({ ...row, email }, now) }
}

/** Every key of every account, oldest first. */
export async function getApiKeys({ db }: Store, now: number): Promise<ApiKeyRecord[]> {
  return (await listApiKeys(db)).map((row) => toRecord(row, now))
}

/**
 * Revokes the key of an id or a prefix, or a key itself (one that was found where it shouldn't be). A running backend
 * refuses it from its next request on. Revoking twice is no error.
 *
 * @throws GdnError `not_found_locally`; `usage` where a prefix names several keys.
 */
export async function revokeNamedApiKey(store: Store, word: string, now: number): Promise<ApiKeyRecord> {
  const [row, ...others] = await findNamedApiKeys(store.db, { word, hash: hashKey(new Secret(word, { known: false })) })
  // The word may be a key: no more of it is repeated than what may be shown.
  const shown = word.startsWith('gdn_') ? keyPrefix(word) : word
  if (row === undefined) {
    throw new GdnError('not_found_locally', `there is no API key ${JSON.stringify(shown)} here`, {
      hint: 'gdn key list shows ids and prefixes; see --data-dir',
    })
  }
  if (others.length > 0) {
    throw new GdnError('usage', `${others.length + 1} API keys begin with ${JSON.stringify(shown)}`, {
      hint: `name one by its id: ${[row, ...others].map(({ id }) => id).join(', ')}`,
    })
  }
  await revokeApiKey(store.db, row.id, now)
  return toRecord({ ...row, revoked_at: row.revoked_at ?? now }, now)
}
