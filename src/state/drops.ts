import type { Blockchain } from '../api/blockchains.ts'
import { type LockHolder, parseHolder } from '../core/lock-holder.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { findOrAddCollection, findOrAddServer } from './collections.ts'
import { recordNftsOfRemovedRun } from './known-nfts.ts'

/** A drop: one run of a manifest in one collection. */
export interface Drop {
  id: string
  name: string
  /** The ID that all drops of one run share. */
  family: string
  /** Number of the drop: 1 for the first drop, 2 after `--again`, and so on. */
  generation: number
  collectionId: number
  origin: string
  blockchain: Blockchain
  /** The collection's address, spelled as it was given. */
  contract: string
  manifest: string | null
  runName: string | null
  /** The options with which the manifest was last read. */
  reading: Readonly<Record<string, unknown>>
  chunkSize: number
  inOrder: boolean
  /** Maximum total cost of the drop's transactions in wei; null without a limit. */
  maxCost: bigint | null
  /** The run's maximum gas price in wei; null without a limit. */
  maxFee: bigint | null
  /** Whether the drop's NFTs are dynamic. If so, rows without a sender are sent with creatednft. */
  dynamic: boolean
  /**
   * Maximum number of rows that the server accepts in one request; null if it has never rejected a request as too
   * large.
   */
  largest: number | null
  /** Whether the drop was started with `--again`, which allows it to repeat rows of other runs. */
  again: boolean
  /** The metadata key that contains each row's marker. */
  marker: string | null
  /** Prefix of the identities of the drop's operations. */
  scope: string
  /**
   * The scope of the drop's reference IDs. A reference ID is derived from this scope and the row's `reference`, or its
   * key if `reference` is null.
   */
  referenceScope: string
  /** The server's URL at the start of the run. */
  url: string
  /** The backend, according to its last response. */
  backend: { url: string; id: string | null; incarnation: string | null }
  /** The number of the last request that was sent before gdn detected the backend's most recent restore. */
  restoredAfter: number
  /** The state's counter when the collection was listed before the first request; null if there was no listing. */
  listedAt: number | null
  /** The row set of the run; null if the run hasn't begun. */
  setId: number | null
  /**
   * The row set with which the run began. As long as the run still has this set, each operation has the content of its
   * row in the set.
   */
  firstSet: number | null
  /** A fingerprint that changes if the manifest would be read as different rows; null if unknown. */
  fingerprint: string | null
  localFiles: readonly FileIdentity[]
  startedAt: number
  endedAt: number | null
  /** Time when an attempt to send rows last ended, with or without a response. */
  answeredAt: number | null
  holder: LockHolder | null
  beatAt: number
}

/** Returns whether the NFTs of a drop are minted with a placeholder until they are revealed. */
export const isUnrevealed = ({ reading }: Pick<Drop, 'reading'>): boolean => reading.provenance !== undefined

/** A list of receivers, as stored in the read options of a run. */
export interface StoredList {
  /** The real path, or the name of a group such as `@team`; null for standard input. */
  path: string | null
  merge: boolean
  skipsContracts: boolean
}

/** Returns the list that a run stored; null if the run has no list. */
export const readStoredList = ({ reading }: { reading: Readonly<Record<string, unknown>> }): StoredList | null =>
  (reading.list as StoredList | undefined) ?? null

/** Returns whether a drop mints a single row to each receiver of a list. */
export const isListDrop = ({ reading }: { reading: Readonly<Record<string, unknown>> }): boolean =>
  reading.list !== undefined

/** The identity of a local file when its row was read. */
export interface FileIdentity {
  path: string
  size: number
  mtimeMs: number
}

interface DropRow
  extends Pick<Drop, 'id' | 'name' | 'family' | 'generation' | 'origin' | 'blockchain' | 'contract' | 'manifest'>,
    Pick<Drop, 'largest' | 'marker' | 'scope' | 'url' | 'fingerprint'> {
  started_at: number
  ended_at: number | null
  holder: string | null
  beat_at: number
  collection_id: number
  run_name: string | null
  reading: string
  chunk_size: number
  in_order: number
  max_cost: string | null
  max_fee: string | null
  dynamic: number
  again: number
  reference_scope: string
  backend_url: string
  backend_id: string | null
  incarnation: string | null
  restored_after: number
  listed_at: number | null
  set_id: number | null
  first_set: number | null
  local_files: string | null
  answered_at: number | null
}

const DROPS = `SELECT r.id, r.name, r.started_at, r.ended_at, r.holder, r.beat_at, d.*, c.blockchain, s.origin FROM drops d
  JOIN runs r ON r.id = d.run_id JOIN collections c ON c.id = d.collection_id JOIN servers s ON s.id = c.server_id`

function dropOf(row: DropRow): Drop {
  return {
    id: row.id,
    name: row.name,
    family: row.family,
    generation: row.generation,
    collectionId: row.collection_id,
    origin: row.origin,
    blockchain: row.blockchain,
    contract: row.contract,
    manifest: row.manifest,
    runName: row.run_name,
    reading: JSON.parse(row.reading) as Record<string, unknown>,
    chunkSize: row.chunk_size,
    inOrder: row.in_order === 1,
    maxCost: row.max_cost === null ? null : BigInt(row.max_cost),
    maxFee: row.max_fee === null ? null : BigInt(row.max_fee),
    dynamic: row.dynamic === 1,
    largest: row.largest,
    again: row.again === 1,
    marker: row.marker,
    scope: row.scope,
    referenceScope: row.reference_scope,
    url: row.url,
    backend: { url: row.backend_url, id: row.backend_id, incarnation: row.incarnation },
    restoredAfter: row.restored_after,
    listedAt: row.listed_at,
    setId: row.set_id,
    firstSet: row.first_set,
    fingerprint: row.fingerprint,
    localFiles: row.local_files === null ? [] : (JSON.parse(row.local_files) as FileIdentity[]),
    startedAt: row.started_at,
    endedAt: row.ended_at,
    answeredAt: row.answered_at,
    holder: row.holder === null ? null : parseHolder(row.holder),
    beatAt: row.beat_at,
  }
}

export function readDrop(sql: Sql, id: string): Drop | null {
  const row = sql.get<DropRow>(`${DROPS} WHERE d.run_id = ?`, id)
  return row === undefined ? null : dropOf(row)
}

/** Returns the drops that have begun, newest first. */
export function listDrops(sql: Sql): Drop[] {
  return sql
    .all<DropRow>(`${DROPS} WHERE d.set_id IS NOT NULL ORDER BY r.started_at DESC, d.generation DESC, r.id`)
    .map(dropOf)
}

/** Returns the drops of a run, oldest first, including drops that haven't begun. */
export function listFamilyDrops(sql: Sql, family: string): Drop[] {
  return sql.all<DropRow>(`${DROPS} WHERE d.family = ? ORDER BY d.generation`, family).map(dropOf)
}

export type NewDrop = Omit<
  Drop,
  | 'name'
  | 'collectionId'
  | 'setId'
  | 'firstSet'
  | 'restoredAfter'
  | 'largest'
  | 'listedAt'
  | 'fingerprint'
  | 'localFiles'
  | 'startedAt'
  | 'endedAt'
  | 'answeredAt'
  | 'holder'
  | 'beatAt'
>

/** Adds a run of a manifest. The run must already have a row in the table `runs`. */
export function insertDrop(sql: Sql, drop: NewDrop): void {
  const collection = findOrAddCollectionOf(sql, {
    origin: drop.origin,
    blockchain: drop.blockchain,
    contract: drop.contract,
  })
  sql.run(
    `INSERT INTO drops (run_id, family, generation, collection_id, contract, manifest, run_name, reading, chunk_size,
      in_order, again, marker, scope, reference_scope, url, backend_url, backend_id, incarnation, max_cost,
      max_fee, dynamic) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    drop.id,
    drop.family,
    drop.generation,
    collection,
    drop.contract,
    drop.manifest,
    drop.runName,
    JSON.stringify(drop.reading),
    drop.chunkSize,
    drop.inOrder ? 1 : 0,
    drop.again ? 1 : 0,
    drop.marker,
    drop.scope,
    drop.referenceScope,
    drop.url,
    drop.backend.url,
    drop.backend.id,
    drop.backend.incarnation,
    drop.maxCost === null ? null : String(drop.maxCost),
    drop.maxFee === null ? null : String(drop.maxFee),
    drop.dynamic ? 1 : 0,
  )
}

/** Returns the ID of a drop's collection in the state. Adds the collection if it is new. */
export function findOrAddCollectionOf(
  sql: Sql,
  { origin, blockchain, contract }: { origin: string; blockchain: Blockchain; contract: string },
): number {
  const id = findOrAddCollection(sql, findOrAddServer(sql, origin), { blockchain, contract })
  if (id === null) throw new Error('the collection of the drop is not in the state')
  return id
}

export function updateDrop(sql: Sql, id: string, changes: Partial<Record<DropColumn, string | number | null>>): void {
  for (const [column, value] of Object.entries(changes)) {
    sql.run(`UPDATE drops SET ${column} = ? WHERE run_id = ?`, value, id)
  }
}

/**
 * Moves all drops of a run to another family and run name. Also sets the manifest's path, unless the new path is null.
 */
export function moveFamily(sql: Sql, from: string, to: Pick<Drop, 'family' | 'manifest' | 'runName'>): void {
  sql.run(
    'UPDATE drops SET family = ?, manifest = coalesce(?, manifest), run_name = ? WHERE family = ?',
    ...[to.family, to.manifest, to.runName, from],
  )
}

type DropColumn =
  | 'chunk_size'
  | 'in_order'
  | 'max_cost'
  | 'max_fee'
  | 'dynamic'
  | 'largest'
  | 'listed_at'
  | 'set_id'
  | 'first_set'
  | 'scope'
  | 'fingerprint'
  | 'local_files'
  | 'reading'
  | 'answered_at'
  | 'backend_url'
  | 'backend_id'
  | 'incarnation'
  | 'restored_after'

export function readUploads(sql: Sql, id: string): Map<string, string> {
  const rows = sql.all<{ sha256: string; url: string }>('SELECT sha256, url FROM uploads WHERE run_id = ?', id)
  return new Map(rows.map(({ sha256, url }) => [sha256, url]))
}

export function storeUpload(sql: Sql, id: string, sha256: string, url: string): void {
  sql.run('INSERT OR REPLACE INTO uploads VALUES (?, ?, ?)', id, sha256, url)
}

/**
 * Removes a run of a manifest and all its records. A later run searches the collection for the NFTs of the removed run.
 */
export function forgetDrop(sql: Sql, runId: string): void {
  recordNftsOfRemovedRun(sql, runId, null)
  sql.run('DELETE FROM operations WHERE run_id = ?', runId)
  sql.run('DELETE FROM runs WHERE id = ?', runId)
}
