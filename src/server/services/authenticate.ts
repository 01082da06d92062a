import { randomBytes } from 'node:crypto'
import { ERROR_TITLES } from '../../api/errors.ts'
import { PERMISSIONS, type Permission } from '../../api/permissions.ts'
import type { ApiVersion } from '../../api/versions.ts'
import { newId } from '../../core/ids.ts'
import { Secret } from '../../core/secret.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { type ApiKeyRow, findApiKey, findApiKeyById, insertApiKey } from '../store/accounts.ts'
import type { Db } from '../store/schema.ts'
import { Refusal } from './refusals.ts'

const PREFIX_LENGTH = 12

/** Returns the part of a key that may be stored and shown. */
export const keyPrefix = (key: string): string => key.slice(0, PREFIX_LENGTH)

/** The caller that a key authenticates. */
export interface Caller {
  keyId: string
  accountId: string
  permissions: ReadonlySet<Permission>
  /** The API version for requests with the key. Null means the server's version. */
  apiVersion: ApiVersion | null
}

export const hashKey = (key: Secret): string => sha256Hex(key.reveal())

/** Creates a random key of 256 bits. Its prefix lets secret scanners find a leaked key. */
export function newApiKey(): Secret {
  return new Secret(`gdn_${randomBytes(32).toString('base64url')}`)
}

export interface NewKey {
  key: Secret
  accountId: string
  name: string
  now: number
  /** The permissions of the key. Default: all of them. */
  permissions?: readonly Permission[]
  /** Time of expiry in milliseconds since the epoch. Default: the key doesn't expire. */
  expiresAt?: number | null
  /** The API version for requests with the key. Default: the server's version. */
  apiVersion?: ApiVersion | null
}

/** Stores the hash of a key for an account, and the key's first characters to identify it. */
export async function registerApiKey(
  db: Db,
  { key, accountId, name, now, permissions = PERMISSIONS, expiresAt = null, apiVersion = null }: NewKey,
): Promise<ApiKeyRow> {
  const row = {
    id: newId(),
    account_id: accountId,
    name,
    prefix: keyPrefix(key.reveal()),
    hash: hashKey(key),
    permissions: JSON.stringify(permissions),
    created_at: now,
    expires_at: expiresAt,
    revoked_at: null,
    api_version: apiVersion,
  }
  await insertApiKey(db, row)
  return row
}

/** Returns the caller that a key authenticates. Returns null for a key that is unknown, revoked or expired. */
export async function findCaller(db: Db, key: Secret, now: number): Promise<Caller | null> {
  return toCaller(await findApiKey(db, hashKey(key)), now)
}

/** Returns the caller of the key with this ID. Returns null for a key that is unknown, revoked or expired. */
export async function findCallerById(db: Db, keyId: string, now: number): Promise<Caller | null> {
  return toCaller(await findApiKeyById(db, keyId), now)
}

function toCaller(row: ApiKeyRow | null, now: number): Caller | null {
  if (row === null || row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= now)) return null
  return {
    keyId: row.id,
    accountId: row.account_id,
    permissions: new Set(JSON.parse(row.permissions) as Permission[]),
    apiVersion: row.api_version,
  }
}

/**
 * Returns the caller of a request.
 *
 * @throws Refusal 401 without a valid key, 403 without the permissions
 */
export async function authenticate(
  db: Db,
  header: string | undefined,
  { access, needs }: { access: readonly Permission[]; needs: 'all' | 'any' },
  now: number,
): Promise<Caller> {
  if (header === undefined || header === '') {
    throw new Refusal(401, ERROR_TITLES.unauthorized, 'the header x-api-key is missing')
  }
  const caller = await findCaller(db, new Secret(header, { known: false }), now)
  if (caller === null) throw new Refusal(401, ERROR_TITLES.unauthorized, 'the API key in x-api-key is not valid')
  const missingPermissions = access.filter((permission) => !caller.permissions.has(permission))
  if (needs === 'any' && missingPermissions.length === access.length) {
    throw new Refusal(403, ERROR_TITLES.forbidden, `the API key needs one of the permissions ${access.join(', ')}`)
  }
  if (needs === 'all' && missingPermissions.length > 0) {
    throw new Refusal(403, ERROR_TITLES.forbidden, `the API key lacks the permission ${missingPermissions.join(', ')}`)
  }
  return caller
}
