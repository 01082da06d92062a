import type { CollectionRecord } from '../../api/endpoints/getcollections.ts'
import { GdnError } from '../../core/errors.ts'
import type { Connection, Deps } from '../deps.ts'
import { findCollectionByAddress, knownCollections, readCollections } from './known-collections.ts'

/**
 * Returns the server's record of a collection; undefined if unknown. The records of collections that this machine
 * didn't create can't be requested. Ignores errors, because the server checks every change anyway.
 */
export async function findCollection(
  deps: Deps,
  connection: Connection,
  contract: string,
): Promise<CollectionRecord | undefined> {
  const { signal } = deps.signals
  try {
    const collection = findCollectionByAddress(await knownCollections(deps, connection), contract)
    const records =
      collection === undefined ? [] : await readCollections(connection, [collection.transaction_gdn_id], signal)
    return records[0]
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
    return undefined
  }
}
