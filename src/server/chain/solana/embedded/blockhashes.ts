import { createHash } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'

/** Number of blocks for which a blockhash is valid. */
export const VALID_BLOCKS = 150

export interface Blockhashes {
  at(slot: number): string
  /** Returns whether a transaction with this blockhash may still be executed in a slot. */
  isValid(blockhash: string, slot: number): boolean
}

/**
 * The blockhashes of all slots of an embedded chain. They are derived from the chain's name and genesis, so they aren't
 * stored and stay the same after a restart.
 */
export function createBlockhashes(chain: string): Blockhashes {
  /** The valid blockhashes, oldest first. */
  const window = new Set<string>()
  let windowEnd = -1

  const at = (slot: number) => base58btc.baseEncode(createHash('sha256').update(`${chain}\n${slot}`).digest())

  const windowOf = (slot: number) => {
    for (let next = Math.max(windowEnd + 1, slot - VALID_BLOCKS); next <= slot; next++) window.add(at(next))
    windowEnd = Math.max(windowEnd, slot)
    for (const oldest of window) {
      if (window.size <= VALID_BLOCKS + 1) break
      window.delete(oldest)
    }
    return window
  }

  return { at, isValid: (blockhash, slot) => windowOf(slot).has(blockhash) }
}
