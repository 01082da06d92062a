import type { CollectionRecord } from '../../../api/endpoints/getcollections.ts'
import { type CollectionSettings, MAX_COLLECTIONS_WITH_SETTINGS } from '../../../api/endpoints/getcollectionsettings.ts'
import { chunksOf } from '../../../core/chunks-of.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { COLLECTION_VIEW, collectionData } from '../../render/collection-view.ts'
import type { DataRecord, View } from '../../render/view.ts'
import { awaitResponse } from '../../request/slow-response.ts'

/** Fields of settings, by the collection field after which they are inserted. */
const ADDED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  max_supply: ['minted', 'accepted', 'supply_left'],
  image: ['banner_image', 'external_link', 'has_metadata'],
}

/** Collections with their current settings. */
export const SETTINGS_VIEW: View = {
  ...COLLECTION_VIEW,
  fields: [
    ...COLLECTION_VIEW.fields.flatMap((field) => [field, ...(ADDED_FIELDS[field] ?? [])]),
    ...['contract_uri', 'pending_wallet_address', 'is_read_from_chain', 'settings_problem'],
  ],
  forms: {
    ...COLLECTION_VIEW.forms,
    has_metadata: (isSet) =>
      isSet === false
        ? 'the contract contains the name, but not the description or the image'
        : isSet && 'in the contract',
  },
}

/**
 * Returns collections for display, with their current settings. A collection record contains only the royalty,
 * description and image from its creation. If the settings can't be read, those values remain, and a note reports this.
 */
export async function withSettings(
  { io, signals }: Deps,
  { client, server }: Connection,
  records: readonly CollectionRecord[],
): Promise<DataRecord[]> {
  // Other vendors' servers don't have this endpoint.
  if (client.incarnation() === null) return records.map(collectionData)
  const settings = new Map<string, CollectionSettings>()
  try {
    for (const chunk of chunksOf(records, MAX_COLLECTIONS_WITH_SETTINGS)) {
      const ids = chunk.map((record) => record.transaction_gdn_ids)
      const reading = client.call('getcollectionsettings', { transaction_gdn_ids: ids }, { signal: signals.signal })
      const { collections } = await awaitResponse(io, server.origin, reading)
      for (const collection of collections) settings.set(collection.transaction_gdn_id, collection)
    }
  } catch (error) {
    if (!(error instanceof GdnError) || signals.signal.aborted) throw error
  }
  const problems = new Map<string, string[]>()
  const shownRecords = records.map((record) => {
    const currentSettings = settings.get(record.transaction_gdn_ids)
    const { problem, is_read_from_chain, ...current } = currentSettings ?? UNKNOWN_SETTINGS
    const { minted, accepted, supply_left } = currentSettings ?? {}
    const name = record.contract_address || record.transaction_gdn_ids
    if (problem !== null) problems.set(problem, [...(problems.get(problem) ?? []), name])
    const data = {
      ...collectionData(record),
      ...(is_read_from_chain ? current : { minted, accepted, supply_left }),
    }
    return { ...data, is_read_from_chain, settings_problem: problem }
  })
  for (const [problem, [first = '', ...otherNames]] of problems) {
    io.note(`${otherNames.length === 0 ? safe(first) : count(otherNames.length + 1, 'collection')}: ${safe(problem)}.`)
  }
  return shownRecords
}

const UNKNOWN_SETTINGS = {
  is_read_from_chain: false,
  problem:
    'the server does not return the current settings, so the royalty, description and image are those from the creation request',
}
