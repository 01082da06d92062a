import type { Block, BlockTable } from '../storage/blocks.ts'
import { addPublications } from './publications.ts'
import type { Db, PublishTarget } from './schema.ts'

const BLOCKS_PER_INSERT = 500

/**
 * @param target who else is to know what the last block leads to
 */
export async function putBlocks(db: Db, blocks: readonly Block[], target?: PublishTarget): Promise<void> {
  for (let at = 0; at < blocks.length; at += BLOCKS_PER_INSERT) {
    await db
      .insertInto('blocks')
      .values(blocks.slice(at, at + BLOCKS_PER_INSERT))
      .onConflict((conflict) => conflict.column('cid').doNothing())
      .execute()
  }
  const root = blocks.at(-1)
  if (target !== undefined && root !== undefined) await addPublications(db, target, [root.cid])
}

/** Small content-addressed blocks in the database. */
export function blockTable(db: Db, transaction: <R>(work: (db: Db) => Promise<R>) => Promise<R>): BlockTable {
  return {
    async get(cid) {
      const row = await db.selectFrom('blocks').select('bytes').where('cid', '=', cid).executeTakeFirst()
      // libsql hands out an ArrayBuffer, node:sqlite a Uint8Array.
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
