import type { Permission } from '../../../api/permissions.ts'
import type { DataRecord } from '../../render/cells.ts'
import type { View } from '../../render/view.ts'

/** What of a key is shown: never the key, but once, when it is made. */
interface ShownKey {
  id: string
  name: string
  email: string | null
  prefix: string
  permissions: readonly Permission[]
  status: string
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
}

export const KEY_VIEW: View = {
  fields: ['id', 'name', 'email', 'prefix', 'permissions', 'status', 'created_at', 'expires_at', 'revoked_at'],
  columns: ['prefix', 'name', 'email', 'permissions', 'status', 'expires_at'],
  id: 'id',
}

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

/** A key's record, its times in ISO 8601. */
export function keyRecord({ createdAt, expiresAt, revokedAt, ...rest }: ShownKey): DataRecord {
  return { ...rest, created_at: time(createdAt), expires_at: time(expiresAt), revoked_at: time(revokedAt) }
}
