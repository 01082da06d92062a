/**
 * Returns whether a node's error means that it no longer has the state of a block. Embedded chains keep only the state
 * of the newest block, so a read at a block fails once the next block is mined.
 */
export function isStatePruned(message: string): boolean {
  const [, height, requested] = /BlockOutOfRange.*block height is (\d+) but requested was (\d+)/.exec(message) ?? []
  return Number(requested) < Number(height)
}

/**
 * Maximum number of blocks at which a read is tried. While a drop is minted, an embedded chain mines several blocks a
 * second.
 */
export const BLOCKS_TO_TRY = 30
