import type { Permission } from '../../../api/permissions.ts'
import type { ApiVersion } from '../../../api/versions.ts'
import type { DataRecord } from '../../render/cells.ts'
import type { View } from '../../render/view.ts'

/** The displayed properties of a key. The key itself is displayed only once, when it is created. */
interface ShownKey {
  id: string
  name: string
  email: string | null
  prefix: string
  permissions: readonly Permission[]
  apiVersion: ApiVersion | null
  status: string
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
}

export const KEY_VIEW: View = {
  fields: [
    ...['id', 'name', 'email', 'prefix', 'permissions', 'api_version', 'status'],
    ...['created_at', 'expires_at', 'revoked_at'],
  ],
  columns: ['prefix', 'name', 'email', 'permissions', 'status', 'expires_at'],
  id: 'id',
}

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

/** Returns the record of a key, with times in ISO 8601. */
export function keyRecord({ apiVersion, createdAt, expiresAt, revokedAt, ...rest }: ShownKey): DataRecord {
  const times = { created_at: time(createdAt), expires_at: time(expiresAt), revoked_at: time(revokedAt) }
  return { ...rest, api_version: apiVersion, ...times }
}
