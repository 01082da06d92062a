import { decodeFunctionData, encodeFunctionData } from 'viem'
import { gdnCollection } from './contracts/generated/artifacts.ts'
import type { Hex } from './network.ts'

/** Maximum number of tokens in a bundle, an update or a freeze. The contract rejects more. */
export const MAX_TOKENS_PER_CALL = 200

/** Consecutive tokens in a bundle that have the same receiver. */
export interface ReceiverGroup {
  receiver: Hex
  count: number
}

export interface MintCall {
  /**
   * The next token ID that the call expects on chain. A second execution of the call reverts, because the ID has
   * changed.
   */
  startId: bigint
  /** The mints of the bundle, in the order of its metadata files. */
  groups: readonly ReceiverGroup[]
  /** sha2-256 digest (32 bytes) of the IPFS directory with the bundle's `0.json`, `1.json`, … */
  digest: Hex
  /** Whether the tokens can be updated. Not set in a dynamic collection, where all tokens can be updated. */
  dynamic?: boolean
}

export interface GrantCall {
  startId: bigint
  /** The account to which every token is minted first. */
  sender: Hex
  /** The final receiver of each token, in the order of the metadata files. */
  receivers: readonly Hex[]
  digest: Hex
}

/** Returns call data that mints a bundle. An operator sends the call to the collection. */
export function encodeMint({ startId, groups, digest, dynamic = false }: MintCall): Hex {
  const receivers = groups.map((group) => group.receiver)
  const counts = groups.map((group) => BigInt(group.count))
  return encodeFunctionData({
    abi: gdnCollection.abi,
    functionName: dynamic ? 'mintDynamic' : 'mint',
    args: [startId, receivers, counts, digest],
  })
}

/**
 * Returns call data that transfers a token. The owner sends it to the collection. While `enableTransfer` is on, an
 * operator can send it too.
 */
export function encodeTransfer({ from, to, tokenId }: { from: Hex; to: Hex; tokenId: bigint }): Hex {
  return encodeFunctionData({ abi: gdnCollection.abi, functionName: 'transferFrom', args: [from, to, tokenId] })
}

/** Returns call data that mints a bundle to `sender` and transfers each token to its receiver in one transaction. */
export function encodeGrant({ startId, sender, receivers, digest }: GrantCall): Hex {
  return encodeFunctionData({
    abi: gdnCollection.abi,
    functionName: 'grant',
    args: [startId, sender, receivers, digest],
  })
}

/** A bundle that was decoded from a transaction on chain, with one receiver per token. */
export interface MintedBundle {
  startId: bigint
  /** The sender of a grant; null for a mint without transfers. */
  sender: Hex | null
  /** The checksummed receiver of each token. */
  receivers: readonly Hex[]
  digest: Hex
  /** Whether the bundle was minted with `mintDynamic`. */
  dynamic: boolean
}

/** Decodes the call data of `mint`, `mintDynamic` and `grant`; returns null for any other call. */
export function decodeMint(data: Hex): MintedBundle | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: gdnCollection.abi, data })
    if (functionName === 'mint' || functionName === 'mintDynamic') {
      const [startId, holders, counts, digest] = args
      const receivers = holders.flatMap((receiver, index) => Array<Hex>(Number(counts[index] ?? 0n)).fill(receiver))
      return { startId, sender: null, receivers, digest, dynamic: functionName === 'mintDynamic' }
    }
    if (functionName !== 'grant') return null
    const [startId, sender, receivers, digest] = args
    return { startId, sender, receivers, digest, dynamic: false }
  } catch {
    return null
  }
}
