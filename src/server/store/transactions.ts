import { type Selectable, sql } from 'kysely'
import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { CANCELS } from './attempts.ts'
import { type ClaimOptions, newLease, withDue } from './claim.ts'
import { isPostgres } from './dialect.ts'
import type { Db, TransactionAction, TransactionsTable } from './schema.ts'

export type TransactionRow = Selectable<TransactionsTable>

/**
 * Returns the hash of a transaction. Returns null for a change on Solana that gdn detected by the token's state,
 * because its transaction is unknown.
 */
export const knownHash = (hash: string | null): string | null => (hash?.startsWith('unknown:') ? null : hash)

/** Returns whether the rows of a transaction are in `transfers`. */
export const isTransfer = ({ kind }: Pick<TransactionRow, 'kind'>): boolean => kind === 'transfer' || kind === 'burn'

export const isMint = ({ kind }: Pick<TransactionRow, 'kind'>): boolean => kind === 'mint' || kind === 'grant'

/** Returns whether the rows of a transaction are in `updates`. */
export const isUpdate = ({ kind }: Pick<TransactionRow, 'kind'>): boolean =>
  kind === 'update' || kind === 'freeze' || kind === 'provenance'

/**
 * Returns the action to store for a pending transaction when `action` is requested. A bump doesn't replace a requested
 * cancellation, which is signed with higher fees anyway.
 */
export const combineActions = (
  { requested_action: earlier }: Pick<TransactionRow, 'requested_action'>,
  action: TransactionAction,
): TransactionAction => (earlier === 'cancel' ? earlier : action)

/** Returns the nonce of an EVM transaction. Throws if the transaction has none. */
export function requireNonce({ id, nonce }: Pick<TransactionRow, 'id' | 'nonce'>): number {
  if (nonce === null) throw new Error(`the transaction ${id} has no nonce`)
  return nonce
}

/**
 * Reserves the next nonces of a signer, and returns the first. Call this in the database transaction that stores the
 * transactions signed with these nonces. Until that database transaction ends, other processes wait for nonces of this
 * signer.
 */
export async function reserveNonces(db: Db, blockchain: Blockchain, signer: string, count = 1): Promise<number> {
  const row = await db
    .insertInto('signer_nonces')
    .values({ blockchain, signer, next_nonce: count })
    .onConflict((conflict) =>
      conflict.columns(['blockchain', 'signer']).doUpdateSet((row) => ({
        next_nonce: row('signer_nonces.next_nonce', '+', count),
      })),
    )
    .returning('next_nonce')
    .executeTakeFirstOrThrow()
  return row.next_nonce - count
}

/**
 * Stores the next nonce that a network reports for an account. The nonces of a key that was used before don't start at
 * 0, and a restored database lacks the last nonces. A higher stored nonce stays unchanged.
 */
export async function raiseNonce(db: Db, blockchain: Blockchain, signer: string, nextNonce: number): Promise<void> {
  await db
    .insertInto('signer_nonces')
    .values({ blockchain, signer, next_nonce: nextNonce })
    .onConflict((conflict) =>
      conflict
        .columns(['blockchain', 'signer'])
        .doUpdateSet({ next_nonce: nextNonce })
        .where('signer_nonces.next_nonce', '<', nextNonce),
    )
    .execute()
}

/** Returns the next nonces of signers. Omits signers that haven't used a nonce. */
export async function readNextNonces(
  db: Db,
  blockchain: Blockchain,
  signers: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('signer_nonces')
    .select(['signer', 'next_nonce'])
    .where('blockchain', '=', blockchain)
    .where('signer', 'in', signers)
    .execute()
  return new Map(rows.map(({ signer, next_nonce }) => [signer, next_nonce]))
}

const onBlockchain = (db: Db, blockchain: Blockchain) =>
  db.selectFrom('transactions').selectAll().where('blockchain', '=', blockchain)

/** Returns the transaction that was signed with this nonce; null if there is none. */
export async function findTransactionByNonce(
  db: Db,
  blockchain: Blockchain,
  signer: string,
  nonce: number,
): Promise<TransactionRow | null> {
  const row = await onBlockchain(db, blockchain)
    .where('signer', '=', signer)
    .where('nonce', '=', nonce)
    .executeTakeFirst()
  return row ?? null
}

/** Returns whether transactions of other runs, or of no run, wait for the nonce of a run's pending transaction. */
export async function delaysOthers(
  db: Db,
  { blockchain, signer, nonce, run }: Pick<TransactionRow, 'blockchain' | 'signer' | 'nonce' | 'run'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('transactions')
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('signer', '=', signer)
    .where('state', '=', sql.lit('signed'))
    .where('nonce', '>', nonce)
    .where((is) => is.or([is('run', 'is', null), is('run', '<>', run)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Returns the transaction that deploys a blockchain's factory. A blockchain has at most one. */
export async function findFactoryTransaction(db: Db, blockchain: Blockchain): Promise<TransactionRow | null> {
  const row = await onBlockchain(db, blockchain).where('kind', '=', sql.lit('factory')).executeTakeFirst()
  return row ?? null
}

/** Deletes a factory transaction that had no effect. */
export async function deleteFactoryTransaction(db: Db, id: string): Promise<void> {
  await db.deleteFrom('transaction_attempts').where('transaction_id', '=', id).execute()
  await db.deleteFrom('transactions').where('id', '=', id).where('kind', '=', sql.lit('factory')).execute()
}

/** Counts the signed transactions of a collection or a blockchain that aren't final yet. */
export async function countUnfinished(
  db: Db,
  scope: { collectionId: string } | { blockchain: Blockchain },
): Promise<number> {
  const [column, value] =
    'blockchain' in scope
      ? (['blockchain', scope.blockchain] as const)
      : (['collection_id', scope.collectionId] as const)
  const row = await db
    .selectFrom('transactions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(column, '=', value)
    .where('state', '=', sql.lit('signed'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Transactions of a collection that are signed and not final. */
export interface UnfinishedTransactions {
  count: number
  /** Number of transactions that aren't in a block yet. */
  unminedCount: number
  /** Whether one of the transactions reverted or was canceled in a block that isn't final. */
  hasReverted: boolean
  /** Whether a signed transfer, burn, update or freeze is for a token whose mint a reorg removed. */
  hasLostToken: boolean
  signers: readonly string[]
}

/** Returns the unfinished transactions of each of these collections. */
export async function readUnfinished(
  db: Db,
  collectionIds: readonly string[],
): Promise<(id: string) => UnfinishedTransactions> {
  const rows = await db
    .selectFrom('transactions')
    .select(({ fn }) => ['collection_id', 'signer', 'mined', fn.countAll<number>().as('count')])
    .where('collection_id', 'in', collectionIds)
    .where('state', '=', sql.lit('signed'))
    .groupBy(['collection_id', 'signer', 'mined'])
    .execute()
  const lost = await findCollectionsWithLostTokens(db, collectionIds)
  return (id) => {
    const ofCollection = rows.filter(({ collection_id }) => collection_id === id)
    const sum = (counted: typeof rows) => counted.reduce((total, { count }) => total + Number(count), 0)
    return {
      count: sum(ofCollection),
      unminedCount: sum(ofCollection.filter(({ mined }) => mined === null)),
      hasReverted: ofCollection.some(({ mined }) => mined === 'reverted' || mined === 'cancelled'),
      hasLostToken: lost.has(id),
      signers: [...new Set(ofCollection.map(({ signer }) => signer))],
    }
  }
}

/** A canceled or reverted transaction that isn't final. */
export interface HoldingTransaction {
  outcome: 'cancelled' | 'reverted'
  /** Number of the transaction's block; null if it is in no block. */
  block: number | null
}

/**
 * Returns the collections that have a canceled or reverted transaction that isn't final. The token IDs of their next
 * mints depend on it. If a collection has several such transactions, returns the one that becomes final last.
 */
export async function heldCollections(
  db: Db,
  collectionIds: readonly string[],
): Promise<ReadonlyMap<string, HoldingTransaction>> {
  const rows = await db
    .selectFrom('transactions')
    .leftJoin('transaction_attempts', 'transaction_attempts.transaction_id', 'transactions.id')
    .select([
      ...(['transactions.collection_id', 'transactions.mined', 'transactions.block_number'] as const),
      'transaction_attempts.cancels',
    ])
    .where('transactions.collection_id', 'in', collectionIds)
    .where('transactions.state', '=', sql.lit('signed'))
    .execute()
  const holdingTransactions = new Map<string, HoldingTransaction>()
  for (const { collection_id, mined, cancels, block_number: block } of rows) {
    const isCancelled = (cancels ?? CANCELS.nothing) !== CANCELS.nothing
    if (collection_id === null || !(isCancelled || mined === 'reverted')) continue
    const before = holdingTransactions.get(collection_id)
    const isLater = before === undefined || lastBlock(block) > lastBlock(before.block)
    if (isLater) holdingTransactions.set(collection_id, { outcome: isCancelled ? 'cancelled' : 'reverted', block })
    else if (isCancelled && before.block === block)
      holdingTransactions.set(collection_id, { outcome: 'cancelled', block })
  }
  return holdingTransactions
}

/** Returns the block of a transaction for comparison. A transaction without a block becomes final after all others. */
const lastBlock = (block: number | null): number => block ?? Number.POSITIVE_INFINITY

/** Returns the given collections that have a signed transfer, burn, update or freeze of an NFT without a token. */
async function findCollectionsWithLostTokens(db: Db, collectionIds: readonly string[]): Promise<ReadonlySet<string>> {
  // Transactions of transfers have no collection. Few of them are signed, and each needs one index lookup.
  const signed = db
    .selectFrom('transactions')
    .select('id')
    .where('collection_id', 'is', null)
    .where('state', '=', sql.lit('signed'))
  const transfers = db
    .selectFrom('transfers')
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .select('transfers.collection_id')
    .where('transfers.collection_id', 'in', collectionIds)
    .where('transfers.transaction_id', 'in', signed)
    .where('nfts.status', '<>', sql.lit('deployed'))
  const updates = db
    .selectFrom('updates')
    .innerJoin('nfts', 'nfts.id', 'updates.nft_id')
    .select('updates.collection_id')
    .where('updates.collection_id', 'in', collectionIds)
    .where('updates.step', '=', sql.lit('chain'))
    .where('nfts.status', '<>', sql.lit('deployed'))
  const rows = await transfers.union(updates).execute()
  return new Set(rows.map(({ collection_id }) => collection_id))
}

/**
 * Returns whether a reorg can still remove, or has removed, a dependency of a transaction: the deployment of the
 * collection, or an earlier bundle.
 */
export async function transactionFollowsUnfinal(
  db: Db,
  { id, blockchain, collection_id, start_id }: Pick<TransactionRow, 'id' | 'blockchain' | 'collection_id' | 'start_id'>,
): Promise<boolean> {
  if (start_id === null) return false
  const otherTransactions = db
    .selectFrom('transactions')
    .select(['kind', 'start_id'])
    .where('blockchain', '=', blockchain)
    .where('collection_id', '=', collection_id)
    .where('id', '<>', id)
  const unfinal = await otherTransactions
    .where('state', '=', sql.lit('signed'))
    .unionAll(otherTransactions.where('watched', '=', sql.lit(1)))
    .execute()
  // Count only earlier pending transactions, so that the first transaction never waits for a later one.
  return unfinal.some((other) => other.start_id === null || BigInt(other.start_id) < BigInt(start_id))
}

/** Returns a signer's pending transactions, in the order of their nonces. */
export async function listSignedTransactions(db: Db, blockchain: Blockchain, signer: string) {
  // Sort here, because SQLite would read all transactions of the signer to return them in this order.
  const rows = await db
    .selectFrom('transactions')
    .select(['id', 'nonce', 'raw', 'run', 'run_collection_id'])
    .where('blockchain', '=', blockchain)
    .where('signer', '=', signer)
    .where('state', '=', sql.lit('signed'))
    .execute()
  return rows.sort(compareNonces)
}

/**
 * Claims signed transactions of a blockchain, in order to send them and look up their outcomes. EVM transactions are
 * claimed in nonce order, and Solana transactions in the order of their due times.
 */
export async function claimSignedTransactions(
  db: Db,
  blockchain: Blockchain,
  options: ClaimOptions,
): Promise<TransactionRow[]> {
  const candidates = db
    .selectFrom('transactions')
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('state', '=', sql.lit('signed'))
    .$if(isEvm(blockchain), (query) => query.orderBy('nonce'))
    .$if(!isEvm(blockchain), (query) => query.orderBy('next_attempt_at').orderBy('id'))
  const rows = await withDue(db, candidates, options)
    .updateTable('transactions')
    .set(newLease(options))
    .where('id', 'in', ({ selectFrom }) => selectFrom('due').select('due.id'))
    .returningAll()
    .execute()
  return rows.sort(compareNonces)
}

/** Compares transactions by nonce. Transactions without nonces are sorted by the time when they were signed. */
const compareNonces = (a: Pick<TransactionRow, 'id' | 'nonce'>, b: Pick<TransactionRow, 'id' | 'nonce'>): number =>
  (a.nonce ?? 0) - (b.nonce ?? 0) || (a.id < b.id ? -1 : 1)

/** Locks a transaction until the database transaction ends, and returns the run that pays for it. */
export async function lockTransactionAndReadRun(db: Db, { id }: Pick<TransactionRow, 'id'>): Promise<string | null> {
  const query = db.selectFrom('transactions').select('run').where('id', '=', id)
  const row = await query.$if(isPostgres(db), (builder) => builder.forNoKeyUpdate()).executeTakeFirst()
  return row?.run ?? null
}

/**
 * Returns the time when the next unfinished transaction of a blockchain is due, whether claimed or not. Returns null if
 * there is none.
 */
export async function readNextSignedDueAt(db: Db, blockchain: Blockchain): Promise<number | null> {
  const row = await db
    .selectFrom('transactions')
    .select(({ fn }) => fn.min('next_attempt_at').as('at'))
    .where('blockchain', '=', blockchain)
    .where('state', '=', sql.lit('signed'))
    .executeTakeFirst()
  return row?.at ?? null
}

/** Returns blockchains with transactions that aren't final, or whose blocks may still be reverted. */
export async function listUnsettledBlockchains(db: Db): Promise<Blockchain[]> {
  const rows = await db
    .selectFrom('transactions')
    .select('blockchain')
    .where('state', '=', sql.lit('signed'))
    .union(db.selectFrom('transactions').select('blockchain').where('watched', '=', sql.lit(1)))
    .execute()
  return rows.map((row) => row.blockchain)
}
