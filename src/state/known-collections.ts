import type { Blockchain } from '../api/blockchains.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { queryStateIfReadable } from './glance.ts'

/** A collection that was created from this machine. The API can't list collections, so the state records them. */
export interface KnownCollection {
  transaction_gdn_id: string
  contract_address: string | null
  name: string
  blockchain: Blockchain
  wallet_address: string
  created_at: string
}

export interface KnownCollectionOfServer extends KnownCollection {
  /** Identifies the server; see `runOrigin`. */
  origin: string
  /** The server's last known URL. */
  url: string | null
}

/** Returns the known collections of every server, oldest first. */
export const listKnownCollections = (sql: Pick<Sql, 'all'>): KnownCollectionOfServer[] =>
  sql.all(
    `SELECT s.origin, s.url, k.transaction_gdn_id, k.contract_address, k.name, k.blockchain, k.wallet_address,
        k.created_at FROM known_collections k JOIN servers s ON s.id = k.server_id
      ORDER BY k.created_at, k.transaction_gdn_id`,
  )

/** Adds a collection, or replaces its record. */
export function storeKnownCollection(
  sql: Sql,
  { origin, url }: Pick<KnownCollectionOfServer, 'origin' | 'url'>,
  collection: KnownCollection,
): void {
  // Remove the URL from the records of other servers. Only one server can listen at a URL, and another local backend
  // may have used the port before.
  sql.run('UPDATE servers SET url = NULL WHERE url = ?', url)
  sql.run(
    'INSERT INTO servers (origin, url) VALUES (?, ?) ON CONFLICT (origin) DO UPDATE SET url = excluded.url',
    origin,
    url,
  )
  const { transaction_gdn_id, contract_address, name, blockchain, wallet_address, created_at } = collection
  sql.run(
    'INSERT OR REPLACE INTO known_collections SELECT id, ?, ?, ?, ?, ?, ? FROM servers WHERE origin = ?',
    transaction_gdn_id,
    contract_address,
    name,
    blockchain,
    wallet_address,
    created_at,
    origin,
  )
}

/** Deletes the collections of a server whose data was deleted. */
export function forgetCollections(sql: Sql, origin: string): void {
  sql.run('DELETE FROM known_collections WHERE server_id IN (SELECT id FROM servers WHERE origin = ?)', origin)
}

/** The names of a run, used for suggestions. */
export interface RunName {
  id: string
  name: string
  /** The value of `--run`. */
  runName: string | null
  manifest: string | null
  blockchain: string
  startedAt: string
}

/** Returns the names of the newest runs, newest first. */
export function runNames(stateDir: string, atMost: number): RunName[] {
  const rows = queryStateIfReadable(stateDir, (sql) => newestRuns(sql, atMost))
  return rows.map((row) => ({ ...row, startedAt: new Date(row.startedAt).toISOString() }))
}

const newestRuns = (sql: Pick<Sql, 'all'>, atMost: number): (Omit<RunName, 'startedAt'> & { startedAt: number })[] =>
  sql.all(
    `SELECT r.id, r.name, d.run_name AS runName, d.manifest, c.blockchain, r.started_at AS startedAt
      FROM drops d JOIN runs r ON r.id = d.run_id JOIN collections c ON c.id = d.collection_id
      WHERE d.set_id IS NOT NULL ORDER BY r.started_at DESC LIMIT ?`,
    atMost,
  )
