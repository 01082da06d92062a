import { evmAddressProblem } from '../../../api/address.ts'
import type { Blockchain } from '../../../api/blockchains.ts'
import { isEvmAddress } from '../../../api/same-address.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { queryStateIfReadable } from '../../../state/glance.ts'
import { type KnownCollection, listKnownCollections } from '../../../state/known-collections.ts'
import { GdnCommand, requiredFlagError, wrongAddressError } from '../../command.ts'
import { findCollectionByAddress, knownCollections, rememberCollection } from '../../connect/known-collections.ts'
import { findCollectionByName } from '../../connect/named-collection.ts'
import { serverWithNode, specifiedRpc } from '../../connect/open-verifier.ts'
import type { Connection, Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addServerFlags,
  blockchainName,
  httpAddress,
  notEmpty,
  type OutputFlags,
  type ServerFlags,
} from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type Output } from '../../render/output.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { SETTINGS_VIEW, withSettings } from './with-settings.ts'

export interface ShowFlags extends OutputFlags, ServerFlags {
  blockchain?: Blockchain
  rpcUrl?: string
  transactionGdnId?: string[]
}

export function command(deps: Deps, run = show): GdnCommand {
  return new GdnCommand({
    about:
      "The ID of a collection is the ID of the request that created it. For collections created on this machine, you can also use the contract address. For a collection on an EVM network, a gdn backend returns the current royalty, description and image. If the backend can't read them, the command prints a note and shows the values from the creation request.\nWith -b and the address of any other contract on an EVM network, the command shows the contract's interfaces, proxy, owner, roles, royalty, supply, contract URI and transfer validator. gdn reads all values at one block, from the node in --rpc-url, or from the server's node by default. If a value can't be read, the command shows the reason. If values contradict each other, it prints a warning.",
    examples: [
      ['Show a collection by its address', 'gdn collection show 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --local'],
      [
        'Show a contract that others deployed',
        'gdn collection show 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b base \\',
        '  --rpc-url https://node.example',
      ],
      ['Show a collection by its ID, as JSON', 'gdn collection show 0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5 --json'],
    ],
  })
    .argument('[id-or-address...]')
    .valueFlag('--transaction-gdn-id <id>', 'Same as the argument', { parse: notEmpty, repeatable: true, hidden: true })
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the collections', blockchainName)
    .valueFlag('--rpc-url <url>', "JSON-RPC URL of a contract's chain (GDN_RPC_URL, or the server's node)", httpAddress)
    .with(addServerFlags, addOutputFlags)
    .action(async (names: string[], flags: ShowFlags) => {
      await run(deps, [...names, ...(flags.transactionGdnId ?? [])], flags)
    })
}

export async function show(deps: Deps, typedNames: readonly string[], flags: ShowFlags): Promise<void> {
  const settings = await deps.settings(flags)
  const names = typedNames.length > 0 || settings.contract === null ? typedNames : [settings.contract.value]
  if (names.length === 0) {
    throw new GdnError('usage', 'no collection is specified', { hint: 'Run `gdn collection show <id-or-address>`.' })
  }
  const [first = ''] = names
  const address = names.length === 1 && isEvmAddress(first) ? first : null
  for (const name of names) if (isEvmAddress(name)) refuseWrongAddress(name)
  if (address === null && flags.rpcUrl !== undefined) {
    throw flagError(
      '--rpc-url',
      'requires the address of one contract',
      'Use its address: gdn collection show <address>.',
    )
  }
  const { stateDir } = settings
  const blockchain = flags.blockchain ?? settings.blockchain?.value
  const isHere = () =>
    findCollectionByAddress(queryStateIfReadable(stateDir, listKnownCollections), address ?? '') !== undefined
  if (address !== null && specifiedRpc(deps, flags) !== null && (flags.rpcUrl !== undefined || !isHere())) {
    if (blockchain === undefined) throw requiredFlagError('--blockchain', 'Add -b <name>, such as -b base.')
    const { showContract } = await import('./show-contract.ts')
    return await showContract(deps, { contract: address, blockchain, server: null, flags, stateDir })
  }
  const output = address === null ? createOutput(deps.io, flags, SETTINGS_VIEW) : null
  if (address !== null) await serverWithNode(settings)
  const connection = await deps.connect(settings)
  const remembered = await knownCollections(deps, connection)
  const onChain = remembered.filter(
    (collection) => (flags.blockchain ?? collection.blockchain) === collection.blockchain,
  )
  if (address !== null && blockchain !== undefined && findCollectionByAddress(onChain, address) === undefined) {
    const { showContract } = await import('./show-contract.ts')
    const target = { contract: address, blockchain, server: connection.server, flags, stateDir }
    return await showContract(deps, target).catch((error: unknown) => {
      throw isMissingNodeError(error) ? notCreatedHereError(address, flags.blockchain) : error
    })
  }
  const ids = names.map((name) => {
    const collection =
      findCollectionByAddress(onChain, name) ??
      findCollectionByName(name, remembered, { blockchain: flags.blockchain, place: '<id-or-address>' })
    return requireId(name, collection?.transaction_gdn_id, flags.blockchain)
  })
  await showCollections(deps, connection, { names, ids, remembered, flags, output })
}

interface RequestedCollections {
  names: readonly string[]
  ids: readonly string[]
  remembered: readonly KnownCollection[]
  flags: ShowFlags
  output: Output | null
}

async function showCollections(
  deps: Deps,
  connection: Connection,
  { names, ids, remembered, flags, output: checked }: RequestedCollections,
): Promise<void> {
  const { client } = connection
  const output = checked ?? createOutput(deps.io, flags, SETTINGS_VIEW)
  const reading = client.call('getcollections', { transaction_gdn_ids: [...ids] }, { signal: deps.signals.signal })
  const { collections } = await awaitResponse(deps.io, connection.server.origin, reading)
  const records = ids.flatMap((id) => collections.find(({ transaction_gdn_ids }) => transaction_gdn_ids === id) ?? [])
  const other = records.find(({ blockchain }) => blockchain !== (flags.blockchain ?? blockchain))
  if (other !== undefined) {
    throw new GdnError('usage', `the collection ${safe(other.transaction_gdn_ids)} is on ${safe(other.blockchain)}`, {
      place: { flag: '--blockchain' },
      hint: `Use -b ${safe(other.blockchain)}, or omit the flag.`,
    })
  }
  for (const { transaction_gdn_ids, contract_address } of records) {
    const old = remembered.find(({ transaction_gdn_id }) => transaction_gdn_id === transaction_gdn_ids)
    if (old !== undefined && contract_address && old.contract_address !== contract_address) {
      // The state directory may be read-only. If so, show the address anyway.
      await rememberCollection(deps, connection, { ...old, contract_address }).catch(() => undefined)
    }
  }
  const shownRecords = await withSettings(deps, connection, records)
  const [only] = shownRecords
  if (names.length === 1 && only !== undefined) await output.one(only)
  else if (names.length > 1) await output.many(shownRecords)
  const missing = ids.filter((id) => !records.some(({ transaction_gdn_ids }) => transaction_gdn_ids === id))
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

function requireId(name: string, knownId: string | undefined, blockchain: Blockchain | undefined): string {
  if (knownId !== undefined) return knownId
  refuseWrongAddress(name)
  if (!isEvmAddress(name)) return name
  throw notCreatedHereError(name, blockchain)
}

/**
 * Rejects an address with a wrong length or checksum.
 *
 * @throws GdnError `usage`
 */
function refuseWrongAddress(name: string): void {
  const problem = /^0x[0-9a-f]+$/i.test(name) ? evmAddressProblem(name) : null
  if (problem !== null) throw wrongAddressError(name, problem, '<id-or-address>')
}

/** Returns whether an error means that no node is available to read the contract. */
const isMissingNodeError = (error: unknown): boolean =>
  error instanceof GdnError && error.code === 'usage' && error.place?.flag === '--rpc-url'

const notCreatedHereError = (name: string, blockchain: Blockchain | undefined): GdnError =>
  new GdnError(
    'not_found_locally',
    `${name} was not created on this machine${blockchain === undefined ? '' : ` on ${blockchain}`}`,
    {
      hint: 'Use the ID of the creation request instead of the address, because the API identifies collections only by that ID. To read the contract from its chain, add -b <blockchain> and --rpc-url <url>.',
    },
  )
