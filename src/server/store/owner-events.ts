import { type Selectable, sql } from 'kysely'
import { type EvmBlockchain, isBlockchain, isEvm } from '../../api/blockchains.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { updateCollection } from './collections.ts'
import { lockUntilCommit } from './dialect.ts'
import type { CollectionsTable, Db, OwnerCursorsTable, OwnerEventsTable } from './schema.ts'

export type OwnerEventRow = Selectable<OwnerEventsTable>
export type OwnerCursor = Selectable<OwnerCursorsTable>

// SQLite binds at most 32,766 parameters in a statement, and each event has 9.
const ROWS_PER_BATCH = 1000
/**
 * Number of blocks to which the follower can fall back after a reorg. If none of these blocks is still on the chain,
 * the follower reads all events again.
 */
const MAX_CURSORS = 64

/**
 * Locks the owners of a chain until the commit, so that the follower and other writers of on-chain owners don't see
 * each other's partial writes. The follower acquires an exclusive lock if owners changed.
 */
export const lockTokenOwners = (db: Db, blockchain: string, mode: 'alone' | 'shared'): Promise<void> =>
  lockUntilCommit(db, `owners ${blockchain}`, mode)

/** Returns the cursor at the last block whose events were read; null before the first block of the chain. */
export async function findCursor(db: Db, blockchain: EvmBlockchain): Promise<OwnerCursor | null> {
  return (await listCursors(db, blockchain, 1))[0] ?? null
}

/** Returns the cursors, newest first. The block of a cursor is the last block whose events were read. */
export function listCursors(db: Db, blockchain: EvmBlockchain, limit?: number): Promise<OwnerCursor[]> {
  return db
    .selectFrom('owner_cursors')
    .selectAll()
    .where('blockchain', '=', blockchain)
    .orderBy('block_number', 'desc')
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0))
    .execute()
}

export async function moveCursor(db: Db, cursor: OwnerCursor): Promise<void> {
  await insertCursor(db, cursor)
  await sql`
    delete from owner_cursors where blockchain = ${cursor.blockchain} and block_number <= (
      select block_number from owner_cursors where blockchain = ${cursor.blockchain}
      order by block_number desc limit 1 offset ${sql.lit(MAX_CURSORS)})`.execute(db)
}

/**
 * Moves the cursor of a network on which a reorg can remove up to `finality` blocks. Always keeps one block to which
 * the follower can fall back.
 */
export async function movePublicCursor(db: Db, cursor: OwnerCursor, finality: number): Promise<void> {
  await insertCursor(db, cursor)
  await sql`
    delete from owner_cursors where blockchain = ${cursor.blockchain} and block_number < (
      select max(block_number) from owner_cursors
      where blockchain = ${cursor.blockchain} and block_number <= ${cursor.block_number - finality})`.execute(db)
}

async function insertCursor(db: Db, cursor: OwnerCursor): Promise<void> {
  // Two followers that found no change may write the same block at the same time.
  await db
    .insertInto('owner_cursors')
    .values(cursor)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Returns the last read block of each chain. */
export async function listLastReadBlocks(db: Db): Promise<{ blockchain: string; block: number }[]> {
  const rows = await db
    .selectFrom('owner_cursors')
    .select(({ fn }) => ['blockchain', fn.max('block_number').as('block')])
    .groupBy('blockchain')
    .execute()
  return rows.map(({ blockchain, block }) => ({ blockchain, block: Number(block) }))
}

/** Returns embedded EVM chains with blocks whose events weren't read. */
export async function chainsToFollow(db: Db): Promise<EvmBlockchain[]> {
  const behind: EvmBlockchain[] = []
  for (const { blockchain } of await db.selectFrom('chains').select('blockchain').execute()) {
    if (!isBlockchain(blockchain) || !isEvm(blockchain)) continue
    const { height } = await db
      .selectFrom('chain_blocks')
      .select(({ fn }) => fn.max('number').as('height'))
      .where('blockchain', '=', blockchain)
      .executeTakeFirstOrThrow()
    const cursor = await findCursor(db, blockchain)
    if (height !== null && height > (cursor?.block_number ?? 0)) behind.push(blockchain)
  }
  return behind
}

/** Stores events in chain order, and applies them to tokens and collections. */
export async function applyEvents(db: Db, events: readonly OwnerEventRow[]): Promise<void> {
  for (const chunk of chunksOf(events, ROWS_PER_BATCH)) {
    await db.insertInto('owner_events').values(chunk).execute()
  }
  await write(
    db,
    events.map((event) => ({ ...event, value: event.next, since: event.block_number })),
  )
}

/** Rolls back the events after `block`. Tokens and collections return to their state at that block. */
export async function undoEvents(db: Db, blockchain: EvmBlockchain, block: number): Promise<void> {
  const undone = await db
    .deleteFrom('owner_events')
    .where('blockchain', '=', blockchain)
    .where('block_number', '>', block)
    .returningAll()
    .execute()
  undone.sort((a, b) => b.block_number - a.block_number || b.log_index - a.log_index)
  await write(
    db,
    undone.map((event) => ({ ...event, value: event.previous, since: null })),
  )
  await db.deleteFrom('owner_cursors').where('blockchain', '=', blockchain).where('block_number', '>', block).execute()
}

/** `since` is the block of the change; null if the change is rolled back. */
type Change = Pick<OwnerEventRow, 'collection_id' | 'kind' | 'token_id'> & { value: string; since: number | null }

/** Writes changes. If the same field has several changes, the last one applies. */
async function write(db: Db, changes: readonly Change[]): Promise<void> {
  const owners = new Map<string, Change>()
  const collections = new Map<string, Partial<Selectable<CollectionsTable>>>()
  for (const change of changes) {
    const { collection_id: id, kind, token_id: token, value } = change
    if (kind === 'transfer') owners.set(`${id} ${token}`, change)
    else if (kind === 'owner') collections.set(id, { ...collections.get(id), wallet_address: value })
    else if (kind === 'max_supply') {
      collections.set(id, { ...collections.get(id), max_supply: value === '0' ? null : value })
    } else collections.set(id, { ...collections.get(id), [kind]: Number(value) })
  }
  const rows = [...owners.values()]
  for (const chunk of chunksOf(rows, ROWS_PER_BATCH)) {
    const values = sql.join(
      chunk.map((row) => sql`(${row.collection_id}, ${row.token_id}, ${row.value}, cast(${row.since} as bigint))`),
    )
    await sql`
      update nfts set owner = moved.column3, owner_block = moved.column4 from (values ${values}) as moved
      where nfts.collection_id = moved.column1 and nfts.token_id = moved.column2
        and (moved.column4 is null or nfts.owner_block is null or nfts.owner_block <= moved.column4)`.execute(db)
  }
  for (const [id, change] of collections) await updateCollection(db, id, change)
}
