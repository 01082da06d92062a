import { decodeFunctionData, encodeFunctionData } from 'viem'
import { gdnCollection } from './contracts/generated/artifacts.ts'
import type { Hex } from './network.ts'

const { abi } = gdnCollection

/** Maximum number of updates of a collection. The contract stores update numbers in 24 bits. */
export const MAX_UPDATES = 2 ** 24 - 1

/** A metadata update of at most `MAX_TOKENS_PER_CALL` tokens. */
export interface UpdateCall {
  /** The number of the update in its collection, starting at 1. The contract accepts only the next number. */
  sequence: number
  /** The token IDs in any order, without duplicates. */
  tokenIds: readonly bigint[]
  /** sha2-256 digest (32 bytes) of the IPFS directory with `<token ID>.json` of each token. */
  digest: Hex
}

/** Returns call data that updates tokens. An operator sends the call to the collection. */
export function encodeUpdate({ sequence, tokenIds, digest }: UpdateCall): Hex {
  const { firsts, counts } = splitIntoRuns(tokenIds)
  return encodeFunctionData({ abi, functionName: 'update', args: [sequence, firsts, counts, digest] })
}

/** Returns call data that freezes the metadata of at most `MAX_TOKENS_PER_CALL` tokens. An operator sends the call. */
export function encodeFreeze(tokenIds: readonly bigint[]): Hex {
  const { firsts, counts } = splitIntoRuns(tokenIds)
  return encodeFunctionData({ abi, functionName: 'freeze', args: [firsts, counts] })
}

/**
 * Returns call data that burns a token. The holder sends the call. In a collection with `enableBurn`, an operator can
 * send it too.
 */
export function encodeBurn({ holder, tokenId }: { holder: Hex; tokenId: bigint }): Hex {
  return encodeFunctionData({ abi, functionName: 'burn', args: [holder, tokenId] })
}

/**
 * Returns call data that commits to metadata that will be revealed later. An operator can send it once for each hash.
 */
export function encodeCommitProvenance(provenance: Hex): Hex {
  return encodeFunctionData({ abi, functionName: 'commitProvenance', args: [provenance] })
}

/** Decodes the call data of `update`; returns null for any other call. Token IDs are in the order of the call. */
export function decodeUpdate(data: Hex): UpdateCall | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi, data })
    if (functionName !== 'update') return null
    const [sequence, firsts, counts, digest] = args
    return { sequence, tokenIds: expandRuns(firsts, counts), digest }
  } catch {
    return null
  }
}

/** Decodes the token IDs of `freeze`; returns null for any other call. */
export function decodeFreeze(data: Hex): bigint[] | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi, data })
    return functionName === 'freeze' ? expandRuns(args[0], args[1]) : null
  } catch {
    return null
  }
}

/** Splits token IDs into runs of consecutive IDs in ascending order, as the contract expects them. */
function splitIntoRuns(tokenIds: readonly bigint[]): { firsts: bigint[]; counts: bigint[] } {
  const firsts: bigint[] = []
  const counts: bigint[] = []
  let next: bigint | null = null
  for (const id of [...tokenIds].sort((a, b) => (a < b ? -1 : 1))) {
    if (id === next) counts.push((counts.pop() ?? 0n) + 1n)
    else {
      firsts.push(id)
      counts.push(1n)
    }
    next = id + 1n
  }
  return { firsts, counts }
}

const expandRuns = (firsts: readonly bigint[], counts: readonly bigint[]): bigint[] =>
  firsts.flatMap((first, run) => Array.from({ length: Number(counts[run] ?? 0n) }, (_, index) => first + BigInt(index)))
