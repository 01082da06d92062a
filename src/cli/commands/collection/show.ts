import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { notEmpty } from '../../flags/parse.ts'
import { findByAddress, knownCollections, rememberCollection, serverName } from '../../known-collections.ts'
import { createOutput } from '../../output.ts'
import { COLLECTION_VIEW, collectionData } from '../../views.ts'
import { count } from '../../waiting.ts'

export interface ShowFlags extends OutputFlags, ServerFlags {
  transactionGdnId?: string[]
}

export function command(deps: Deps, run = show): GdnCommand {
  const showCommand = new GdnCommand({
    name: 'collection show',
    summary: 'Show collections by the id of their creation, or by address',
    about:
      'The API finds collections by the id that their creation was accepted with. An address is enough for those that were made from this machine.',
    examples: [
      ['By address', 'gdn collection show 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --local'],
      ['By id, as JSON', 'gdn collection show 0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5 --json'],
    ],
  })
  showCommand.argument('[id-or-address...]')
  valueFlag(showCommand, '--transaction-gdn-id <id>', 'Same as the argument', {
    parse: notEmpty,
    repeatable: true,
    hidden: true,
  })
  addServerFlags(showCommand)
  addOutputFlags(showCommand)
  return showCommand.action(async (names: string[], flags: ShowFlags) => {
    await run(deps, [...names, ...(flags.transactionGdnId ?? [])], flags)
  }) as GdnCommand
}

export async function show(deps: Deps, names: readonly string[], flags: ShowFlags): Promise<void> {
  const output = createOutput(deps.io, flags, COLLECTION_VIEW)
  if (names.length === 0) {
    throw new GdnError('usage', 'no collection is named', { hint: 'gdn collection show <id or address>' })
  }
  const settings = await deps.settings(flags)
  const { client, server } = await deps.connect(settings)
  const known = await knownCollections(settings.stateDir, serverName(server))
  const ids = names.map((name) => idOf(name, findByAddress(known, name)?.transaction_gdn_id))
  const { collections } = await client.call(
    'getcollections',
    { transaction_gdn_ids: ids },
    { signal: deps.signals.signal },
  )
  const found = ids.flatMap((id) => collections.find(({ transaction_gdn_ids }) => transaction_gdn_ids === id) ?? [])
  for (const { transaction_gdn_ids, contract_address } of found) {
    const old = known.find(({ transaction_gdn_id }) => transaction_gdn_id === transaction_gdn_ids)
    if (old !== undefined && contract_address && old.contract_address !== contract_address) {
      await rememberCollection(settings.stateDir, { ...old, contract_address })
    }
  }
  const [only] = found
  if (names.length === 1 && only !== undefined) await output.one(collectionData(only))
  else if (names.length > 1) await output.many(found.map(collectionData))
  const missing = ids.filter((id) => !found.some(({ transaction_gdn_ids }) => transaction_gdn_ids === id))
  if (missing.length > 0) {
    throw new GdnError(
      'not_found',
      `the server knows no ${missing.length === 1 ? 'collection' : 'collections'} ${missing.join(', ')}`,
      {
        hint: `${count(missing.length, 'id')} of ${names.length}; check the id, the server and the account of the key`,
        details: { transaction_gdn_ids: missing },
      },
    )
  }
}

function idOf(name: string, known: string | undefined): string {
  if (known !== undefined) return known
  if (!/^0x[0-9a-fA-F]{40}$/.test(name)) return name
  throw new GdnError('not_found_locally', `${name} was not made from this machine`, {
    hint: 'the API finds collections by the id of their creation: give that instead of the address',
  })
}
