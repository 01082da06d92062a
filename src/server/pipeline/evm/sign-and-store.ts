import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { newId } from '../../../core/ids.ts'
import type { Signer, UnsignedTransaction } from '../../chain/evm/evm-signer.ts'
import type { Hex } from '../../chain/evm/network.ts'
import { addTransactions } from '../../state/transactions.ts'
import type { RunKey } from '../../store/run-costs.ts'
import type { Db, TransactionKind } from '../../store/schema.ts'
import { reserveNonces } from '../../store/transactions.ts'
import type { SignedTransaction } from '../driver.ts'
import { signInCommit } from './commit-signed.ts'

/** The purpose of a transaction, with its collection and run. */
export interface TransactionContent {
  kind: TransactionKind
  collectionId?: string | null
  /** The run that pays for the transaction, if the run has a limit. */
  run?: RunKey | null
  bundle?: { startId: bigint; count: number; directory: string }
  /** The update in the transaction. The sequence is null for a freeze and for a commitment. */
  update?: { sequence: number | null; count: number; directory: string | null }
}

export interface TransactionDraft extends TransactionContent, Omit<UnsignedTransaction, 'nonce'> {
  /** The transaction's ID, if rows already refer to it. Default: a new ID. */
  id?: string
  blockchain: EvmBlockchain
}

/**
 * Reserves the signer's next nonces, signs, and stores the bytes in the caller's database transaction, which
 * `commitSigned` runs. Doesn't send anything. After the commit, only these bytes are sent for these nonces.
 *
 * @returns the transactions, in the order of the drafts
 */
export async function signAndStoreAll(
  db: Db,
  signer: Signer,
  drafts: readonly [TransactionDraft, ...TransactionDraft[]],
  now: number,
): Promise<[SignedTransaction, ...SignedTransaction[]]> {
  const [{ blockchain }] = drafts
  const first = await reserveNonces(db, blockchain, signer.address, drafts.length)
  const unsigned = drafts.map(({ chainId, to, data, gas, fees }, index) => {
    return { chainId, nonce: first + index, to, data, gas, fees }
  })
  const signed = await signInCommit(signer, unsigned)
  const rows = []
  for (const [index, { raw, hash }] of signed.entries()) {
    const draft = drafts[index] ?? drafts[0]
    const row = buildSignedRow(draft, { raw, hash }, now)
    rows.push({ id: draft.id ?? newId(), blockchain, signer: signer.address, nonce: first + index, ...row })
  }
  await addTransactions(db, rows)
  return rows.map(({ id, hash, signer, nonce, kind }) => ({ id, hash, signer, nonce, kind })) as [
    SignedTransaction,
    ...SignedTransaction[],
  ]
}

/** Returns the columns of a signed transaction that isn't in a block yet. Omits the ID and the nonce. */
export function buildSignedRow(
  { kind, collectionId = null, run = null, bundle, update }: TransactionContent,
  { raw, hash }: { raw: Hex; hash: Hex },
  now: number,
) {
  return {
    kind,
    collection_id: collectionId,
    run: run?.run ?? null,
    run_collection_id: run?.collection_id ?? null,
    start_id: bundle === undefined ? null : String(bundle.startId),
    update_sequence: update?.sequence ?? null,
    token_count: (bundle ?? update)?.count ?? 0,
    directory: (bundle ?? update)?.directory ?? null,
    raw,
    hash,
    block_number: null,
    block_hash: null,
    gas_used: null,
    created_at: now,
    next_attempt_at: now,
  }
}

/** Signs and stores one draft, see {@link signAndStoreAll}. */
export async function signAndStore(
  db: Db,
  signer: Signer,
  draft: TransactionDraft,
  now: number,
): Promise<SignedTransaction> {
  const [signed] = await signAndStoreAll(db, signer, [draft], now)
  return signed
}
