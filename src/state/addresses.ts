import type { Sql } from '../sqlite/shared-database.ts'

/** An address with the name that `gdn wallet add` saved for it. */
export interface SavedAddress {
  name: string
  address: string
  /** Milliseconds since the epoch. */
  created_at: number
}

/** Returns all saved addresses, ordered by name. */
export const savedAddresses = (sql: Pick<Sql, 'all'>): SavedAddress[] =>
  sql.all('SELECT name, address, created_at FROM addresses ORDER BY name')

/**
 * Saves an address. If the name is taken, saves nothing and returns the address that has it; otherwise returns null.
 */
export function enterAddress(sql: Sql, { name, address, created_at }: SavedAddress): string | null {
  const taken = sql.get<SavedAddress>('SELECT address FROM addresses WHERE name = ?', name)
  if (taken === undefined) sql.run('INSERT INTO addresses VALUES (?, ?, ?)', name, address, created_at)
  return taken?.address ?? null
}

/** Deletes a saved address and returns it; null if the name doesn't exist. */
export function deleteAddress(sql: Sql, name: string): string | null {
  return sql.get<SavedAddress>('DELETE FROM addresses WHERE name = ? RETURNING address', name)?.address ?? null
}
