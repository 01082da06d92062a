import type { Blockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, valueFlag } from '../../command.ts'
import { findByAddress, knownCollections, rememberCollection } from '../../connect/known-collections.ts'
import { collectionNamed } from '../../connect/named-collection.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { blockchainName, notEmpty } from '../../flags/parse.ts'
import { safe } from '../../io/io.ts'
import { createOutput } from '../../render/output.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { SETTINGS_VIEW, withSettings } from './with-settings.ts'

export interface ShowFlags extends OutputFlags, ServerFlags {
  blockchain?: Blockchain
  transactionGdnId?: string[]
}

export function command(deps: Deps, run = show): GdnCommand {
  const showCommand = new GdnCommand({
    about:
      "The ID of a collection is the ID of the request that created it. For collections created on this machine, you can also use the contract address. On a gdn backend, the royalty, description and image of a collection on an EVM network are the current ones. If the backend can't read them, the command prints a note and shows those from the creation request.",
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
  })
}

export async function show(deps: Deps, given: readonly string[], flags: ShowFlags): Promise<void> {
  const output = createOutput(deps.io, flags, SETTINGS_VIEW)
  const settings = await deps.settings(flags)
  const names = given.length > 0 || settings.contract === null ? given : [settings.contract.value]
  if (names.length === 0) {
    throw new GdnError('usage', 'no collection is specified', { hint: 'Run `gdn collection show <id-or-address>`.' })
  }
  const connection = await deps.connect(settings)
  const { client } = connection
  const known = await knownCollections(deps, connection)
  const onChain = known.filter(({ blockchain }) => (flags.blockchain ?? blockchain) === blockchain)
  const ids = names.map((name) => {
    const { blockchain } = flags
    const found = findByAddress(onChain, name) ?? collectionNamed(name, known, { blockchain, place: '<id-or-address>' })
    return idOf(name, found?.transaction_gdn_id, blockchain)
  })
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

function idOf(name: string, known: string | undefined, blockchain: Blockchain | undefined): string {
  if (known !== undefined) return known
  if (!/^0x[0-9a-fA-F]{40}$/.test(name)) return name
  const on = blockchain === undefined ? '' : ` on ${blockchain}`
  throw new GdnError('not_found_locally', `${name} was not created on this machine${on}`, {
    hint: 'Use the ID of the creation request instead of the address. The API identifies collections only by that ID.',
  })
}
