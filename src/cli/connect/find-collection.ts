import type { CollectionRecord } from '../../api/endpoints/getcollections.ts'
import { sameAddress } from '../../api/same-address.ts'
import { lacksEndpoint } from '../../client/answers.ts'
import type { Connection, Deps } from '../deps.ts'
import { collectionsAtAGlance } from './known-collections.ts'

/**
 * Returns the server's record of a collection, or undefined if it isn't known. The server finds a collection by the
 * transaction that created it, so a collection that was created elsewhere can't be requested. The server then decides
 * when it receives the change.
 */
export async function findCollection(
  deps: Deps,
  connection: Connection,
  contract: string,
): Promise<CollectionRecord | undefined> {
  const [known] = await collectionsAtAGlance(deps, connection, [contract])
  if (known === undefined) return undefined
  const { signal } = deps.signals
  try {
    const request = { transaction_gdn_ids: [known.transaction_gdn_id] }
    const { collections } = await connection.client.call('getcollections', request, { signal })
    return collections.find(({ contract_address: at }) => sameAddress(at ?? '', contract))
  } catch (error) {
    if (!lacksEndpoint(error)) throw error
    return undefined
  }
}
