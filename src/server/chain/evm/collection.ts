import { encodeFunctionData } from 'viem'
import { gdnCollection } from './contracts/generated/artifacts.ts'
import type { Hex } from './network.ts'

/** Tokens in one batch at most; the contract refuses more. */
export const MAX_BATCH = 200

/** Neighbouring tokens of a batch that go to one receiver. */
export interface MintRun {
  receiver: Hex
  count: number
}

export interface MintBatch {
  /** The token id that must be next on chain: a second execution reverts. */
  startId: bigint
  /** In the order of the batch's metadata files. */
  runs: readonly MintRun[]
  /** sha2-256 digest (32 bytes) of the IPFS directory with the batch's `0.json`, `1.json`, … */
  digest: Hex
}

export interface GrantBatch {
  startId: bigint
  /** Gets every token first. */
  sender: Hex
  /** Who has each token in the end, in the order of the metadata files. */
  receivers: readonly Hex[]
  digest: Hex
}

/** Call data that mints a batch, to be sent to the collection by an operator. */
export function encodeMint({ startId, runs, digest }: MintBatch): Hex {
  const receivers = runs.map((run) => run.receiver)
  const counts = runs.map((run) => BigInt(run.count))
  return encodeFunctionData({
    abi: gdnCollection.abi,
    functionName: 'mint',
    args: [startId, receivers, counts, digest],
  })
}

/** Call data that moves a token, to be sent to the collection by its holder or, while transfers are on, an operator. */
export function encodeTransfer({ from, to, tokenId }: { from: Hex; to: Hex; tokenId: bigint }): Hex {
  return encodeFunctionData({ abi: gdnCollection.abi, functionName: 'transferFrom', args: [from, to, tokenId] })
}

/** Call data that mints a batch to `sender` and transfers each token on in the same transaction. */
export function encodeGrant({ startId, sender, receivers, digest }: GrantBatch): Hex {
  return encodeFunctionData({
    abi: gdnCollection.abi,
    functionName: 'grant',
    args: [startId, sender, receivers, digest],
  })
}
