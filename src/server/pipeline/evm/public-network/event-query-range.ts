/**
 * Maximum number of blocks in one query for events. Many providers accept fewer blocks, and none documents its limit.
 */
const MAX_BLOCKS = 2000
const MAX_ADDRESSES = 1000
/**
 * Number of successful queries after which a larger range is tried again, because a different provider may have caused
 * the smaller range.
 */
const ENLARGE_AFTER = 100

/** The query range that a network's providers accept. The range adapts to their errors. */
export interface EventQueryRange {
  readonly blocks: number
  readonly addresses: number
  /** Records that a query of this many blocks succeeded. */
  grow(blocks: number): void
  /** Records that a query got no response. The next query is smaller. */
  shrink(): void
  /**
   * Records that a query of this many blocks was rejected with this message. Further queries are smaller. Returns false
   * if the range can't get smaller.
   */
  refused(blocks: number, message: string): boolean
}

export function createEventQueryRange(): EventQueryRange {
  let [blocks, most] = [MAX_BLOCKS, MAX_BLOCKS]
  let addresses = MAX_ADDRESSES
  let answered = 0

  const half = (number: number) => Math.max(1, Math.floor(number / 2))

  return {
    get blocks() {
      return blocks
    },
    get addresses() {
      return addresses
    },
    grow(blockCount) {
      if (blockCount < blocks) return
      answered += 1
      if (answered % ENLARGE_AFTER === 0) most = Math.min(MAX_BLOCKS, 2 * most)
      blocks = Math.min(most, 2 * blocks)
    },
    shrink() {
      blocks = half(blocks)
    },
    refused(blockCount, message) {
      answered = 0
      const isOfAddresses = /address/i.test(message) && addresses > 1
      if (blockCount > 1 && !isOfAddresses) {
        blocks = half(Math.min(blockCount, blocks))
        most = blocks
        return true
      }
      if (addresses === 1) return false
      addresses = half(addresses)
      return true
    },
  }
}
