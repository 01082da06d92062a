import { type Selectable, sql, type Updateable } from 'kysely'
import type { Blockchain, EvmBlockchain } from '../../api/blockchains.ts'
import type { ClaimOptions } from './claim.ts'
import { isPostgres, momentIn } from './dialect.ts'
import type { Db, TransactionsTable } from './schema.ts'

export type TransactionRow = Selectable<TransactionsTable>

/**
 * Takes the next nonce of a signer, or so many, and returns the first; call it in the transaction that stores what is signed with
 * them. Until that ends, who else wants one of this signer waits.
 */
export async function takeNonce(db: Db, blockchain: Blockchain, signer: string, count = 1): Promise<number> {
  const row = await db
    .insertInto('lanes')
    .values({ blockchain, signer, next_nonce: count })
    .onConflict((conflict) =>
      conflict.columns(['blockchain', 'signer']).doUpdateSet((lane) => ({
        next_nonce: lane('lanes.next_nonce', '+', count),
      })),
    )
    .returning('next_nonce')
    .executeTakeFirstOrThrow()
  return row.next_nonce - count
}

/**
 * Takes note of an account's next nonce as its network has it: a key that was used before doesn't begin at 0, and a
 * restored database doesn't know the last nonces. A lane that is ahead stays as it is.
 */
export async function raiseLane(db: Db, blockchain: Blockchain, signer: string, nextNonce: number): Promise<void> {
  await db
    .insertInto('lanes')
    .values({ blockchain, signer, next_nonce: nextNonce })
    .onConflict((conflict) =>
      conflict
        .columns(['blockchain', 'signer'])
        .doUpdateSet({ next_nonce: nextNonce })
        .where('lanes.next_nonce', '<', nextNonce),
    )
    .execute()
}

/** The next nonce of a signer as far as the database knows; null where none was taken. */
export async function nextNonceOf(db: Db, blockchain: Blockchain, signer: string): Promise<number | null> {
  const lane = await db
    .selectFrom('lanes')
    .select('next_nonce')
    .where('blockchain', '=', blockchain)
    .where('signer', '=', signer)
    .executeTakeFirst()
  return lane?.next_nonce ?? null
}

/** The transaction that was signed with a nonce; null where none was. */
export async function findTransactionByNonce(
  db: Db,
  blockchain: Blockchain,
  signer: string,
  nonce: number,
): Promise<TransactionRow | null> {
  const row = await db
    .selectFrom('transactions')
    .selectAll()
    .where('blockchain', '=', blockchain)
    .where('signer', '=', signer)
    .where('nonce', '=', nonce)
    .executeTakeFirst()
  return row ?? null
}

/** The transaction that deploys a blockchain's factory, signed once. */
export async function findFactoryTransaction(db: Db, blockchain: Blockchain): Promise<TransactionRow | null> {
  const row = await db
    .selectFrom('transactions')
    .selectAll()
    .where('blockchain', '=', blockchain)
    .where('kind', '=', sql.lit('factory'))
    .executeTakeFirst()
  return row ?? null
}

/** Takes away a factory's transaction that came to nothing. */
export async function forgetFactoryTransaction(db: Db, id: string): Promise<void> {
  await db.deleteFrom('transaction_attempts').where('transaction_id', '=', id).execute()
  await db.deleteFrom('transactions').where('id', '=', id).where('kind', '=', sql.lit('factory')).execute()
}

/** Whether a collection has a transaction that isn't final: its lane is taken. */
export async function hasUnfinished(db: Db, collectionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('transactions')
    .select('id')
    .where('collection_id', '=', collectionId)
    .where('state', '=', sql.lit('signed'))
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Whether a reorg can still undo, or has undone, what a transaction of a collection follows: the deployment of the
 * collection, or an earlier batch.
 */
export async function followsUnfinal(
  db: Db,
  { id, blockchain, collection_id, start_id }: Pick<TransactionRow, 'id' | 'blockchain' | 'collection_id' | 'start_id'>,
): Promise<boolean> {
  if (start_id === null) return false
  const others = db
    .selectFrom('transactions')
    .select(['kind', 'start_id'])
    .where('blockchain', '=', blockchain)
    .where('collection_id', '=', collection_id)
    .where('id', '<>', id)
  const unfinal = await others
    .where('state', '=', sql.lit('signed'))
    .unionAll(others.where('watched', '=', sql.lit(1)))
    .execute()
  // Of several that wait, the first is judged first: none waits for a later one.
  return unfinal.some((other) => other.start_id === null || BigInt(other.start_id) < BigInt(start_id))
}

/** The bytes of a signer's transactions that wait for their network, in the order of their nonces. */
export async function listSignedOf(db: Db, blockchain: Blockchain, signer: string): Promise<string[]> {
  // Sorted here: SQLite would read all that the signer ever signed, in their order.
  const rows = await db
    .selectFrom('transactions')
    .select(['nonce', 'raw'])
    .where('blockchain', '=', blockchain)
    .where('signer', '=', signer)
    .where('state', '=', sql.lit('signed'))
    .execute()
  return rows.sort((a, b) => a.nonce - b.nonce).map(({ raw }) => raw)
}

/** Takes signed transactions of a blockchain in the order of their nonces, to send them and to see what became of them. */
export async function claimSigned(
  db: Db,
  blockchain: Blockchain,
  { now, leaseMs, limit }: ClaimOptions,
): Promise<TransactionRow[]> {
  const due = db
    .selectFrom('transactions')
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('state', '=', sql.lit('signed'))
    .where('next_attempt_at', '<=', momentIn(now))
    .where('lease_until', '<=', momentIn(now))
    .orderBy('nonce')
    .limit(limit)
    .$if(isPostgres(db), (query) => query.forNoKeyUpdate().skipLocked())
  const rows = await db
    .with(
      (name) => name('due').materialized(),
      () => due,
    )
    .updateTable('transactions')
    .set((transaction) => ({ lease_until: momentIn(now, leaseMs), generation: transaction('generation', '+', 1) }))
    .where('id', 'in', ({ selectFrom }) => selectFrom('due').select('due.id'))
    .returningAll()
    .execute()
  return rows.sort((a, b) => a.nonce - b.nonce)
}

/** Changes a claimed transaction. False, and nothing is written, if the claim was lost or it is finished already. */
export async function updateSigned(
  db: Db,
  claimed: Pick<TransactionRow, 'id' | 'generation'>,
  changes: Updateable<TransactionsTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('transactions')
    .set({ ...changes, lease_until: 0 })
    .where('id', '=', claimed.id)
    .where('generation', '=', claimed.generation)
    .where('state', '=', 'signed')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Blockchains with transactions that aren't final, or whose blocks may still be undone. */
export async function blockchainsWithSigned(db: Db): Promise<EvmBlockchain[]> {
  const rows = await db
    .selectFrom('transactions')
    .select('blockchain')
    .where('state', '=', sql.lit('signed'))
    .union(db.selectFrom('transactions').select('blockchain').where('watched', '=', sql.lit(1)))
    .execute()
  return rows.map((row) => row.blockchain as EvmBlockchain)
}
