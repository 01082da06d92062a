import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** Returns a collection's on-chain commitments to these hashes, with their transactions. */
export async function listDeployedCommitments(db: Db, collectionId: string, hashes: readonly string[]) {
  return await db
    .selectFrom('updates')
    .select(['metadata as hash', 'transaction_id'])
    .where('collection_id', '=', collectionId)
    .where('kind', '=', sql.lit('provenance'))
    .where('status', '=', sql.lit('deployed'))
    // Repeat the condition of the index, so that the index can be used.
    .where('status', '<>', sql.lit('failed'))
    .where('metadata', 'in', hashes)
    .execute()
}
