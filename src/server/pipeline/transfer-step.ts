import type { EvmBlockchain } from '../../api/blockchains.ts'
import { encodeTransfer } from '../chain/evm/collection.ts'
import { TRANSFER_GAS_LIMIT } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { Signers } from '../chain/signers.ts'
import type { Store } from '../store/open-store.ts'
import { assignTransfer, blockchainsWithUnsigned, listUnsigned } from '../store/transfers.ts'
import type { Turn } from './loop.ts'
import { signAndStore } from './sign.ts'
import { roomInLane } from './signed-ahead.ts'

/** Places in the signer's lane that transfers leave to mints and collections, be they ever so many. */
const LEFT_FREE = 16

export interface TransferStepOptions {
  store: Store
  signers: Signers
  now: () => number
  onSigned: (blockchain: EvmBlockchain) => void
}

class LostRace extends Error {}

/** Signs accepted transfers, each as a transaction of its own: tokens move independently of each other. */
export function createTransferStep({ store, signers, now, onSigned }: TransferStepOptions): Turn {
  const sign = async (
    blockchain: EvmBlockchain,
    transfer: Awaited<ReturnType<typeof listUnsigned>>[number],
  ): Promise<void> => {
    const { id, sender, receiver, token_id, contract_address } = transfer
    if (token_id === null) throw new Error(`the NFT of transfer ${id} has no token`)
    const draft = {
      blockchain,
      kind: 'transfer',
      to: contract_address as Hex,
      data: encodeTransfer({ from: sender as Hex, to: receiver as Hex, tokenId: BigInt(token_id) }),
      gas: TRANSFER_GAS_LIMIT,
    } as const
    try {
      await store.transaction(async (db) => {
        const transaction = await signAndStore(db, signers.operator, draft, now())
        if (!(await assignTransfer(db, id, transaction.id))) throw new LostRace()
      })
    } catch (error) {
      // Another worker has signed it: with what was rolled back here, its nonce is free again.
      if (!(error instanceof LostRace)) throw error
    }
  }

  return async () => {
    for (const blockchain of await blockchainsWithUnsigned(store.db)) {
      const room = (await roomInLane(store.db, blockchain, signers.operator.address)) - LEFT_FREE
      if (room <= 0) continue
      const transfers = await listUnsigned(store.db, blockchain, room)
      // Handed in together, they share a commit.
      const signing = transfers.map((transfer) => sign(blockchain, transfer))
      const outcomes = await Promise.allSettled(signing)
      if (outcomes.some((outcome) => outcome.status === 'fulfilled')) onSigned(blockchain)
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    }
    // What found no room is signed when something ahead is finished.
    return null
  }
}
