import type {
  CollectionStatus,
  NftStatus,
  NftStep,
  TransactionState,
  TransferStatus,
  UpdateStatus,
  UpdateStep,
} from '../../../src/server/store/schema.ts'

type Transitions<Value extends string> = Readonly<Record<Value, readonly Value[]>>

/** A collection. A reorg that removes its deployment makes it `initiated` again. */
const collectionStatus: Transitions<CollectionStatus> = {
  initiated: ['deployed', 'failed'],
  deployed: ['initiated'],
  failed: [],
}

/** An NFT as the API shows it. A reorg that removes its mint makes it `initiated` again. */
const nftStatus: Transitions<NftStatus> = {
  initiated: ['deployed', 'failed'],
  deployed: ['initiated'],
  failed: [],
}

/**
 * An NFT in the pipeline. `chain` returns to `mint` if its transaction had no effect, and `done` to `chain` if a reorg
 * removed its mint.
 */
const nftStep: Transitions<NftStep> = {
  files: ['mint', 'done'],
  mint: ['chain', 'done'],
  chain: ['mint', 'done'],
  done: ['chain'],
}

/** A transfer. A reorg that removes it makes it `initiated` again. */
const transferStatus: Transitions<TransferStatus> = {
  initiated: ['deployed', 'failed'],
  deployed: ['initiated'],
  failed: [],
}

/** An update or a freeze. A reorg that removes it makes it `initiated` again. */
const updateStatus: Transitions<UpdateStatus> = {
  initiated: ['deployed', 'failed'],
  deployed: ['initiated'],
  failed: [],
}

/** An update in the pipeline, with the same steps as an NFT. */
const updateStep: Transitions<UpdateStep> = {
  files: ['sign', 'done'],
  sign: ['chain', 'done'],
  chain: ['sign', 'done'],
  done: ['chain'],
}

/** A transaction. A reorg makes it `signed` again, and so does a signing that is found on chain. */
const transactionState: Transitions<TransactionState> = {
  signed: ['final', 'reverted', 'lost', 'cancelled'],
  final: ['signed'],
  reverted: [],
  lost: ['signed'],
  cancelled: [],
}

/**
 * The allowed transitions of each column that only this folder writes. A new row may have any value except the last
 * ones.
 */
export const TRANSITIONS = {
  'collections.status': collectionStatus,
  'nfts.status': nftStatus,
  'nfts.step': nftStep,
  'transfers.status': transferStatus,
  'updates.status': updateStatus,
  'updates.step': updateStep,
  'transactions.state': transactionState,
} as const
