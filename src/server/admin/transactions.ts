import { sql } from 'kysely'
import { formatGwei, type Hex, parseTransaction } from 'viem'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { type AttemptRow, CANCELS, listAttempts } from '../store/attempts.ts'
import { findChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import type { TransactionAction, TransactionState } from '../store/schema.ts'
import { combineActions, requireNonce, type TransactionRow } from '../store/transactions.ts'

/**
 * A transaction's state as shown to an operator. A signed transaction in a block is `mined`, or `cancelled` if the
 * block has the empty transaction with the same nonce instead. The state is `confirmed` after the number of
 * confirmations that the network requires, and `final` when no reorg can remove the block.
 */
export type ShownState = TransactionState | 'mined' | 'confirmed'

export interface TransactionFilter {
  blockchain?: EvmBlockchain | undefined
  state?: ShownState | undefined
  limit: number
}

/** A signed transaction of an EVM chain, as shown to an operator. */
export interface ShownTransaction {
  id: string
  blockchain: string
  kind: string
  state: ShownState
  signer: string
  nonce: number
  hash: string
  /** Number of NFTs that the transaction mints, updates or freezes. */
  nfts: number
  collection_id: string | null
  block_number: number | null
  gas_used: string | null
  requested_action: TransactionAction | null
  /** Time of creation in ISO 8601. */
  created_at: string
}

export interface ShownAttempt {
  hash: string
  max_fee_gwei: string
  /** Whether this signed version uses the nonce without any other effect. */
  cancels: boolean
  created_at: string
}

/** Lists transactions of EVM chains, newest first. */
export async function listTransactions(store: Store, filter: TransactionFilter): Promise<ShownTransaction[]> {
  let query = store.db.selectFrom('transactions').selectAll().where('nonce', 'is not', null)
  if (filter.blockchain !== undefined) query = query.where('blockchain', '=', filter.blockchain)
  const { state } = filter
  if (state === 'cancelled') {
    query = query.where((is) => is.or([is('state', '=', 'cancelled'), is.and({ state: 'signed', mined: 'cancelled' })]))
  } else if (state !== undefined) query = query.where('state', '=', storedState(state))
  if (state === 'signed') query = query.where('mined', 'is', null)
  if (state === 'mined') query = query.where('mined', 'in', ['success', 'reverted'])
  if (state === 'confirmed' || state === 'final') query = query.where('watched', '=', state === 'final' ? 0 : 1)
  const rows = await query.orderBy('created_at', 'desc').orderBy('nonce', 'desc').limit(filter.limit).execute()
  return rows.map(shownTransaction)
}

/**
 * Finds a transaction of an EVM chain by its ID or by the hash of any signed version. Returns the transaction with all
 * signed versions.
 *
 * @throws GdnError `not_found_locally`
 */
export async function showTransaction(
  store: Store,
  idOrHash: string,
): Promise<ShownTransaction & { attempts: ShownAttempt[] }> {
  const row = await findTransaction(store, idOrHash)
  const attempts = (await listAttempts(store.db, [row.id])).get(row.id) ?? toAttempts(row)
  return {
    ...shownTransaction(row),
    attempts: attempts.map(({ hash, max_fee_per_gas, cancels, created_at }) => ({
      hash,
      max_fee_gwei: formatGwei(BigInt(max_fee_per_gas)),
      cancels: cancels !== CANCELS.nothing,
      created_at: iso(created_at),
    })),
  }
}

function toAttempts({
  raw,
  hash,
  created_at,
}: TransactionRow): Pick<AttemptRow, 'hash' | 'max_fee_per_gas' | 'cancels' | 'created_at'>[] {
  if (raw === '') return []
  const { maxFeePerGas, gasPrice } = parseTransaction(raw as Hex)
  const fee = maxFeePerGas ?? gasPrice ?? 0n
  return [{ hash, max_fee_per_gas: String(fee), cancels: CANCELS.nothing, created_at }]
}

/**
 * Finds a pending transaction that can be replaced.
 *
 * @throws GdnError `not_found_locally`; `usage` if it is mined, not pending or on an embedded chain
 */
export async function findReplaceableTransaction(store: Store, idOrHash: string): Promise<ShownTransaction> {
  const row = await findTransaction(store, idOrHash)
  if ((await findChain(store.db, row.blockchain as EvmBlockchain))?.network !== 'remote') {
    throw new GdnError('usage', `${row.blockchain} is an embedded chain, where no transaction can be stuck`)
  }
  const { id, state } = shownTransaction(row)
  if (state === 'signed') return shownTransaction(row)
  if (state === 'mined') {
    throw new GdnError('usage', `the transaction ${id} is already mined: it can't be replaced`, {
      hint: `Run \`gdn tx show ${id}\` to see when the transaction is final.`,
    })
  }
  throw new GdnError('usage', `the transaction ${id} is no longer pending: its state is ${state}`, {
    hint: `Run \`gdn tx show ${id}\` to see the outcome.`,
  })
}

/**
 * Records an operator's request for a pending transaction. The process that has the signer's key carries out the
 * request.
 *
 * @throws GdnError as `findReplaceableTransaction`
 */
export async function requestAction(
  store: Store,
  idOrHash: string,
  action: TransactionAction,
  now: number,
): Promise<ShownTransaction> {
  for (;;) {
    const transaction = await findReplaceableTransaction(store, idOrHash)
    const { requested_action: earlier } = transaction
    const requested = combineActions(transaction, action)
    const { numUpdatedRows } = await store.db
      .updateTable('transactions')
      .set({ requested_action: requested, next_attempt_at: now })
      .where('id', '=', transaction.id)
      .where('requested_action', earlier === null ? 'is' : '=', earlier)
      .where('state', '=', sql.lit('signed'))
      .where('mined', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) return { ...transaction, requested_action: requested }
  }
}

/**
 * Returns the stored transaction with this ID, or with a signed version that has this hash.
 *
 * @throws GdnError `not_found_locally`
 */
export async function findTransaction({ db }: Store, idOrHash: string): Promise<TransactionRow> {
  const byName = await db
    .selectFrom('transactions')
    .selectAll()
    .where((is) => is.or([is('id', '=', idOrHash), is('hash', '=', idOrHash)]))
    .where('nonce', 'is not', null)
    .executeTakeFirst()
  if (byName !== undefined) return byName
  const byAttempt = await db
    .selectFrom('transactions')
    .innerJoin('transaction_attempts', 'transaction_attempts.transaction_id', 'transactions.id')
    .selectAll('transactions')
    .where('transaction_attempts.hash', '=', idOrHash)
    .executeTakeFirst()
  if (byAttempt !== undefined) return byAttempt
  throw new GdnError('not_found_locally', `this backend has not signed the transaction ${idOrHash}`, {
    hint: 'Run `gdn tx list` to list the transactions.',
  })
}

/** Converts a state that is shown to an operator to the state in the database. */
function storedState(state: ShownState): TransactionState {
  if (state === 'mined') return 'signed'
  return state === 'confirmed' ? 'final' : state
}

function shownState({ state, mined, watched }: Pick<TransactionRow, 'state' | 'mined' | 'watched'>): ShownState {
  if (state === 'signed') return mined === null ? 'signed' : mined === 'cancelled' ? mined : 'mined'
  return state === 'final' && watched === 1 ? 'confirmed' : state
}

function shownTransaction(row: TransactionRow): ShownTransaction {
  const { id, blockchain, kind, signer, hash, collection_id, block_number, gas_used, requested_action } = row
  const created_at = iso(row.created_at)
  const nfts = row.token_count
  return {
    id,
    blockchain,
    kind,
    state: shownState(row),
    signer,
    nonce: requireNonce(row),
    hash,
    nfts,
    collection_id,
    block_number,
    gas_used,
    requested_action,
    created_at,
  }
}

const iso = (ms: number) => new Date(ms).toISOString()
