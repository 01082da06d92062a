import { evmAddressProblem } from '../../../api/address.ts'
import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { flagError } from '../../../core/errors.ts'
import { type GdnCommand, missingCollectionError, requiredFlagError, wrongAddressError } from '../../command.ts'
import { resolveCollectionAddress } from '../../connect/named-collection.ts'
import { type ReaderFlags, serverWithNode, specifiedRpc } from '../../connect/open-verifier.ts'
import { resolveCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import { blockchainName, httpAddress, notEmpty, positiveNumber, type ServerFlags } from '../../flags/common.ts'

export interface ChainContractFlags extends ServerFlags, Pick<ReaderFlags, 'rpcUrl'> {
  contract?: string
  blockchain?: Blockchain
  requestsPerSecond?: number
}

/** A token contract on an EVM network. */
export interface ChainContract {
  /** The address in lower case. */
  contract: string
  blockchain: Blockchain
  /** The server; null if the user specifies a node. */
  server: Server | null
  settings: Settings
}

/** Adds the argument and the flags that select a contract and its node. */
export function addChainContractFlags(command: GdnCommand, group: string): GdnCommand {
  command.argument('[address]')
  command.valueFlag('-c, --contract <address>', 'Address or name of the contract', notEmpty)
  command.valueFlag('-b, --blockchain <name>', 'Blockchain of the contract', blockchainName)
  command.valueFlag('--rpc-url <url>', "JSON-RPC URL of the chain (GDN_RPC_URL, or the server's node)", {
    group,
    parse: httpAddress,
  })
  return command.valueFlag('--requests-per-second <n>', 'Maximum rate of requests to the node (no limit)', {
    group,
    parse: positiveNumber,
  })
}

/**
 * Returns the contract that a command's argument and flags select.
 *
 * @throws GdnError `usage`
 */
export async function resolveChainContract(
  deps: Deps,
  typed: string | undefined,
  flags: ChainContractFlags,
): Promise<ChainContract> {
  const contract = await resolveContract(deps, typed, flags)
  const settings = await deps.settings({ ...flags, contract })
  const server = specifiedRpc(deps, flags) === null ? await serverWithNode(settings) : null
  const { blockchain } =
    server === null
      ? { blockchain: settings.blockchain?.value }
      : await resolveCollection(deps, settings, server, { place: '<address>' })
  if (blockchain === undefined) throw requiredFlagError('--blockchain', 'Add -b <name>, such as -b polygon.')
  if (!isEvm(blockchain))
    throw flagError('--blockchain', `${blockchain} has no ERC-721, ERC-1155 or ERC-20 contracts`, 'Use an EVM network.')
  return { contract: contract.toLowerCase(), blockchain, server, settings }
}

/**
 * Returns the contract address from the argument, from `--contract`, or from the configuration.
 *
 * @throws GdnError `usage`
 */
async function resolveContract(deps: Deps, typed: string | undefined, flags: ChainContractFlags): Promise<string> {
  if (typed !== undefined && flags.contract !== undefined) {
    throw flagError('--contract', "can't be used with <address>", 'Use one of them.')
  }
  const { contract: configured } = typed === undefined ? await deps.settings(flags) : { contract: null }
  const { value, from } = configured ?? { value: typed, from: '<address>' }
  if (value === undefined) throw missingCollectionError('<address>', 'Add the address of a contract, or -c <address>.')
  const contract = await resolveCollectionAddress(deps, value, flags, from)
  const problem = evmAddressProblem(contract)
  if (problem !== null) throw wrongAddressError(contract, problem, from)
  return contract
}
