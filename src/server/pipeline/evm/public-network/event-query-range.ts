/** Blocks and addresses of one question about events; many providers take fewer, and none says how many. */
const MOST_BLOCKS = 2000
const MOST_ADDRESSES = 1000
/** Answers to as much as is taken, until more is tried again: the limit may have been another provider's. */
const TRY_MORE_AFTER = 100

/** How much a network's providers take at once, by their refusals so far. */
export interface EventQueryRange {
  readonly blocks: number
  readonly addresses: number
  /** So many blocks were answered. */
  grow(blocks: number): void
  /** There was no answer: for now less is asked for. */
  shrink(): void
  /** So many blocks were refused, in these words: from now on less is asked for. False where it can't be less. */
  refused(blocks: number, words: string): boolean
}

export function createEventQueryRange(): EventQueryRange {
  let [blocks, most] = [MOST_BLOCKS, MOST_BLOCKS]
  let addresses = MOST_ADDRESSES
  let answered = 0

  const half = (number: number) => Math.max(1, Math.floor(number / 2))

  return {
    get blocks() {
      return blocks
    },
    get addresses() {
      return addresses
    },
    grow(taken) {
      if (taken < blocks) return
      answered += 1
      if (answered % TRY_MORE_AFTER === 0) most = Math.min(MOST_BLOCKS, 2 * most)
      blocks = Math.min(most, 2 * blocks)
    },
    shrink() {
      blocks = half(blocks)
    },
    refused(asked, words) {
      answered = 0
      const isOfAddresses = /address/i.test(words) && addresses > 1
      if (asked > 1 && !isOfAddresses) {
        blocks = half(Math.min(asked, blocks))
        most = blocks
        return true
      }
      if (addresses === 1) return false
      addresses = half(addresses)
      return true
    },
  }
}
