import { checksumAddress } from '../../../../api/address.ts'
import { type Blockchain, isEvm } from '../../../../api/blockchains.ts'
import type { Server } from '../../../../config/server.ts'
import { GdnError } from '../../../../core/errors.ts'
import { parseTokenId } from '../../../../verify/abi.ts'
import type { Block } from '../../../../verify/block-at.ts'
import type { ContractReader } from '../../../../verify/contract/contract-reader.ts'
import { readToken } from '../../../../verify/contract/read-token.ts'
import { requiredFlagError } from '../../../command.ts'
import { readCollectionsIfReady } from '../../../connect/known-collections.ts'
import { type ReaderFlags, serverWithNode, specifiedRpc } from '../../../connect/open-verifier.ts'
import { solanaError, withContract } from '../../../connect/with-contract.ts'
import type { Deps } from '../../../deps.ts'
import type { ServerFlags } from '../../../flags/common.ts'
import type { TokenReference } from '../token-reference.ts'
import { namedServer } from '../verify-token.ts'

export type TokenFlags = ReaderFlags & ServerFlags & { blockchain?: Blockchain }

export interface OpenToken {
  facts: Awaited<ReturnType<typeof readToken>>
  block: Block
  blockchain: Blockchain
  /** The server that may have the files; null if no server is specified. */
  server: Server | null
}

export interface TokenOptions {
  /** Whether to use the server from a configuration file. Proofs don't rely on it. */
  usesConfigured: boolean
  /** Makes further calls at the block at which the token is read. */
  more?: (reader: ContractReader, facts: OpenToken['facts'], id: bigint) => Promise<void>
}

/**
 * Returns the flags, and adds the blockchain if the user specifies a server but no blockchain, and this machine created
 * the collection.
 */
export async function withKnownBlockchain<Flags extends TokenFlags>(
  deps: Deps,
  flags: Flags,
  { contractAddress }: TokenReference,
): Promise<Flags> {
  const settings = await deps.settings(flags)
  const server = settings.blockchain === null ? await namedServer(deps, flags) : null
  if (server === null) return flags
  const [collection] = await readCollectionsIfReady(deps, { server, settings }, [contractAddress])
  return collection === undefined ? flags : { ...flags, blockchain: collection.blockchain }
}

/**
 * Reads a token of any contract from its chain, at one block.
 *
 * @throws GdnError `not_found` if the contract has no such token
 */
export async function openToken(
  deps: Deps,
  flags: TokenFlags,
  { contractAddress, tokenId }: TokenReference,
  { usesConfigured, more }: TokenOptions,
): Promise<OpenToken> {
  const id = parseTokenId(tokenId)
  if (id === null)
    throw new GdnError('usage', `the token ID ${tokenId} must be a number below 2²⁵⁶ without leading zeros`)
  const settings = await deps.settings(flags)
  const blockchain = settings.blockchain?.value
  if (blockchain === undefined) throw requiredFlagError('--blockchain', 'Add --blockchain <name>.')
  if (!isEvm(blockchain)) throw solanaError(blockchain)
  const isNamed = specifiedRpc(deps, flags) !== null
  const specifiedServer = await namedServer(deps, flags)
  const server =
    isNamed || specifiedServer !== null ? specifiedServer : usesConfigured ? await serverWithNode(settings) : null
  if (!isNamed && server === null) {
    const files = flags.gateway === undefined ? ', and --gateway for the files' : ''
    throw new GdnError('usage', `no node is specified: set --rpc-url or GDN_RPC_URL${files}`)
  }
  const target = { contract: contractAddress.toLowerCase(), blockchain, flags, stateDir: settings.stateDir }
  return await withContract(deps, { ...target, server: isNamed ? null : server }, async ({ reader, block }) => {
    const facts = await readToken(reader, id)
    if (!facts.exists) throw noTokenError(contractAddress, tokenId, facts, block)
    await more?.(reader, facts, id)
    return { facts, block, blockchain, server }
  })
}

function noTokenError(contract: string, tokenId: string, facts: OpenToken['facts'], { number }: Block): GdnError {
  const { standard, not_readable } = facts
  if (standard === null) {
    return new GdnError('usage', `${checksumAddress(contract)} is not an ERC-721 or ERC-1155 contract`, {
      hint: 'Run `gdn collection show <contract>` to show its interfaces.',
    })
  }
  const why = (standard === 'erc721' ? not_readable.owner : not_readable.token_uri) ?? 'it has no owner'
  return new GdnError('not_found', `${checksumAddress(contract)} has no token ${tokenId} at block ${number}: ${why}`)
}
