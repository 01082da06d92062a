import { createHash } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'

/** Number of blocks for which a blockhash is valid. */
export const VALID_BLOCKS = 150

export interface Blockhashes {
  at(slot: number): string
  /** Whether a transaction with this blockhash may still be executed in a slot. */
  isValid(blockhash: string, slot: number): boolean
}

/**
 * The blockhash of every slot of an embedded chain. Blockhashes are derived from its name and genesis, so nothing is
 * stored and they are the same after a restart.
 */
export function createBlockhashes(chain: string): Blockhashes {
  let window = new Set<string>()
  let windowEnd = -1

  const at = (slot: number) => base58btc.baseEncode(createHash('sha256').update(`${chain}\n${slot}`).digest())

  const windowOf = (slot: number) => {
    if (slot !== windowEnd) {
      const first = Math.max(0, slot - VALID_BLOCKS)
      window = new Set(Array.from({ length: slot - first + 1 }, (_, index) => at(first + index)))
      windowEnd = slot
    }
    return window
  }

  return { at, isValid: (blockhash, slot) => windowOf(slot).has(blockhash) }
}
