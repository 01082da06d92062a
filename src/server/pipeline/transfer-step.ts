import type { EvmBlockchain } from '../../api/blockchains.ts'
import { encodeTransfer } from '../chain/evm/collection.ts'
import { TRANSFER_GAS_LIMIT } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { AskSigning, Signer } from '../chain/signers.ts'
import type { Store } from '../store/open-store.ts'
import { assignTransfer, blockchainsWithUnsigned, isForSigning, listUnsigned } from '../store/transfers.ts'
import type { Turn } from './loop.ts'
import { type Draft, signAndStore } from './sign.ts'
import { lanesOf } from './signed-ahead.ts'

/** Places in each lane that transfers leave to mints and collections, be they ever so many. */
const LEFT_FREE = 16

export interface TransferStepOptions {
  store: Store
  signing: AskSigning
  now: () => number
  onSigned: (blockchain: EvmBlockchain) => void
  /** Blockchains that this process works on; by default all. */
  serves?: (blockchain: EvmBlockchain) => boolean
}

class LostRace extends Error {}

/** Signs accepted transfers, each as a transaction of its own: tokens move independently of each other. */
export function createTransferStep({ store, signing, now, onSigned, serves = () => true }: TransferStepOptions): Turn {
  const sign = async (
    terms: Pick<Draft, 'blockchain' | 'chainId' | 'fees'>,
    operator: Signer,
    transfer: Awaited<ReturnType<typeof listUnsigned>>[number],
  ): Promise<void> => {
    const { id, sender, receiver, token_id, contract_address } = transfer
    if (token_id === null) throw new Error(`the NFT of transfer ${id} has no token`)
    const draft = {
      ...terms,
      kind: 'transfer',
      to: contract_address as Hex,
      data: encodeTransfer({ from: sender as Hex, to: receiver as Hex, tokenId: BigInt(token_id) }),
      gas: TRANSFER_GAS_LIMIT,
    } as const
    try {
      await store.transaction(async (db) => {
        // Before a nonce is taken: others wait for it until this transaction ends.
        if (!(await isForSigning(db, id))) throw new LostRace()
        const transaction = await signAndStore(db, operator, draft, now())
        if (!(await assignTransfer(db, id, transaction.id))) throw new LostRace()
      })
    } catch (error) {
      // Another worker has signed it: with what was rolled back here, its nonce is free again.
      if (!(error instanceof LostRace)) throw error
    }
  }

  return async () => {
    for (const blockchain of await blockchainsWithUnsigned(store.db)) {
      if (!serves(blockchain)) continue
      const { chainId, signers, fees } = await signing(blockchain)
      const places = (await lanesOf(store.db, blockchain, signers.operators)).flatMap(({ signer, room }) =>
        new Array<Signer>(Math.max(0, room - LEFT_FREE)).fill(signer),
      )
      if (places.length === 0) continue
      const transfers = await listUnsigned(store.db, blockchain, places.length)
      const terms = { blockchain, chainId, fees }
      // Handed in together, they share a commit.
      const signed = transfers.map((transfer, index) => sign(terms, places[index] as Signer, transfer))
      const outcomes = await Promise.allSettled(signed)
      if (outcomes.some((outcome) => outcome.status === 'fulfilled')) onSigned(blockchain)
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    }
    // What found no room is signed when something ahead is finished.
    return null
  }
}
