import type { Sql } from '../sqlite/shared-database.ts'

/** An address with the name that `gdn wallet add` saved for it. */
export interface SavedAddress {
  name: string
  address: string
  /** Creation time in milliseconds since the epoch. */
  created_at: number
}

/** Returns all saved addresses, ordered by name. */
export const savedAddresses = (sql: Pick<Sql, 'all'>): SavedAddress[] =>
  sql.all('SELECT name, address, created_at FROM addresses ORDER BY name')

/** Returns the address saved under `name`; null if there is none. */
export const savedAddress = (sql: Sql, name: string): string | null =>
  sql.get<SavedAddress>('SELECT address FROM addresses WHERE name = ?', name)?.address ?? null

/**
 * Saves an address under a name and returns null. If the name is already in use, saves nothing and returns the address
 * saved under it.
 */
export function addAddress(sql: Sql, { name, address, created_at }: SavedAddress): string | null {
  const saved = savedAddress(sql, name)
  if (saved === null) sql.run('INSERT INTO addresses VALUES (?, ?, ?)', name, address, created_at)
  return saved
}

/** Renames a saved address. The new name must be free. */
export const renameAddress = (sql: Sql, from: string, to: string): void => {
  sql.run('UPDATE addresses SET name = ? WHERE name = ?', to, from)
}

/** Deletes the address saved under `name` and returns it; null if there is none. */
export function deleteAddress(sql: Sql, name: string): string | null {
  return sql.get<SavedAddress>('DELETE FROM addresses WHERE name = ? RETURNING address', name)?.address ?? null
}
