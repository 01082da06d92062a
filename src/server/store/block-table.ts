import { chunksOf } from '../../core/chunks-of.ts'
import type { BlockReader, ContentBlock } from '../../ipfs/cid.ts'
import { addPublications } from './publications.ts'
import type { Db, PublishTarget } from './schema.ts'

/**
 * Storage of small blocks in a table of the backend's database. Existing blocks are overwritten only by `repairBlocks`,
 * because the content of a CID can't change.
 */
export interface BlockTable extends BlockReader {
  /** Stores all blocks or none, so that stored directories and large files are always complete. */
  put(blocks: readonly ContentBlock[]): Promise<void>
}

// The number is small enough for the statement to be cached and reused.
const BLOCKS_PER_INSERT = 100

/**
 * Stores all blocks or none.
 *
 * @param target a target to which the content of the last block is also published
 */
export async function putBlocks(db: Db, blocks: readonly ContentBlock[], target?: PublishTarget): Promise<void> {
  for (const chunk of chunksOf(blocks, BLOCKS_PER_INSERT)) {
    await db
      .insertInto('blocks')
      .values(chunk)
      .onConflict((conflict) => conflict.column('cid').doNothing())
      .execute()
  }
  const root = blocks.at(-1)
  if (target !== undefined && root !== undefined) await addPublications(db, target, [root.cid])
}

/** Stores blocks whose bytes were checked against their CIDs. Replaces stored blocks that have other bytes. */
export async function repairBlocks(db: Db, blocks: readonly ContentBlock[]): Promise<void> {
  for (const chunk of chunksOf(blocks, BLOCKS_PER_INSERT)) {
    await db
      .insertInto('blocks')
      .values(chunk)
      .onConflict((conflict) =>
        conflict
          .column('cid')
          .doUpdateSet({ bytes: ({ ref }) => ref('excluded.bytes') })
          .whereRef('blocks.bytes', '<>', 'excluded.bytes'),
      )
      .execute()
  }
}

export function blockTable(db: Db, transaction: <R>(work: (db: Db) => Promise<R>) => Promise<R>): BlockTable {
  return {
    async get(cid) {
      const row = await db.selectFrom('blocks').select('bytes').where('cid', '=', cid).executeTakeFirst()
      // libsql returns an ArrayBuffer, and node:sqlite a Uint8Array.
      return row === undefined ? null : new Uint8Array(row.bytes)
    },
    async has(cid) {
      return (await db.selectFrom('blocks').select('cid').where('cid', '=', cid).executeTakeFirst()) !== undefined
    },
    async put(blocks) {
      await transaction((db) => putBlocks(db, blocks))
    },
  }
}
