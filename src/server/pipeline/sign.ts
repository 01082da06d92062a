import type { EvmBlockchain } from '../../api/blockchains.ts'
import { newId } from '../../core/ids.ts'
import type { Fees, Hex } from '../chain/evm/network.ts'
import type { Signer } from '../chain/signers.ts'
import type { Db, TransactionKind } from '../store/schema.ts'
import { insertTransaction, takeNonce } from '../store/transactions.ts'

export interface Draft {
  blockchain: EvmBlockchain
  chainId: number
  fees: Fees
  kind: TransactionKind
  to: Hex | null
  data: Hex
  gas: bigint
  collectionId?: string
  batch?: { startId: bigint; count: number; directory: string }
}

/**
 * Takes the signer's next nonce, signs, and stores the bytes, all in the caller's database transaction. Nothing is
 * sent: once the caller has committed, these bytes and no others are what the network gets for this nonce.
 */
export async function signAndStore(db: Db, signer: Signer, draft: Draft, now: number): Promise<{ id: string }> {
  const { blockchain, chainId, fees, kind, to, data, gas, collectionId = null, batch } = draft
  const nonce = await takeNonce(db, blockchain, signer.address)
  const { raw, hash } = await signer.sign({ chainId, nonce, to, data, gas, fees })
  const id = newId()
  await insertTransaction(db, {
    id,
    blockchain,
    signer: signer.address,
    nonce,
    kind,
    collection_id: collectionId,
    start_id: batch === undefined ? null : String(batch.startId),
    token_count: batch?.count ?? 0,
    directory: batch?.directory ?? null,
    raw,
    hash,
    state: 'signed',
    block_number: null,
    block_hash: null,
    gas_used: null,
    created_at: now,
    next_attempt_at: now,
  })
  return { id }
}
