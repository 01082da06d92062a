import type { BlockTable } from '../../store/block-table.ts'
import { parseCid } from '../cid.ts'
import type { NodeBlocks } from './remote-files.ts'

/** The block table, then the blocks of a remote place that others use too. The reader checks remote blocks. */
export function withNodeBlocks(own: BlockTable, nodeBlocks: NodeBlocks): BlockTable {
  const ask = async (text: string) => {
    const cid = parseCid(text)
    return cid === null ? null : await nodeBlocks.block(cid)
  }
  return {
    get: async (cid) => (await own.get(cid)) ?? (await ask(cid)),
    // Pieces of a large file are checked when they are read.
    has: async () => true,
    put: (blocks) => own.put(blocks),
  }
}
