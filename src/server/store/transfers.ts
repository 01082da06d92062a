import { type Selectable, sql } from 'kysely'
import type { Blockchain } from '../../api/blockchains.ts'
import { isPostgres } from './dialect.ts'
import type { NftRow } from './nfts.ts'
import type { RunKey } from './run-costs.ts'
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

/** Returns the pending transfers and burns of NFTs, by NFT ID. */
export async function pendingTransfers(db: Db, nftIds: readonly string[]) {
  const rows = await db
    .selectFrom('transfers')
    .select(['nft_id', 'kind'])
    .where('nft_id', 'in', nftIds)
    .where('status', '=', sql.lit('initiated'))
    .execute()
  return new Map(rows.map(({ nft_id, ...pending }) => [nft_id, pending]))
}

/** The number of final transfers of an NFT, and the receiver of the last one. */
export interface FinalTransfers extends Pick<TransferRow, 'receiver' | 'receiver_name'> {
  count: number
}

/** Returns the final transfers of NFTs, by NFT ID. Omits NFTs without final transfers. */
export async function finalTransfers(db: Db, nftIds: readonly string[]): Promise<Map<string, FinalTransfers>> {
  const rows = await db
    .selectFrom(({ selectFrom }) =>
      selectFrom('transfers')
        .select(({ fn }) => ['nft_id', fn.countAll<number>().as('count'), fn.max('seq').as('last')])
        .where('nft_id', 'in', nftIds)
        .where('kind', '=', 'transfer')
        .where('status', '=', 'deployed')
        // Repeat the condition of the index, so that the database can use the index.
        .where('transaction_id', 'is not', null)
        .groupBy('nft_id')
        .as('final'),
    )
    .innerJoin('transfers', 'transfers.seq', 'final.last')
    .select(['final.nft_id', 'final.count', 'transfers.receiver', 'transfers.receiver_name'])
    .execute()
  return new Map(rows.map(({ nft_id, count, ...last }) => [nft_id, { ...last, count: Number(count) }]))
}

/**
 * Returns the ENS name of an NFT's owner from the request that set the owner: the last final transfer, or the mint.
 * Null if that request had no name. Also null if the request had another address, because the current owner then
 * received the NFT outside the API.
 *
 * @param last the NFT's final transfers
 */
export function resolveReceiverName(
  nft: Pick<NftRow, 'owner' | 'receiver' | 'receiver_name'>,
  last: FinalTransfers | undefined,
): string | null {
  const { receiver, receiver_name } = last ?? nft
  return (nft.owner ?? nft.receiver) === receiver ? receiver_name : null
}

/**
 * Selects transfers by the index of unsigned transfers. SQLite would prefer an index that also has the transfers that
 * failed before they were signed.
 */
const selectUnsignedTransfers = (db: Db) =>
  sql<Selectable<TransfersTable>>`transfers`.as<'transfers'>(
    isPostgres(db) ? sql`transfers` : sql`transfers indexed by transfers_unsigned`,
  )

/** Returns whether a blockchain has unsigned transfers. */
export async function hasUnsignedTransfers(db: Db, blockchain: Blockchain): Promise<boolean> {
  const row = await db
    .selectFrom(selectUnsignedTransfers(db))
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('status', '=', sql.lit('initiated'))
    .where('transaction_id', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

const isOfOtherRuns = (runs: readonly RunKey[]) => sql<boolean>`not exists (
  select 1 from requests where requests.id = transfers.request_id and (${sql.join(
    runs.map(({ run, collection_id }) => sql`requests.run = ${run} and transfers.collection_id = ${collection_id}`),
    sql` or `,
  )}))`

/**
 * Returns unsigned transfers of a blockchain, oldest first, with the data for their transactions. Omits a transfer
 * while a reorg has removed its token or an earlier transfer. Omits a burn until the mint is final, because a reorg
 * could give the token ID to another NFT, which would then be burned. Includes transfers whose NFT has failed in the
 * meantime.
 *
 * @param except excludes transfers of these runs
 */
export async function listUnsignedTransfers(
  db: Db,
  blockchain: Blockchain,
  limit: number,
  except: readonly RunKey[] = [],
) {
  return db
    .selectFrom(selectUnsignedTransfers(db))
    .$if(except.length > 0, (query) => query.where(isOfOtherRuns(except)))
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .select(['transfers.id', 'transfers.kind', 'transfers.request_id', 'transfers.sender', 'transfers.receiver'])
    .select(['transfers.nft_id', 'nfts.status as nft_status', 'nfts.token_id', 'collections.contract_address'])
    .select('transfers.collection_id')
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
    .where(({ or, not, eb, exists, selectFrom }) =>
      or([
        eb('transfers.kind', '<>', sql.lit('burn')),
        not(
          exists(
            selectFrom('transactions')
              .select('transactions.id')
              .whereRef('transactions.id', '=', 'nfts.transaction_id')
              .where('transactions.watched', '=', sql.lit(1)),
          ),
        ),
      ]),
    )
    .orderBy('transfers.seq')
    .limit(limit)
    .execute()
}

/**
 * Locks the unsigned transfers whose NFTs still have a token, and returns their IDs. Skips transfers that another
 * worker is signing.
 */
export async function lockTransfersForSigning(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('transfers')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '=', sql.lit('initiated'))
    .where('transaction_id', 'is', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('nfts')
          .select('nfts.id')
          .whereRef('nfts.id', '=', 'transfers.nft_id')
          .where('nfts.status', '=', sql.lit('deployed')),
      ),
    )
    .$if(isPostgres(db), (query) => query.forNoKeyUpdate().skipLocked())
    .execute()
  return new Set(rows.map((row) => row.id))
}

/** Assigns transfers to their transactions. Returns the number of transfers that had no transaction yet. */
export async function assignTransfers(
  db: Db,
  assigned: readonly { id: string; transactionId: string }[],
): Promise<number> {
  // Use `coalesce`. Otherwise, SQLite would start with all transfers without a transaction instead of the given
  // transfers.
  const pairs = sql.join(assigned.map(({ id, transactionId }) => sql`(${id}, ${transactionId})`))
  const { numAffectedRows } = await sql`
    update transfers set transaction_id = given.column2 from (values ${pairs}) as given
    where transfers.id = given.column1 and transfers.status = 'initiated'
      and coalesce(transfers.transaction_id, '') = ''`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** Returns the transfer that a transaction executes, with its token. */
export async function findTransferByTransaction(db: Db, transactionId: string) {
  const row = await db
    .selectFrom('transfers')
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .select([
      'transfers.id',
      'transfers.kind',
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
 * Returns hashes of on-chain transactions that may have executed a pending transfer and that the database doesn't have.
 * Each of them transferred the token from the transfer's sender to its receiver.
 */
export async function listUnknownMoves(db: Db, id: string) {
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
    .select(['transfers.id', 'transfers.kind', 'transfers.sender', 'transfers.receiver', 'nfts.token_id'])
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

/**
 * Returns whether a reorg can still remove, or has removed, a dependency of a transfer: the mint of its token, or an
 * earlier transfer.
 */
export async function transferFollowsUnfinal(
  db: Db,
  { nft_id, seq }: Pick<TransferRow, 'nft_id' | 'seq'>,
): Promise<boolean> {
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

/** Increments the revert count of the NFT's pending transfer, which is stored with the NFT. */
export async function incrementTransferReverts(db: Db, nftId: string): Promise<void> {
  await db
    .updateTable('nfts')
    .set((nft) => ({ attempts: nft('attempts', '+', 1) }))
    .where('id', '=', nftId)
    .execute()
}

/** Resets the revert count for the next transfer of the NFT. */
export async function resetReverts(db: Db, nftId: string): Promise<void> {
  await db.updateTable('nfts').set({ attempts: 0 }).where('id', '=', nftId).execute()
}

/** Makes a transfer pending again, because its transaction can never be mined or had no effect. */
export async function returnTransfer(db: Db, transactionId: string): Promise<void> {
  await db
    .updateTable('transfers')
    .set({ transaction_id: null })
    .where('transaction_id', '=', transactionId)
    .where('status', '=', 'initiated')
    .execute()
}
