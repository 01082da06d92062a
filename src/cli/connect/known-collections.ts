import type { CollectionRecord } from '../../api/endpoints/getcollections.ts'
import { isSameAddress } from '../../api/same-address.ts'
import { refuseSilentBackend } from '../../client/backend.ts'
import type { Server } from '../../config/server.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { runOrigin } from '../../operations/run-origin.ts'
import { queryStateIfReadable } from '../../state/glance.ts'
import {
  type KnownCollection,
  type KnownCollectionOfServer,
  listKnownCollections,
  storeKnownCollection,
} from '../../state/known-collections.ts'
import type { Connection, Deps } from '../deps.ts'

export type ConnectionPlace = Pick<Connection, 'server' | 'settings'>

/**
 * Returns a server's collections that were created on this machine, oldest first. Identifies the server's backend only
 * if this machine has created any collections.
 *
 * @throws GdnError `data_dir`, `run_busy`, `native_missing` if the state can't be read; `unreachable`
 */
export async function knownCollections(deps: Deps, { server, settings }: ConnectionPlace): Promise<KnownCollection[]> {
  const { openStateIfExists } = await import('../../state/open-state.ts')
  const { signal } = deps.signals
  const state = await openStateIfExists(settings.stateDir, { signal })
  if (state === null) return []
  try {
    return await filterByServer(deps, server, await state.read(listKnownCollections, signal))
  } finally {
    state.close()
  }
}

/**
 * Returns the known collections with the given addresses, if the state can be read immediately. Use this function for
 * optional details.
 */
export async function readCollectionsIfReady(
  deps: Deps,
  { server, settings }: ConnectionPlace,
  addresses: readonly string[],
): Promise<KnownCollection[]> {
  const all = queryStateIfReadable(settings.stateDir, listKnownCollections)
  const fitting = all.filter(({ contract_address: contract }) =>
    addresses.some((address) => isSameAddress(contract ?? '', address)),
  )
  return await filterByServer(deps, server, fitting)
}

async function filterByServer(
  deps: Deps,
  server: Server,
  all: readonly KnownCollectionOfServer[],
): Promise<KnownCollection[]> {
  if (all.length === 0) return []
  const backend = await deps.identify(server, 'once')
  refuseSilentBackend(backend)
  const origin = runOrigin(server, backend)
  return all
    .filter((collection) => collection.origin === origin)
    .map(({ origin: _origin, url: _url, ...collection }) => collection)
}

const IDS_PER_REQUEST = 200

/**
 * Returns the server's records of collections that belong to the account.
 *
 * @param ids the IDs of the transactions that created the collections
 */
export async function readCollections(
  { client }: Pick<Connection, 'client'>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<CollectionRecord[]> {
  const records: CollectionRecord[] = []
  for (const chunk of chunksOf(ids, IDS_PER_REQUEST)) {
    const request = { transaction_gdn_ids: chunk }
    records.push(...(await client.call('getcollections', request, { signal })).collections)
  }
  return records
}

/**
 * Records a collection, or updates its details.
 *
 * @throws GdnError `data_dir`, `run_busy`, `native_missing`
 */
export async function rememberCollection(
  deps: Deps,
  { server, settings }: ConnectionPlace,
  collection: KnownCollection,
): Promise<void> {
  const origin = runOrigin(server, await deps.identify(server))
  const { withState } = await import('../../state/open-state.ts')
  await withState(settings.stateDir, (state) =>
    state.write((sql) => storeKnownCollection(sql, { origin, url: server.origin }, collection)),
  )
}

export function findCollectionByAddress<Known extends Pick<KnownCollection, 'contract_address'>>(
  collections: readonly Known[],
  address: string,
): Known | undefined {
  return collections.find(
    ({ contract_address }) => contract_address !== null && isSameAddress(contract_address, address),
  )
}
