import { type Selectable, sql, type Updateable } from 'kysely'
import type { SolanaBlockchain } from '../../api/blockchains.ts'
import type { ClaimOptions } from './claim.ts'
import { isPostgres, momentIn } from './dialect.ts'
import type { Db, SolanaTransactionsTable } from './schema.ts'

export type SolanaTransactionRow = Selectable<SolanaTransactionsTable>

/** One that waits for its end: its bytes are there. */
export type SignedRow = SolanaTransactionRow & { raw: string }

/** How many transactions of a collection are signed and not finished. */
export async function countUnfinished(db: Db, collectionId: string): Promise<number> {
  const row = await db
    .selectFrom('solana_transactions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('collection_id', '=', collectionId)
    .where('state', '=', sql.lit('signed'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** The same of a whole blockchain. */
export async function countUnfinishedOn(db: Db, blockchain: SolanaBlockchain): Promise<number> {
  const row = await db
    .selectFrom('solana_transactions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('blockchain', '=', blockchain)
    .where('state', '=', sql.lit('signed'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Takes signed transactions of a blockchain, oldest first, to send them and to see what became of them. */
export async function claimSolanaSigned(
  db: Db,
  blockchain: SolanaBlockchain,
  { now, leaseMs, limit }: ClaimOptions,
): Promise<SignedRow[]> {
  const due = db
    .selectFrom('solana_transactions')
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('state', '=', sql.lit('signed'))
    .where('next_attempt_at', '<=', momentIn(now))
    .where('lease_until', '<=', momentIn(now))
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(limit)
    .$if(isPostgres(db), (query) => query.forNoKeyUpdate().skipLocked())
  const rows = await db
    .with(
      (name) => name('due').materialized(),
      () => due,
    )
    .updateTable('solana_transactions')
    .set((row) => ({ lease_until: momentIn(now, leaseMs), generation: row('generation', '+', 1) }))
    .where('id', 'in', ({ selectFrom }) => selectFrom('due').select('due.id'))
    .returningAll()
    .execute()
  return rows.filter((row): row is SignedRow => row.raw !== null).sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Changes a claimed transaction. False, and nothing is written, if the claim was lost or it is finished already. */
export async function updateSolanaSigned(
  db: Db,
  claimed: Pick<SolanaTransactionRow, 'id' | 'generation'>,
  changes: Updateable<SolanaTransactionsTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('solana_transactions')
    .set({ ...changes, lease_until: 0 })
    .where('id', '=', claimed.id)
    .where('generation', '=', claimed.generation)
    .where('state', '=', 'signed')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** When the earliest unfinished transaction of a blockchain is to be looked at, or null. */
export async function nextSolanaDue(db: Db, blockchain: SolanaBlockchain): Promise<number | null> {
  const row = await db
    .selectFrom('solana_transactions')
    .select(({ fn }) => fn.min('next_attempt_at').as('at'))
    .where('blockchain', '=', blockchain)
    .where('state', '=', sql.lit('signed'))
    .executeTakeFirst()
  return row?.at ?? null
}
