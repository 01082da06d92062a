import { decodeFunctionData, encodeFunctionData } from 'viem'
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

/** A batch as a transaction on chain has it: one receiver for each token. */
export interface MintedBatch {
  startId: bigint
  /** Of a grant; null where tokens are only minted. */
  sender: Hex | null
  /** Checksummed. */
  receivers: readonly Hex[]
  digest: Hex
}

/** Reads the call data of `mint` and `grant`; null for any other call. */
export function decodeBatch(data: Hex): MintedBatch | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: gdnCollection.abi, data })
    if (functionName === 'mint') {
      const [startId, holders, counts, digest] = args
      const receivers = holders.flatMap((receiver, index) => Array<Hex>(Number(counts[index] ?? 0n)).fill(receiver))
      return { startId, sender: null, receivers, digest }
    }
    if (functionName !== 'grant') return null
    const [startId, sender, receivers, digest] = args
    return { startId, sender, receivers, digest }
  } catch {
    return null
  }
}
