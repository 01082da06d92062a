import type { CollectionSettings } from '../../api/endpoints/getcollectionsettings.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { type CollectionRow, listCollections } from '../store/collections.ts'
import { readSupply } from '../store/supply.ts'
import { readCollectionSettings } from './collection-settings.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Number of contracts that are read concurrently. */
const MAX_CONCURRENT_READS = 10
/**
 * Time limit in milliseconds for reading all contracts of a request. The remaining collections are returned with their
 * recorded settings.
 */
const MAX_WAIT_MS = 10_000

/** Returns the settings of the account's collections, in the order of the IDs. Omits unknown IDs. */
export async function getCollectionSettings(
  deps: Pick<ServiceDeps, 'store' | 'chains' | 'storage'>,
  { accountId, parsed, body }: RequestOf<'getcollectionsettings'>,
) {
  const ids = [...new Set(parsed.transaction_gdn_ids)]
  const rows = await listCollections(deps.store.db, accountId, ids)
  const read: CollectionSettings[] = []
  const end = performance.now() + MAX_WAIT_MS
  for (const chunk of chunksOf(rows, MAX_CONCURRENT_READS)) {
    const remainingMs = Math.max(0, end - performance.now())
    read.push(...(await Promise.all(chunk.map((row) => readCollectionSettings(deps, row, remainingMs)))))
  }
  const byId = new Map<string, CollectionSettings>()
  for (const [at, row] of rows.entries()) {
    const settings = read[at]
    if (settings !== undefined) byId.set(row.id, { ...settings, ...(await readSupplySettings(deps, row)) })
  }
  return {
    requests: { transaction_gdn_ids: body.transaction_gdn_ids },
    collections: ids.flatMap((id) => byId.get(id) ?? []),
  }
}

/** Returns the number of NFTs in a collection, and the number that can still be added. Reads both from the database. */
async function readSupplySettings({ store: { db } }: Pick<ServiceDeps, 'store'>, row: CollectionRow) {
  const { minted, accepted, remaining } = await readSupply(db, row)
  return { minted, accepted, supply_left: remaining === null ? null : Math.max(0, remaining) }
}
