import type { ContentBlock } from '../../src/ipfs/cid.ts'
import type { BlockTable } from '../../src/server/store/block-table.ts'

/** A block table in memory, for tests of code that uses one. */
export class MemoryBlockTable implements BlockTable {
  readonly blocks = new Map<string, Uint8Array>()

  async get(cid: string): Promise<Uint8Array | null> {
    return this.blocks.get(cid) ?? null
  }

  async has(cid: string): Promise<boolean> {
    return this.blocks.has(cid)
  }

  async put(blocks: readonly ContentBlock[]): Promise<void> {
    for (const { cid, bytes } of blocks) if (!this.blocks.has(cid)) this.blocks.set(cid, Uint8Array.from(bytes))
  }
}
