import { type Selectable, sql } from 'kysely'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { isPostgres } from './dialect.ts'
import type { Db, TransfersTable } from './schema.ts'

export type TransferRow = Selectable<TransfersTable>

export async function hasPendingTransfer(db: Db, nftId: string): Promise<boolean> {
  const row = await db
    .selectFrom('transfers')
    .select('id')
    .where('nft_id', '=', nftId)
    .where('status', '=', sql.lit('initiated'))
    .executeTakeFirst()
  return row !== undefined
}

/** Transfers by the index of those that aren't signed. SQLite prefers one that also has all that failed unsigned. */
const waiting = (db: Db) =>
  sql<Selectable<TransfersTable>>`transfers`.as<'transfers'>(
    isPostgres(db) ? sql`transfers` : sql`transfers indexed by transfers_unsigned`,
  )

/** Whether a blockchain has transfers that aren't signed. */
export async function hasUnsigned(db: Db, blockchain: EvmBlockchain): Promise<boolean> {
  const row = await db
    .selectFrom(waiting(db))
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('status', '=', sql.lit('initiated'))
    .where('transaction_id', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Transfers of a blockchain that aren't signed, oldest first, with what a transaction of each needs. Those wait whose
 * token, or whose earlier transfer, a reorg has undone; one whose NFT has failed since then is among them.
 */
export async function listUnsigned(db: Db, blockchain: EvmBlockchain, limit: number) {
  return db
    .selectFrom(waiting(db))
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .select(['transfers.id', 'transfers.request_id', 'transfers.sender', 'transfers.receiver'])
    .select(['nfts.status as nft_status', 'nfts.token_id', 'collections.contract_address'])
    .where('transfers.blockchain', '=', blockchain)
    .where('transfers.status', '=', sql.lit('initiated'))
    .where('transfers.transaction_id', 'is', null)
    .where('nfts.status', '<>', sql.lit('initiated'))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('transfers as earlier')
            .select('earlier.id')
            .whereRef('earlier.nft_id', '=', 'transfers.nft_id')
            .whereRef('earlier.seq', '<', 'transfers.seq')
            .where('earlier.status', '=', sql.lit('initiated')),
        ),
      ),
    )
    .orderBy('transfers.seq')
    .limit(limit)
    .execute()
}

/** Of these transfers those that wait to be signed, and that no other worker is signing at this moment. */
export async function lockForSigning(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('transfers')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '=', sql.lit('initiated'))
    .where('transaction_id', 'is', null)
    .$if(isPostgres(db), (query) => query.forNoKeyUpdate().skipLocked())
    .execute()
  return new Set(rows.map((row) => row.id))
}

/** Ties each transfer to its transaction. Returns how many had none yet. */
export async function assignTransfers(
  db: Db,
  assigned: readonly { id: string; transactionId: string }[],
): Promise<number> {
  // By `coalesce`, for SQLite would start at all transfers without a transaction, not at those that are given.
  const pairs = sql.join(assigned.map(({ id, transactionId }) => sql`(${id}, ${transactionId})`))
  const { numAffectedRows } = await sql`
    update transfers set transaction_id = given.column2 from (values ${pairs}) as given
    where transfers.id = given.column1 and transfers.status = 'initiated'
      and coalesce(transfers.transaction_id, '') = ''`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** The transfer that a transaction makes, with its token. */
export async function findTransferOf(db: Db, transactionId: string) {
  const row = await db
    .selectFrom('transfers')
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .select([
      'transfers.id',
      'transfers.seq',
      'transfers.sender',
      'transfers.receiver',
      'transfers.nft_id',
      'nfts.status as nft_status',
      'nfts.token_id',
      'nfts.attempts as reverts',
      'collections.contract_address',
    ])
    .where('transfers.transaction_id', '=', transactionId)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Hashes of transactions on chain that may have made this pending transfer and that the database doesn't know: each has
 * moved the token from its sender to its receiver.
 */
export async function unknownMovesOf(db: Db, id: string) {
  return await db
    .selectFrom('transfers')
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .innerJoin('requests', 'requests.id', 'transfers.request_id')
    .innerJoin('owner_events', (join) =>
      join
        .onRef('owner_events.collection_id', '=', 'transfers.collection_id')
        .onRef('owner_events.token_id', '=', 'nfts.token_id')
        .onRef('owner_events.previous', '=', 'transfers.sender')
        .onRef('owner_events.next', '=', 'transfers.receiver'),
    )
    .select(['transfers.id', 'transfers.sender', 'transfers.receiver', 'nfts.token_id'])
    .select(['collections.contract_address', 'collections.factory_address', 'requests.accepted_at'])
    .select('owner_events.transaction_hash')
    .where('transfers.id', '=', id)
    .where('owner_events.kind', '=', 'transfer')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('transactions')
            .select('transactions.id')
            .whereRef('transactions.hash', '=', 'owner_events.transaction_hash'),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('transaction_attempts')
            .select('transaction_attempts.hash')
            .whereRef('transaction_attempts.hash', '=', 'owner_events.transaction_hash'),
        ),
      ),
    )
    .orderBy('owner_events.block_number')
    .execute()
}

/** Whether a reorg can still undo, or has undone, what a transfer follows: the mint of its token, or an earlier transfer. */
export async function followsUnfinal(db: Db, { nft_id, seq }: Pick<TransferRow, 'nft_id' | 'seq'>): Promise<boolean> {
  const earlier = db.selectFrom('transfers').where('nft_id', '=', nft_id).where('seq', '<', seq)
  const waiting = earlier.select('id').where('status', '=', sql.lit('initiated')).limit(1)
  if ((await waiting.executeTakeFirst()) !== undefined) return true
  const mint = db.selectFrom('nfts').select('transaction_id').where('id', '=', nft_id)
  const unfinal = await db
    .selectFrom('transactions')
    .select('id')
    .where('id', 'in', mint.union(earlier.select('transaction_id').where('transaction_id', 'is not', null)))
    .where(({ or, eb }) => or([eb('state', '=', sql.lit('signed')), eb('watched', '=', sql.lit(1))]))
    .limit(1)
    .executeTakeFirst()
  return unfinal !== undefined
}

/** Counts, with its NFT, a revert of the pending transfer. */
export async function countTransferRevert(db: Db, nftId: string): Promise<void> {
  await db
    .updateTable('nfts')
    .set((nft) => ({ attempts: nft('attempts', '+', 1) }))
    .where('id', '=', nftId)
    .execute()
}

/** The next transfer of the NFT is counted from the beginning. */
export async function forgetReverts(db: Db, nftId: string): Promise<void> {
  await db.updateTable('nfts').set({ attempts: 0 }).where('id', '=', nftId).execute()
}

/** Its transaction can never be mined, or had no effect: the transfer waits for another. */
export async function returnTransfer(db: Db, transactionId: string): Promise<void> {
  await db
    .updateTable('transfers')
    .set({ transaction_id: null })
    .where('transaction_id', '=', transactionId)
    .where('status', '=', 'initiated')
    .execute()
}
