import { PERMISSIONS, type Permission } from '../../src/api/permissions.ts'
import type { ApiVersion } from '../../src/api/versions.ts'
import { withDatabase } from '../../src/server/open-database.ts'
import { type ApiKeyRecord, createApiKey, revokeNamedApiKey } from '../../src/server/services/api-keys.ts'
import { placeOf } from './test-database.ts'

export interface TestKey extends ApiKeyRecord {
  key: string
  /** The key as request headers. */
  headers: { 'x-api-key': string }
}

interface KeyOptions {
  email?: string
  permissions?: readonly Permission[]
  /** Milliseconds since the epoch. */
  expiresAt?: number | null
  apiVersion?: ApiVersion | null
}

/** Creates a key beside the running backend, like `gdn key create`. */
export async function makeKey(
  dataDir: string,
  { email = 'shop@example.com', permissions = PERMISSIONS, expiresAt = null, apiVersion = null }: KeyOptions = {},
): Promise<TestKey> {
  const request = { name: 'test', email, permissions, expiresAt, apiVersion, now: Date.now() }
  const { key, record } = await withDatabase(await placeOf(dataDir), (store) => createApiKey(store, request))
  return { ...record, key: key.reveal(), headers: { 'x-api-key': key.reveal() } }
}

export async function revokeKey(dataDir: string, { id }: Pick<TestKey, 'id'>): Promise<void> {
  await withDatabase(await placeOf(dataDir), (store) => revokeNamedApiKey(store, id, Date.now()))
}
