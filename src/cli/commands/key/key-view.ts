import { isoTime } from '../../../core/time.ts'
import type { ApiKeyRecord } from '../../../server/services/api-keys.ts'
import type { DataRecord, View } from '../../render/view.ts'

export const KEY_VIEW: View = {
  fields: [
    ...['id', 'name', 'email', 'prefix', 'permissions', 'api_version', 'status'],
    ...['created_at', 'expires_at', 'revoked_at'],
  ],
  columns: ['prefix', 'name', 'email', 'permissions', 'status', 'expires_at'],
  id: 'id',
}

/** Returns the record of a key, with times in ISO 8601. */
export function keyRecord({ apiVersion, createdAt, expiresAt, revokedAt, ...rest }: ApiKeyRecord): DataRecord {
  const times = { created_at: isoTime(createdAt), expires_at: isoTime(expiresAt), revoked_at: isoTime(revokedAt) }
  return { ...rest, api_version: apiVersion, ...times }
}
