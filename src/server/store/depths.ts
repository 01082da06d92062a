import { sql } from 'kysely'
import type { Db } from './schema.ts'

/**
 * Pending work of one kind: its count, and when the oldest request was accepted or signed (null if nothing is pending).
 */
export interface Depth {
  count: number
  since: number | null
}

export interface Depths {
  /** Pending NFTs by step. */
  nfts: Readonly<Record<'files' | 'mint' | 'chain', Depth>>
  collections: Depth
  /** Signed transactions that aren't final, by blockchain. */
  transactions: ReadonlyMap<string, Depth>
}

/** Reads only the partial index of the step, so that the cost doesn't depend on the number of finished NFTs. */
async function readNftDepth(db: Db, step: 'files' | 'mint' | 'chain'): Promise<Depth> {
  const row = await db
    .selectFrom('nfts')
    .select(({ fn }) => [fn.countAll().as('count'), fn.min('seq').as('oldest')])
    .where('step', '=', sql.lit(step))
    .executeTakeFirstOrThrow()
  if (row.oldest === null) return { count: 0, since: null }
  const oldest = await db
    .selectFrom('nfts')
    .innerJoin('requests', 'requests.id', 'nfts.request_id')
    .select('requests.accepted_at')
    .where('nfts.seq', '=', row.oldest)
    .executeTakeFirst()
  return { count: Number(row.count), since: oldest === undefined ? null : Number(oldest.accepted_at) }
}

async function readCollectionDepth(db: Db): Promise<Depth> {
  const row = await db
    .selectFrom('collections')
    .innerJoin('requests', 'requests.id', 'collections.request_id')
    .select(({ fn }) => [fn.countAll().as('count'), fn.min('requests.accepted_at').as('since')])
    .where('collections.status', '=', sql.lit('initiated'))
    .executeTakeFirstOrThrow()
  return { count: Number(row.count), since: row.since === null ? null : Number(row.since) }
}

async function readTransactionDepths(db: Db): Promise<Map<string, Depth>> {
  const rows = await db
    .selectFrom('transactions')
    .select(({ fn }) => ['blockchain', fn.countAll().as('count'), fn.min('created_at').as('since')])
    .where('state', '=', sql.lit('signed'))
    .groupBy('blockchain')
    .execute()
  return new Map(
    rows.map(({ blockchain, count, since }) => [blockchain, { count: Number(count), since: Number(since) }]),
  )
}

/** Returns the pending work of the pipeline. Its cost grows with pending work, not with stored data. */
export async function pipelineDepths(db: Db): Promise<Depths> {
  const [files, mint, chain] = [
    await readNftDepth(db, 'files'),
    await readNftDepth(db, 'mint'),
    await readNftDepth(db, 'chain'),
  ]
  return {
    nfts: { files, mint, chain },
    collections: await readCollectionDepth(db),
    transactions: await readTransactionDepths(db),
  }
}

/** Returns the number of the last block of each recorded chain; 0 for a chain without stored blocks. */
export async function chainHeights(db: Db): Promise<Map<string, number>> {
  const heights = new Map<string, number>()
  for (const { blockchain } of await db.selectFrom('chains').select('blockchain').execute()) {
    const last = await db
      .selectFrom('chain_blocks')
      .select(({ fn }) => fn.max('number').as('number'))
      .where('blockchain', '=', blockchain)
      .executeTakeFirst()
    heights.set(blockchain, Number(last?.number ?? 0))
  }
  return heights
}
