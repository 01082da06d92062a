import type { Kysely } from 'kysely'

/**
 * The counts in `nft_counts`, each with its condition on an NFT. NFTs waiting to be signed and signed ones share a
 * count, because each further count would cost every NFT another write.
 */
export const CONDITIONS = {
  files: `status = 'initiated' and step = 'files'`,
  waiting: `status = 'initiated' and step <> 'files'`,
  deployed: `status = 'deployed'`,
  failed: `status = 'failed'`,
} as const

export type Count = keyof typeof CONDITIONS

const COUNTS = Object.keys(CONDITIONS) as Count[]

export const KEY = ['collection_id', 'run', 'bucket'] as const

/** A list in SQL, with one entry for each count. */
export const listCounts = (entry: (count: Count) => string, separator = ', ') => COUNTS.map(entry).join(separator)

/**
 * Counts of NFTs by state, for every 4,096 NFTs in the order of acceptance: 245 rows for a million. They give totals
 * and the position where a page begins. Triggers keep them up to date.
 */
export function nftCounts(db: Kysely<unknown>) {
  const table = db.schema
    .createTable('nft_counts')
    .addColumn('collection_id', 'text', (c) => c.notNull())
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('bucket', 'bigint', (c) => c.notNull())
  return COUNTS.reduce((some, count) => some.addColumn(count, 'bigint', (c) => c.notNull()), table)
}
