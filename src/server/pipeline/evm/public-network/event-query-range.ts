/**
 * Maximum number of blocks in one query for events. Many providers accept fewer blocks, and none documents its limit.
 */
const MAX_BLOCKS_PER_QUERY = 2000
const MAX_ADDRESSES_PER_QUERY = 1000
/**
 * Number of successful queries after which a larger range is tried again, because a different provider may have caused
 * the smaller range.
 */
const QUERIES_BEFORE_GROWTH = 100

/** The query range that a network's providers accept. The range adapts to their errors. */
export interface EventQueryRange {
  readonly blocks: number
  readonly addresses: number
  /** Records that a query of this many blocks succeeded. */
  recordSuccess(blocks: number): void
  /** Records that a query got no response. The next query is smaller. */
  recordNoResponse(): void
  /**
   * Records that a query of this many blocks was rejected with this message. Further queries are smaller. Returns false
   * if the range can't get smaller.
   */
  recordRejection(blocks: number, message: string): boolean
}

export function createEventQueryRange(): EventQueryRange {
  let [blocks, blockLimit] = [MAX_BLOCKS_PER_QUERY, MAX_BLOCKS_PER_QUERY]
  let addresses = MAX_ADDRESSES_PER_QUERY
  let successCount = 0

  const half = (number: number) => Math.max(1, Math.floor(number / 2))

  return {
    get blocks() {
      return blocks
    },
    get addresses() {
      return addresses
    },
    recordSuccess(blockCount) {
      if (blockCount < blocks) return
      successCount += 1
      if (successCount % QUERIES_BEFORE_GROWTH === 0) blockLimit = Math.min(MAX_BLOCKS_PER_QUERY, 2 * blockLimit)
      blocks = Math.min(blockLimit, 2 * blocks)
    },
    recordNoResponse() {
      blocks = half(blocks)
    },
    recordRejection(blockCount, message) {
      successCount = 0
      const isAddressLimit = /address/i.test(message) && addresses > 1
      if (blockCount > 1 && !isAddressLimit) {
        blocks = half(Math.min(blockCount, blocks))
        blockLimit = blocks
        return true
      }
      if (addresses === 1) return false
      addresses = half(addresses)
      return true
    },
  }
}
