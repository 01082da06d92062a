import { checksumAddress, evmAddressProblem } from '../../../api/address.ts'
import { isEvm } from '../../../api/blockchains.ts'
import { NoServerError, type Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { flagError } from '../../../core/errors.ts'
import { GdnCommand, missingCollectionError, requiredFlagError, wrongAddressError } from '../../command.ts'
import { resolveCollectionAddress } from '../../connect/named-collection.ts'
import { type Node, specifiedNode } from '../../connect/open-network.ts'
import { serverWithNode } from '../../connect/open-verifier.ts'
import { resolveCollection } from '../../connect/resolve-collection.ts'
import type { Connection, Deps } from '../../deps.ts'
import { createOutput, type View } from '../../render/output.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'
import { settingText } from './set/changes.ts'
import { addSetFlags, checkSetFlags, type SetFlags } from './set/flags.ts'

const createView = (isTerminal: boolean): View => ({
  fields: [
    ...['setting', 'before', 'after', 'irreversible', 'status'],
    ...['transaction_hash', 'gas_used', 'fee_paid_wei', 'max_fee_wei', 'currency', 'simulated', 'safe_address'],
  ],
  // The ID column is never shortened, so a terminal shows a copy that can be shortened to make room for the values.
  columns: ['setting', 'before', 'after', 'status', isTerminal ? 'transaction' : 'transaction_hash'],
  id: 'transaction_hash',
  more: ['transaction'],
  cells: ({ before, after, ...record }) => ({
    ...record,
    before: settingText(before),
    after: settingText(after),
    transaction: record.transaction_hash,
  }),
})

export function command(deps: Deps, run = set): GdnCommand {
  return new GdnCommand({
    about:
      "The owner's wallet signs a transaction for each setting that differs, and pays for the gas. The command sends these transactions one after the other. It sends them to the server's embedded chain, or to a node that you specify, for example with --rpc-url-file. The command skips settings that already have the new value, so you can safely run it again, even after an interruption. A transfer of ownership has two steps: the owner offers the ownership with --new-owner, and the new owner accepts it with --accept-owner. If a Safe owns the collection or accepts the ownership, use --safe. The command then writes the changes to a file for the Transaction Builder of Safe{Wallet} instead of sending them.",
    examples: [
      [
        'Set the royalty on sales',
        'gdn collection set 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --royalty 5% --wallet @alice --local',
      ],
      [
        'Show the changes and their cost',
        'gdn collection set 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --image cover.png \\',
        '  --wallet @alice -b polygon --rpc-url-file polygon.url --dry-run',
      ],
      [
        'Accept the offered ownership',
        'gdn collection set 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --accept-owner --wallet @bob --local',
      ],
      [
        'Write a change for the Safe that owns the collection',
        'gdn collection set 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --royalty 5% \\',
        '  --safe batch.json -b polygon --rpc-url-file polygon.url',
      ],
    ],
  })
    .argument('[address]')
    .with(addSetFlags)
    .action(async (address: string | undefined, flags: SetFlags) => await run(deps, address, flags))
}

export async function set(deps: Deps, typed: string | undefined, flags: SetFlags): Promise<void> {
  const output = createOutput(deps.io, flags, createView(deps.io.stdoutTty))
  checkSetFlags(flags)
  const address = typed === undefined ? undefined : await resolveCollectionAddress(deps, typed, flags, '<address>')
  if (address !== undefined && (flags.blockchain === undefined || isEvm(flags.blockchain))) parseEvmAddress(address)
  const settings = await deps.settings(address === undefined ? flags : { ...flags, contract: address })
  const node = specifiedNode(deps, flags)
  // Connect to the server only if necessary, because a new owner may need only a node.
  let opened: Promise<Connection> | undefined
  const connect = () => (opened ??= deps.connect(settings))
  const { contract, blockchain } =
    node !== null && settings.contract !== null && settings.blockchain !== null
      ? { contract: settings.contract.value, blockchain: settings.blockchain.value }
      : await resolveCollection(deps, settings, await resolveServer(settings, node), {
          io: deps.io,
          place: '<address>',
        })
  if (!isEvm(blockchain)) throw flagError('--blockchain', `collection settings can't be changed on ${blockchain}`)
  const { applySettings, withoutNode } = await import('./set/apply.ts')
  const { newOwner, royaltyReceiver } = await resolveEnsFields(
    deps,
    { settings, flags, blockchain },
    { newOwner: flags.newOwner, royaltyReceiver: flags.royaltyReceiver },
    (field) => ({ flag: field === 'newOwner' ? '--new-owner' : '--royalty-receiver' }),
  )
  const resolved = { ...flags }
  if (newOwner !== undefined) resolved.newOwner = newOwner
  if (royaltyReceiver !== undefined) resolved.royaltyReceiver = royaltyReceiver
  const target = { connect, settings, node, contract: parseEvmAddress(contract), blockchain, flags: resolved, output }
  await applySettings(deps, target).catch((error: unknown) => {
    throw node === null ? withoutNode(error, blockchain) : error
  })
}

/**
 * Returns the server that has the collection.
 *
 * @throws GdnError `usage` if no server is specified. The error names the flags for a change without a server.
 */
async function resolveServer(settings: Settings, node: Node | null): Promise<Server> {
  try {
    return await settings.server()
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error
    if (settings.contract === null) throw missingCollectionError('<address>', 'Run `gdn collection set <address>`.')
    if (node !== null) throw requiredFlagError('--blockchain', 'Add -b <name>, such as -b polygon.')
    return await serverWithNode(settings)
  }
}

function parseEvmAddress(text: string): `0x${string}` {
  const problem = evmAddressProblem(text)
  if (problem !== null) throw wrongAddressError(text, problem, '<address>')
  return checksumAddress(text) as `0x${string}`
}
