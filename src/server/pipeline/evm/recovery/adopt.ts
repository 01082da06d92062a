import { parseTransaction } from 'viem'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { newId } from '../../../../core/ids.ts'
import type { Hex } from '../../../chain/evm/network.ts'
import { addTransactions, requeueLostTransaction } from '../../../state/transactions.ts'
import { CANCELS, insertAttempts, listAttempts } from '../../../store/attempts.ts'
import type { Db } from '../../../store/schema.ts'
import { findTransactionByNonce, raiseNonce, type TransactionRow } from '../../../store/transactions.ts'
import type { SignedTransaction } from '../../driver.ts'
import { buildSignedRow, type TransactionContent } from '../sign-and-store.ts'

/** A transaction of this backend, with its bytes, that was found on chain but isn't in the database. */
export interface RecoveredTransaction {
  blockchain: EvmBlockchain
  hash: Hex
  raw: Hex
  /** The checksummed address of the signer. */
  signer: Hex
  nonce: number
}

/**
 * Stores a transaction that was found on chain as if it had just been signed, in the caller's database transaction. The
 * chain step then submits the same bytes, which has no effect, waits for confirmations, and settles the transaction.
 *
 * @returns null if another transaction in the database has this nonce and may still be mined
 */
export async function adoptTransaction(
  db: Db,
  { blockchain, hash, raw, signer, nonce }: RecoveredTransaction,
  content: TransactionContent,
  now: number,
): Promise<SignedTransaction | null> {
  const sameNonce = await findTransactionByNonce(db, blockchain, signer, nonce)
  if (sameNonce !== null && sameNonce.state !== 'lost') return null
  const row = buildSignedRow(content, { raw, hash }, now)
  const id = sameNonce?.id ?? newId()
  if (sameNonce === null) {
    await addTransactions(db, [{ ...row, id, blockchain, signer, nonce }])
    await raiseNonce(db, blockchain, signer, nonce + 1)
  } else {
    // The database counted the transaction as lost, because it didn't have the mined version. The other signed versions
    // can no longer be mined.
    await db.deleteFrom('transaction_attempts').where('transaction_id', '=', id).execute()
    await requeueLostTransaction(db, id, row)
  }
  return { id, hash, signer, nonce, kind: content.kind }
}

/**
 * Stores a signed version that was found on chain for a pending transaction, such as a fee increase that the database
 * doesn't have.
 */
export async function adoptAttempt(
  db: Db,
  transaction: TransactionRow,
  { hash, raw }: Pick<RecoveredTransaction, 'hash' | 'raw'>,
  now: number,
): Promise<void> {
  const { id } = transaction
  const attempts = (await listAttempts(db, [id])).get(id) ?? []
  const attempt = (number: number, signing: { hash: string; raw: string }, created_at: number) => ({
    transaction_id: id,
    number,
    hash: signing.hash,
    raw: signing.raw,
    created_at,
    cancels: CANCELS.nothing,
    ...parseFees(signing.raw as Hex),
  })
  await insertAttempts(db, [
    ...(attempts.length === 0 ? [attempt(0, transaction, transaction.created_at)] : []),
    attempt(Math.max(1, attempts.length), { hash, raw }, now),
  ])
  await db
    .updateTable('transactions')
    .set((row) => ({ hash, raw, generation: row('generation', '+', 1), lease_until: 0, next_attempt_at: now }))
    .where('id', '=', id)
    .where('state', '=', 'signed')
    .execute()
}

function parseFees(raw: Hex) {
  const { gasPrice = 0n, maxFeePerGas = gasPrice, maxPriorityFeePerGas = gasPrice } = parseTransaction(raw)
  return { max_fee_per_gas: String(maxFeePerGas), max_priority_fee_per_gas: String(maxPriorityFeePerGas) }
}
