import type { CollectionRecord } from '../../../api/endpoints/getcollections.ts'
import { lacksEndpoint } from '../../../client/responses.ts'
import { GdnCommand } from '../../command.ts'
import { knownCollections, readCollections } from '../../connect/known-collections.ts'
import type { Connection, Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { collectionData } from '../../render/collection-view.ts'
import { createOutput, type DataRecord, isOutputRequested } from '../../render/output.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { SETTINGS_VIEW, withSettings } from './with-settings.ts'

export type ListFlags = OutputFlags & ServerFlags

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about:
      'The API cannot list collections. gdn lists the collections of the selected server that were created on this machine with `gdn collection create` or the TypeScript client. gdn gets the details of these collections from the server.',
    examples: [
      ['List the collections on the local backend', 'gdn collection list --local'],
      ['Print only the addresses', 'gdn collection list -o ids'],
    ],
  })
    .with(addServerFlags, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, SETTINGS_VIEW)
  const settings = await deps.settings(flags)
  const server = await settings.server()
  const collections = await knownCollections(deps, { server, settings })
  if (collections.length === 0) {
    await output.many([])
    deps.io.note('No collection of this server is recorded on this machine. Run `gdn collection create` to create one.')
    return
  }
  const connection = await deps.connect(settings)
  const ids = collections.map(({ transaction_gdn_id }) => transaction_gdn_id)
  const records = await awaitResponse(deps.io, server.origin, readRecords(deps, connection, ids))
  // Read the settings only for other formats, because the table has no columns for them.
  const shownRecords = isOutputRequested(flags)
    ? await withSettings(deps, connection, records)
    : records.map(collectionData)
  const byId = new Map<unknown, DataRecord>(shownRecords.map((record) => [record.transaction_gdn_id, record]))
  await output.many(
    collections.map(({ created_at: _at, ...collection }) => ({
      ...collection,
      status: null,
      ...byId.get(collection.transaction_gdn_id),
    })),
  )
}

/** Reads collection records from the server. Returns an empty list if the server doesn't have the endpoint. */
async function readRecords(deps: Deps, { client }: Connection, ids: readonly string[]): Promise<CollectionRecord[]> {
  try {
    return await readCollections({ client }, ids, deps.signals.signal)
  } catch (error) {
    if (!lacksEndpoint(error)) throw error
    deps.io.note('This server returns no details of collections. The list contains only the records of this machine.')
    return []
  }
}
