import { chunksOf } from '../../core/chunks-of.ts'
import type { ContentBlock } from '../../ipfs/cid.ts'
import { putBlocks } from './block-table.ts'
import type { Db } from './schema.ts'

/** The record of the files in a remote storage location. It is checked before the location itself. */
export interface StoredFiles {
  size(cid: string): Promise<number | null>
  /** Returns the given CIDs that are stored at the location. */
  filterStored(cids: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Records content after it was stored. The DAG nodes that list the content's chunks are stored in the same
   * transaction.
   */
  put(cid: string, size: number, nodes: readonly ContentBlock[]): Promise<void>
}

const CIDS_PER_BATCH = 1000

/** Creates the record of the files in a remote storage location. */
export function createStoredFiles(
  db: Db,
  transaction: <R>(work: (db: Db) => Promise<R>) => Promise<R>,
  place: string,
): StoredFiles {
  return {
    async size(cid) {
      const row = await db
        .selectFrom('stored_files')
        .select('size')
        .where('place', '=', place)
        .where('cid', '=', cid)
        .executeTakeFirst()
      return row === undefined ? null : Number(row.size)
    },

    async filterStored(cids) {
      const storedCids = new Set<string>()
      for (const chunk of chunksOf(cids, CIDS_PER_BATCH)) {
        const rows = await db
          .selectFrom('stored_files')
          .select('cid')
          .where('place', '=', place)
          .where('cid', 'in', chunk)
          .execute()
        for (const { cid } of rows) storedCids.add(cid)
      }
      return storedCids
    },

    async put(cid, size, nodes) {
      await transaction(async (db) => {
        await putBlocks(db, nodes)
        await db
          .insertInto('stored_files')
          .values({ place, cid, size })
          .onConflict((conflict) => conflict.columns(['place', 'cid']).doNothing())
          .execute()
      })
    },
  }
}

/**
 * Returns the storage locations that have files. Needs one index lookup for each location, regardless of its number of
 * files.
 */
export async function placesOfFiles(db: Db): Promise<string[]> {
  const places: string[] = []
  for (let last = ''; ; ) {
    const { place } = await db
      .selectFrom('stored_files')
      .select(({ fn }) => fn.min('place').as('place'))
      .where('place', '>', last)
      .executeTakeFirstOrThrow()
    if (place === null) return places
    places.push(place)
    last = place
  }
}

export async function countFilesIn(db: Db, place: string): Promise<number> {
  const { files } = await db
    .selectFrom('stored_files')
    .select(({ fn }) => fn.countAll().as('files'))
    .where('place', '=', place)
    .executeTakeFirstOrThrow()
  return Number(files)
}

/** Records that all files of one storage location were copied to another. */
export async function movePlace(db: Db, from: string, to: string): Promise<void> {
  const moved = db
    .selectFrom('stored_files')
    .select((row) => [row.val(to).as('place'), 'cid', 'size'])
    .where('place', '=', from)
  await db
    .insertInto('stored_files')
    .columns(['place', 'cid', 'size'])
    .expression(moved)
    .onConflict((conflict) => conflict.columns(['place', 'cid']).doNothing())
    .execute()
  await db.deleteFrom('stored_files').where('place', '=', from).execute()
}
