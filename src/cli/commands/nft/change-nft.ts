import type { Blockchain } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { hasFailed } from '../../../api/nft-status.ts'
import { readNfts } from '../../../client/read-records.ts'
import { GdnError } from '../../../core/errors.ts'
import { unknownNftsError } from '../../../operations/unknown-nfts.ts'
import type { GdnCommand } from '../../command.ts'
import { networkText } from '../../connect/is-without-value.ts'
import { findCollectionByAddress, readCollectionsIfReady } from '../../connect/known-collections.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addServerFlags,
  addWaitFlags,
  blockchainName,
  type OutputFlags,
  type ServerFlags,
  type WaitFlags,
} from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { shortAddress } from '../../render/short-address.ts'
import type { DataRecord, View } from '../../render/view.ts'
import { addOperationFlags, type OperationFlags, quoteOperation } from '../../request/operate-once.ts'
import { neverMintedError, resolveBlockchain } from './blockchain-of.ts'
import { addTokenContractFlag } from './token-reference.ts'

/** Flags of the commands that change existing NFTs. */
export interface ChangeFlags extends OutputFlags, ServerFlags, WaitFlags, OperationFlags {
  blockchain?: Blockchain
  contract?: string
  dryRun?: boolean
  yes?: boolean
}

/** Adds `--blockchain`, for servers whose NFT records don't include the blockchain. */
export const addBlockchainFlag = (command: GdnCommand): GdnCommand =>
  command.valueFlag('-b, --blockchain <name>', 'Blockchain of the NFT', blockchainName)

/** Adds the flags of a command that burns or freezes NFTs. @param done the outcome that the command waits for */
export function addChangeFlags(command: GdnCommand, done: string): void {
  command.argument('<nft_gdn_id...>')
  addTokenContractFlag(command)
  addBlockchainFlag(command)
  addWaitFlags(command, done, { dryRun: 'Show the NFTs without sending anything', yes: "Don't prompt" })
  addOperationFlags(command)
  addServerFlags(command)
  addOutputFlags(command)
}

export const CHANGE_VIEW: View = {
  fields: [
    ...['nft_gdn_id', 'token_id', 'title', 'status', 'contract_address', 'blockchain', 'receiver_wallet_address'],
    ...['transaction_gdn_id', 'accepted_date', 'transaction_hash', 'gas_used', 'error'],
  ],
  columns: ['token_id', 'title', 'status', 'receiver_wallet_address', 'nft_gdn_id', 'error'],
  id: 'nft_gdn_id',
  plural: 'NFTs',
  // Burned NFTs have no owner.
  sparse: ['receiver_wallet_address'],
}

/** An NFT on a chain, as the server reports it. */
export interface FoundNft extends NftRecord {
  contract_address: string
  blockchain: Blockchain
  title: string
}

/**
 * Returns the records of the given NFTs, which must be on a chain.
 *
 * @throws GdnError `not_found`, `nft_failed`, `pending`
 */
export async function findNftsOnChain(deps: Deps, connection: Connection, ids: readonly string[]): Promise<FoundNft[]> {
  const nfts = await readNfts({ client: connection.client, signal: deps.signals.signal }, ids)
  const foundNfts: FoundNft[] = []
  const missing: string[] = []
  for (const id of ids) {
    const nft = nfts.get(id)
    if (nft === undefined) missing.push(id)
    else foundNfts.push(await toFoundNft(deps, connection, nft))
  }
  if (missing.length > 0) throw unknownNftsError(missing, { takesTokens: true })
  return foundNfts
}

async function toFoundNft(deps: Deps, connection: Connection, nft: NftRecord): Promise<FoundNft> {
  const { nft_gdn_id: id, status, contract_address } = nft
  if (hasFailed(status)) throw neverMintedError(nft)
  if (status !== 'deployed' || !contract_address) {
    throw new GdnError('pending', `${id} is not deployed yet`, {
      hint: `Run \`gdn nft wait ${safe(id)}${serverFlag(connection.server)}\` first.`,
    })
  }
  const { title } = (nft.request_metadata ?? {}) as { title?: unknown }
  const blockchain = await resolveBlockchain(deps, nft, connection)
  return { ...nft, contract_address, blockchain, title: typeof title === 'string' ? title : '' }
}

/** Returns a short record, with only the fields that identify an NFT and its owner. */
export const shortRecord = ({ nft_gdn_id, token_id, title, ...nft }: FoundNft): DataRecord => ({
  nft_gdn_id,
  token_id,
  title,
  contract_address: nft.contract_address,
  blockchain: nft.blockchain,
  receiver_wallet_address: nft.receiver_wallet_address,
})

/**
 * Returns a list of the NFTs' collections for a prompt. Includes the names of collections that this machine created.
 */
export async function describeCollections(
  deps: Deps,
  connection: Connection,
  nfts: readonly FoundNft[],
): Promise<string> {
  const addresses = [...new Set(nfts.map(({ contract_address }) => contract_address))]
  const collections = await readCollectionsIfReady(deps, connection, addresses).catch(() => [])
  const places = nfts.map(({ contract_address, blockchain }) => {
    const name = findCollectionByAddress(collections, contract_address)?.name
    return `${name === undefined ? '' : `${name}, `}${shortAddress(contract_address)} on ${networkText(blockchain, connection)}`
  })
  return [...new Set(places)].join(' and ')
}

/** Returns a flag that can apply to only one request, if the user set one; null otherwise. */
export function findSingleRequestFlag({ operation, maxCost }: OperationFlags): '--operation' | '--max-cost' | null {
  return operation !== undefined ? '--operation' : maxCost !== undefined ? '--max-cost' : null
}

/** Reports the cost of a change for a dry run. Costs on different blockchains can't be added together. */
export async function quoteChange(
  deps: Deps,
  { settings }: Connection,
  flags: OperationFlags,
  endpoint: 'burnnft' | 'freezenft',
  nfts: readonly FoundNft[],
): Promise<void> {
  const [blockchain = null, ...otherBlockchains] = new Set(nfts.map((nft) => nft.blockchain))
  const content = { nft_gdn_ids: nfts.map(({ nft_gdn_id }) => nft_gdn_id) }
  const quoted = { endpoint, blockchain: otherBlockchains.length > 0 ? null : blockchain, content }
  await quoteOperation(deps, settings, flags, quoted)
}
