import type { Kysely } from 'kysely'
import { required } from './columns.ts'

/**
 * The counts in `nft_counts`, each with its condition. NFTs that wait to be signed and signed NFTs share a count,
 * because a separate count would cost another write per NFT.
 */
export const CONDITIONS = {
  files: `status = 'initiated' and step = 'files'`,
  waiting: `status = 'initiated' and step <> 'files'`,
  deployed: `status = 'deployed'`,
  failed: `status = 'failed'`,
} as const

export type CountName = keyof typeof CONDITIONS

const COUNTS = Object.keys(CONDITIONS) as CountName[]

export const KEY = ['collection_id', 'run', 'bucket'] as const

/** Returns a list in SQL with one entry for each count. */
export const listCounts = (entry: (count: CountName) => string, separator = ', ') => COUNTS.map(entry).join(separator)

/**
 * Creates the table of counts of NFTs by state. A run has one row for every 4,096 NFTs in the order of acceptance, so a
 * million NFTs need 245 rows. The counts provide totals and the position at which a page begins. Triggers keep the
 * counts up to date.
 */
export function nftCounts(db: Kysely<unknown>) {
  const table = db.schema
    .createTable('nft_counts')
    .$call(required('text', 'collection_id', 'run'))
    .addColumn('bucket', 'bigint', (c) => c.notNull())
  return COUNTS.reduce((some, count) => some.addColumn(count, 'bigint', (c) => c.notNull()), table)
}
