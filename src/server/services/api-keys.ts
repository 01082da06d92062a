import { PERMISSIONS, type Permission } from '../../api/permissions.ts'
import type { ApiVersion } from '../../api/versions.ts'
import { GdnError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { quoted } from '../../core/quoted.ts'
import { Secret } from '../../core/secret.ts'
import {
  findNamedApiKeys,
  findOrCreateAccountId,
  type ListedApiKey,
  listApiKeys,
  revokeApiKey,
} from '../store/accounts.ts'
import type { Store } from '../store/open-store.ts'
import { hashKey, keyPrefix, newApiKey, registerApiKey } from './authenticate.ts'

/** An API key without its secret part. Times are milliseconds since the epoch. */
export interface ApiKeyRecord {
  id: string
  name: string
  /** E-mail address of the account. Null for the local account's own key. */
  email: string | null
  /** The first characters of the key. */
  prefix: string
  permissions: Permission[]
  /** The API version for requests with this key. Null means the server's version. */
  apiVersion: ApiVersion | null
  status: 'active' | 'expired' | 'revoked'
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
}

function toStatus({ revoked_at, expires_at }: ListedApiKey, now: number): ApiKeyRecord['status'] {
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
    apiVersion: row.api_version,
    status: toStatus(row, now),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}

export interface ApiKeyRequest {
  name: string
  /** E-mail address of the owner's account. The account is created if it doesn't exist. */
  email: string
  permissions: readonly Permission[]
  /** Time of expiry in milliseconds. Null if the key doesn't expire. */
  expiresAt: number | null
  /** The API version for requests with this key. Default: null, which means the server's version. */
  apiVersion?: ApiVersion | null
  now: number
}

/** Creates a key. Only its hash is stored, so the key can't be returned again. */
export async function createApiKey(
  store: Store,
  { name, email: typedEmail, permissions, ...rest }: ApiKeyRequest,
): Promise<{ key: Secret; record: ApiKeyRecord }> {
  const { now } = rest
  const key = newApiKey()
  const email = typedEmail.toLowerCase()
  const inOrder = PERMISSIONS.filter((permission) => permissions.includes(permission))
  const row = await store.transaction(async (db) => {
    const accountId = await findOrCreateAccountId(db, { id: newId(), email, created_at: now })
    return registerApiKey(db, { key, accountId, name, permissions: inOrder, ...rest })
  })
  return { key, record: toRecord({ ...row, email }, now) }
}

/** Lists the keys of all accounts, oldest first. */
export async function getApiKeys({ db }: Store, now: number): Promise<ApiKeyRecord[]> {
  return (await listApiKeys(db)).map((row) => toRecord(row, now))
}

/**
 * Revokes a key by its ID or prefix, or by the key itself, for example after a leak. A running backend rejects the key
 * from the next request on. Revoking a revoked key has no effect.
 *
 * @throws GdnError `not_found_locally`; `usage` if a prefix matches several keys
 */
export async function revokeNamedApiKey(store: Store, argument: string, now: number): Promise<ApiKeyRecord> {
  const [row, ...otherRows] = await findNamedApiKeys(store.db, {
    word: argument,
    hash: hashKey(new Secret(argument, { known: false })),
  })
  // The argument may be a key, so errors quote only its public part.
  const shownKey = argument.startsWith('gdn_') ? keyPrefix(argument) : argument
  if (row === undefined) {
    throw new GdnError('not_found_locally', `this backend has no API key ${quoted(shownKey)}`, {
      hint: 'Run `gdn key list` to list IDs and prefixes, or check --data-dir.',
    })
  }
  if (otherRows.length > 0) {
    throw new GdnError('usage', `${otherRows.length + 1} API keys begin with ${quoted(shownKey)}`, {
      hint: `Pass one of the IDs: ${[row, ...otherRows].map(({ id }) => id).join(', ')}.`,
    })
  }
  await revokeApiKey(store.db, row.id, now)
  return toRecord({ ...row, revoked_at: row.revoked_at ?? now }, now)
}
