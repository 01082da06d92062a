import { sql } from 'kysely'
import { firstSeqOf } from './explorer-counts.ts'
import type { Db, SolanaTransactionState, TransactionState } from './schema.ts'

/** A transaction of any blockchain. */
export interface SeenTransaction {
  id: string
  blockchain: string
  kind: string
  hash: string
  state: TransactionState | SolanaTransactionState
  /** On Solana the slot. */
  block_number: number | null
  gas_used: string | null
  created_at: number
  token_count: number
  /** Null of a factory's and of a transfer's. */
  collection_id: string | null
  start_id: string | null
  /** On Solana: the token. */
  mint: string | null
}

const EVM = [
  ...(['id', 'blockchain', 'kind', 'hash', 'state', 'block_number', 'gas_used'] as const),
  ...(['created_at', 'token_count', 'collection_id', 'start_id'] as const),
] as const

const SOLANA = [
  'id',
  'blockchain',
  'kind',
  'collection_id',
  'mint',
  'signature',
  'state',
  'slot',
  'created_at',
] as const

type Find = { by: 'id'; ids: readonly string[] } | { by: 'hash' | 'directory'; text: string }

/** Transactions by their ids, or by what goes over the wire, the oldest first. */
export async function findTransactions(db: Db, find: Find, limit = 100): Promise<SeenTransaction[]> {
  if (find.by === 'id' && find.ids.length === 0) return []
  const evm = await db
    .selectFrom('transactions')
    .select(EVM)
    .$if(find.by === 'id', (query) => query.where('id', 'in', find.by === 'id' ? find.ids : []))
    .$if(find.by === 'hash', (query) => query.where('hash', '=', find.by === 'id' ? '' : find.text))
    .$if(find.by === 'directory', (query) => query.where('directory', '=', find.by === 'id' ? '' : find.text))
    .orderBy('created_at')
    .limit(limit)
    .execute()
  const solana = await db
    .selectFrom('solana_transactions')
    .select(SOLANA)
    .$if(find.by === 'id', (query) => query.where('id', 'in', find.by === 'id' ? find.ids : []))
    .$if(find.by === 'hash', (query) => query.where('signature', '=', find.by === 'id' ? '' : find.text))
    .$if(find.by === 'directory', (query) => query.where('directory', '=', find.by === 'id' ? '' : find.text))
    .orderBy('created_at')
    .limit(limit)
    .execute()
  return [
    ...evm.map((row) => ({ ...row, mint: null })),
    ...solana.map(({ signature, slot, ...row }) => ({
      ...row,
      hash: signature,
      block_number: slot,
      gas_used: null,
      token_count: row.kind === 'mint' ? 1 : 0,
      start_id: null,
    })),
  ]
}

/** A transaction that was signed several times goes by each of its hashes. */
export async function transactionOfAttempt(db: Db, hash: string): Promise<string | null> {
  const row = await db
    .selectFrom('transaction_attempts')
    .select('transaction_id')
    .where('hash', '=', hash)
    .executeTakeFirst()
  return row?.transaction_id ?? null
}

/** The transactions that moved an NFT, as far as they were ordered here, and the NFT that one moved. */
export async function transfersOf(db: Db, nftId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('transfers')
    .select('transaction_id')
    .where('nft_id', '=', nftId)
    .where('transaction_id', 'is not', null)
    .orderBy('seq')
    .limit(100)
    .execute()
  return rows.flatMap((row) => row.transaction_id ?? [])
}

export async function nftsTransferred(db: Db, transactionId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('transfers')
    .select('nft_id')
    .where('transaction_id', '=', transactionId)
    .limit(50)
    .execute()
  return rows.map((row) => row.nft_id)
}

/** The NFT of a transfer that was asked for. */
export async function nftTransferred(db: Db, transferId: string): Promise<string | null> {
  const row = await db.selectFrom('transfers').select('nft_id').where('id', '=', transferId).executeTakeFirst()
  return row?.nft_id ?? null
}

/** Changes of a token's owner as the chain told them, the newest first. */
export async function ownerChanges(db: Db, collectionId: string, tokenId: string, limit: number) {
  return await db
    .selectFrom('owner_events')
    .select(['previous', 'next', 'transaction_hash', 'block_number'])
    .where('collection_id', '=', collectionId)
    .where('token_id', '=', tokenId)
    .where('kind', '=', 'transfer')
    .orderBy('block_number', 'desc')
    .orderBy('log_index', 'desc')
    .limit(limit)
    .execute()
}

/** Gas of all transactions of a collection, decimal digits. */
export async function gasOfCollection(db: Db, collectionId: string): Promise<string> {
  const { rows } = await sql<{ gas: number | string | null }>`
    select sum(gas) as gas from (
      select sum(cast(gas_used as bigint)) as gas from transactions
        where collection_id = ${collectionId} and gas_used is not null
      union all
      select sum(cast(gas_used as bigint)) as gas from transactions where id in (
        select transaction_id from transfers where collection_id = ${collectionId} and transaction_id is not null)
    ) as all_gas`.execute(db)
  return String(rows[0]?.gas ?? 0)
}

/** How many are signed and not final. */
export async function countUnderWay(db: Db, accountId: string | null): Promise<number> {
  const own = sql`select id from collections where account_id = ${accountId}`
  // SQLite keeps the order of tables in a cross join: it starts at the one transfer, not at the account's collections.
  const ownTransfer = sql`select 1 from transfers cross join collections
    where transfers.transaction_id = transactions.id and collections.id = transfers.collection_id
      and collections.account_id = ${accountId}`
  const [mine, onSolana] =
    accountId === null
      ? [sql``, sql``]
      : [sql` and (collection_id in (${own}) or exists (${ownTransfer}))`, sql` and collection_id in (${own})`]
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from transactions where state = 'signed'${mine})
      + (select count(*) from solana_transactions where state = 'signed'${onSolana}) as count`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** Transactions that mint NFTs of a run, in one bucket of its collection, and how many of its NFTs each has. */
export async function transactionsOfBucket(
  db: Db,
  { collectionId, run, bucket }: { collectionId: string; run: string; bucket: number },
): Promise<{ id: string; count: number }[]> {
  const [first, end] = [firstSeqOf(bucket), firstSeqOf(bucket + 1)]
  // Chosen and limited before the join: PostgreSQL reads all NFTs where its statistics are of a few.
  const page = db
    .selectFrom('nfts')
    .select(['transaction_id', 'request_id'])
    .where('collection_id', '=', collectionId)
    .where('seq', '>=', first)
    .where('seq', '<', end)
    .orderBy('seq')
    .limit(end - first)
    .as('page')
  const rows = await db
    .selectFrom(page)
    .innerJoin('requests', 'requests.id', 'page.request_id')
    .select(({ fn }) => ['page.transaction_id as id', fn.countAll<number>().as('count')])
    .where('page.transaction_id', 'is not', null)
    .where('requests.run', '=', run)
    .groupBy('page.transaction_id')
    .execute()
  return rows.flatMap(({ id, count }) => (id === null ? [] : [{ id, count: Number(count) }]))
}
