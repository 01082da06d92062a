import type { Blockchain } from '../../../api/blockchains.ts'
import type { CollectionRecord } from '../../../api/endpoints/getcollections.ts'
import { type CollectionSettings, MAX_COLLECTIONS_WITH_SETTINGS } from '../../../api/endpoints/getcollectionsettings.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, valueFlag } from '../../command.ts'
import { findByAddress, knownCollections, rememberCollection } from '../../connect/known-collections.ts'
import type { Connection, Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { blockchainName, notEmpty } from '../../flags/parse.ts'
import { safe } from '../../io/io.ts'
import type { DataRecord } from '../../render/cells.ts'
import { COLLECTION_VIEW, collectionData } from '../../render/collection-view.ts'
import { createOutput } from '../../render/output.ts'
import { awaitResponse } from '../../request/slow-response.ts'

const VIEW = {
  ...COLLECTION_VIEW,
  fields: [
    ...COLLECTION_VIEW.fields,
    'contract_uri',
    'pending_wallet_address',
    'is_read_from_chain',
    'settings_problem',
  ],
}

export interface ShowFlags extends OutputFlags, ServerFlags {
  blockchain?: Blockchain
  transactionGdnId?: string[]
}

export function command(deps: Deps, run = show): GdnCommand {
  const showCommand = new GdnCommand({
    about:
      'The API finds collections by the ID of their creation. For collections created on this machine, the contract address works too. Royalty, description and image are what the contract says now.',
    examples: [
      ['Show a collection by its address', 'gdn collection show 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --local'],
      ['Show a collection by its ID, as JSON', 'gdn collection show 0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5 --json'],
    ],
  })
  showCommand.argument('[id-or-address...]')
  valueFlag(showCommand, '--transaction-gdn-id <id>', 'Same as the argument', {
    parse: notEmpty,
    repeatable: true,
    hidden: true,
  })
  valueFlag(showCommand, '-b, --blockchain <name>', 'Blockchain of the collections', { parse: blockchainName })
  addServerFlags(showCommand)
  addOutputFlags(showCommand)
  return showCommand.action(async (names: string[], flags: ShowFlags) => {
    await run(deps, [...names, ...(flags.transactionGdnId ?? [])], flags)
  }) as GdnCommand
}

export async function show(deps: Deps, names: readonly string[], flags: ShowFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  if (names.length === 0) {
    throw new GdnError('usage', 'no collection is specified', { hint: 'Run `gdn collection show <id-or-address>`.' })
  }
  const settings = await deps.settings(flags)
  const connection = await deps.connect(settings)
  const { client } = connection
  const known = await knownCollections(deps, connection)
  const onChain = known.filter(({ blockchain }) => (flags.blockchain ?? blockchain) === blockchain)
  const ids = names.map((name) => idOf(name, findByAddress(onChain, name)?.transaction_gdn_id, flags.blockchain))
  const reading = client.call('getcollections', { transaction_gdn_ids: ids }, { signal: deps.signals.signal })
  const { collections } = await awaitResponse(deps.io, connection.server.origin, reading)
  const found = ids.flatMap((id) => collections.find(({ transaction_gdn_ids }) => transaction_gdn_ids === id) ?? [])
  const other = found.find(({ blockchain }) => blockchain !== (flags.blockchain ?? blockchain))
  if (other !== undefined) {
    throw new GdnError('usage', `the collection ${safe(other.transaction_gdn_ids)} is on ${safe(other.blockchain)}`, {
      place: { flag: '--blockchain' },
      hint: `Use -b ${safe(other.blockchain)}, or omit the flag.`,
    })
  }
  for (const { transaction_gdn_ids, contract_address } of found) {
    const old = known.find(({ transaction_gdn_id }) => transaction_gdn_id === transaction_gdn_ids)
    if (old !== undefined && contract_address && old.contract_address !== contract_address) {
      // The state directory may be read-only. The address is shown anyway.
      await rememberCollection(deps, connection, { ...old, contract_address }).catch(() => undefined)
    }
  }
  const shown = await withSettings(deps, connection, found)
  const [only] = shown
  if (names.length === 1 && only !== undefined) await output.one(only)
  else if (names.length > 1) await output.many(shown)
  const missing = ids.filter((id) => !found.some(({ transaction_gdn_ids }) => transaction_gdn_ids === id))
  if (missing.length > 0) {
    throw new GdnError(
      'not_found',
      `the server has no ${missing.length === 1 ? 'collection' : 'collections'} ${missing.join(', ')}`,
      {
        hint: 'Check the ID, the server and the account of the API key.',
        details: { transaction_gdn_ids: missing },
      },
    )
  }
}

/**
 * Returns collections as they are printed, with what is set in them now: royalty, description and image in a collection
 * record are those of its creation. Where that can't be read, they remain, and a note says so.
 */
async function withSettings(
  { io, signals }: Deps,
  { client, server }: Connection,
  found: readonly CollectionRecord[],
): Promise<DataRecord[]> {
  // Servers of others have no such endpoint.
  if (client.incarnation() === null) return found.map(collectionData)
  const settings = new Map<string, CollectionSettings>()
  try {
    for (let from = 0; from < found.length; from += MAX_COLLECTIONS_WITH_SETTINGS) {
      const ids = found.slice(from, from + MAX_COLLECTIONS_WITH_SETTINGS).map((record) => record.transaction_gdn_ids)
      const reading = client.call('getcollectionsettings', { transaction_gdn_ids: ids }, { signal: signals.signal })
      const { collections } = await awaitResponse(io, server.origin, reading)
      for (const one of collections) settings.set(one.transaction_gdn_id, one)
    }
  } catch (error) {
    if (!(error instanceof GdnError) || signals.signal.aborted) throw error
  }
  return found.map((record) => {
    const now = settings.get(record.transaction_gdn_ids)
    const { problem, is_read_from_chain, ...current } = now ?? NOT_RETURNED
    const name = record.contract_address || record.transaction_gdn_ids
    if (problem !== null) io.note(`${safe(name)}: ${safe(problem)}.`)
    const data = { ...collectionData(record), ...(is_read_from_chain ? current : {}) }
    return { ...data, is_read_from_chain, settings_problem: problem }
  })
}

const NOT_RETURNED = {
  is_read_from_chain: false,
  problem:
    'the server does not return what is set now, so the royalty, description and image are those of the creation',
}

function idOf(name: string, known: string | undefined, blockchain: Blockchain | undefined): string {
  if (known !== undefined) return known
  if (!/^0x[0-9a-fA-F]{40}$/.test(name)) return name
  const on = blockchain === undefined ? '' : ` on ${blockchain}`
  throw new GdnError('not_found_locally', `${name} was not created on this machine${on}`, {
    hint: 'The API finds collections by the ID of their creation. Pass that ID instead of the address.',
  })
}
