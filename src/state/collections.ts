import type { Blockchain } from '../api/blockchains.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { readCounter } from './seal.ts'

/** Returns the ID of a server in the state. Adds the server if it is new. */
export function findOrAddServer(sql: Sql, origin: string): number {
  sql.run('INSERT INTO servers (origin) VALUES (?) ON CONFLICT DO NOTHING', origin)
  return requireInsertedId(sql.get('SELECT id FROM servers WHERE origin = ?', origin))
}

/**
 * Returns the ID of a collection in the state; null if its blockchain or address is null. Adds the collection if it is
 * new.
 */
export function findOrAddCollection(
  sql: Sql,
  server: number,
  { blockchain, contract }: { blockchain: Blockchain | null; contract: string | null },
): number | null {
  if (blockchain === null || contract === null) return null
  const address = toAddressKey(contract)
  sql.run(
    'INSERT INTO collections (server_id, blockchain, address, checked_epoch) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING',
    server,
    blockchain,
    address,
  )
  return requireInsertedId(
    sql.get(
      'SELECT id FROM collections WHERE server_id = ? AND blockchain = ? AND address = ?',
      server,
      blockchain,
      address,
    ),
  )
}

/** Returns all IDs of a collection in the state. A collection has several IDs if its backend has several URLs. */
export function listCollectionIds(
  sql: Sql,
  {
    origin,
    backendId,
    blockchain,
    contract,
  }: { origin: string; backendId: string | null; blockchain: Blockchain; contract: string },
): number[] {
  return sql
    .all<{ id: number }>(
      `SELECT c.id FROM collections c JOIN servers s ON s.id = c.server_id
        WHERE c.blockchain = ? AND c.address = ? AND (s.origin = ?
          OR EXISTS (SELECT 1 FROM drops d WHERE d.collection_id = c.id AND d.backend_id = ?))`,
      blockchain,
      toAddressKey(contract),
      origin,
      backendId,
    )
    .map(({ id }) => id)
}

/** A backend on this machine that has a collection. */
export interface BackendOfCollection {
  origin: string
  id: string
  /** The server's last known URL. */
  url: string | null
}

/**
 * Returns the backends on this machine that created a collection or accepted a request for it, newest first.
 *
 * @param prefix the part of a backend's origin before the backend's ID
 */
export function listBackendsOfCollection(
  sql: Pick<Sql, 'all'>,
  prefix: string,
  address: string,
): BackendOfCollection[] {
  const key = toAddressKey(address)
  return sql.all(
    `SELECT s.origin, substr(s.origin, ?) AS id, coalesce(s.url, (SELECT d.backend_url FROM drops d
        JOIN collections c ON c.id = d.collection_id WHERE c.server_id = s.id AND c.address = ? LIMIT 1)) AS url
      FROM servers s WHERE s.origin LIKE ? || '%' AND (
        EXISTS (SELECT 1 FROM collections c JOIN operations o ON o.collection_id = c.id
          WHERE c.server_id = s.id AND c.address = ? AND o.state IN ('accepted', 'deployed'))
        OR EXISTS (SELECT 1 FROM known_collections k
          WHERE k.server_id = s.id AND ? IN (k.contract_address, lower(k.contract_address))))
      ORDER BY s.id DESC`,
    prefix.length + 1,
    key,
    prefix,
    key,
    key,
  )
}

export const toAddressKey = (address: string): string => (/^0x/i.test(address) ? address.toLowerCase() : address)

/** Returns the ID of a row that was just written. */
export const requireInsertedId = (row: { id?: number } | undefined): number => {
  if (row?.id === undefined) throw new Error('a row that was just written is missing')
  return row.id
}

/** The reason why a state was recognized as a copy, and whether a collection has been compared since then. */
export interface CopiedState {
  reason: string
  epoch: number
  isCompared: boolean
}

/** Returns why the state was last recognized as a copy; null if it was never recognized as a copy. */
export function copiedState(sql: Sql, collection: number): CopiedState | null {
  const row = sql.get<{ copied_because: string | null; epoch: number; checked_epoch: number }>(
    'SELECT copied_because, epoch, checked_epoch FROM state, collections c WHERE c.id = ? AND epoch > 0',
    collection,
  )
  if (row === undefined) return null
  return { reason: row.copied_because ?? '', epoch: row.epoch, isCompared: row.checked_epoch >= row.epoch }
}

/** Records that every NFT of a collection has been compared since an epoch began. */
export function markCompared(sql: Sql, collection: number, epoch: number): void {
  sql.run('UPDATE collections SET checked_epoch = max(checked_epoch, ?) WHERE id = ?', epoch, collection)
}

/** Returns the given NFT IDs that belong to no operation and whose content isn't known. */
export function listUncompared(sql: Sql, collection: number, ids: Iterable<string>): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT value AS id FROM json_each(?) WHERE value NOT IN (SELECT nft_gdn_id FROM nfts) AND NOT EXISTS (
        SELECT 1 FROM known_nfts k WHERE k.collection_id = ? AND k.nft_gdn_id = value AND k.content IS NOT NULL)`,
      JSON.stringify([...ids]),
      collection,
    )
    .map(({ id }) => id)
}

/** Stores the content hashes of NFTs. */
export function storeContents(sql: Sql, collection: number, contents: readonly (readonly [string, string])[]): void {
  const { counter } = readCounter(sql)
  for (const [id, content] of contents) {
    sql.run(
      'INSERT INTO known_nfts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET content = excluded.content',
      collection,
      id,
      counter,
      content,
    )
  }
}

/** Returns the NFTs that have one of these content hashes and belong to no operation. */
export function findNftsWithContents(sql: Sql, collection: number, contents: readonly string[]): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT nft_gdn_id AS id FROM known_nfts WHERE collection_id = ? AND content IN (SELECT value FROM json_each(?))
        AND nft_gdn_id NOT IN (SELECT nft_gdn_id FROM nfts)`,
      collection,
      JSON.stringify(contents),
    )
    .map(({ id }) => id)
}
