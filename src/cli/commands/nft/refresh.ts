import { addressProblem } from '../../../api/address.ts'
import type { Blockchain } from '../../../api/blockchains.ts'
import { runResults } from '../../../batch/runs/run-rows.ts'
import { readNftPages } from '../../../client/read-records.ts'
import { NoServerError } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import { openSeaChain } from '../../../marketplace/opensea.ts'
import { parseTokenId } from '../../../verify/abi.ts'
import { findRun, resolveRunSettings } from '../../batch/runs/resolve-server.ts'
import { GdnCommand, wrongAddressError } from '../../command.ts'
import { type ResolvedCollection, resolveCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addServerFlags,
  addTimeoutFlag,
  blockchainName,
  notEmpty,
  type OutputFlags,
  positiveNumber,
  type ServerFlags,
} from '../../flags/common.ts'
import { addOpenSeaFlags, type OpenSeaFlags } from '../../flags/opensea.ts'
import { openRefresher } from '../../marketplace/refresh.ts'
import { createOutput, type View } from '../../render/output.ts'
import { awaitResponse } from '../../request/slow-response.ts'

export interface RefreshFlags extends OutputFlags, ServerFlags, OpenSeaFlags {
  contract?: string
  blockchain?: Blockchain
  run?: string
  rate?: number
  timeout?: number
}

const FIELDS = ['token_id', 'status', 'contract_address', 'blockchain', 'marketplace', 'error']
const VIEW: View = { fields: FIELDS, columns: ['token_id', 'status', 'error'], id: 'token_id', plural: 'NFTs' }

export function command(deps: Deps, run = refresh): GdnCommand {
  return new GdnCommand({
    about:
      'The command asks OpenSea to read the metadata of NFTs again, after an update or a reveal. It refreshes the tokens that you specify, or the NFTs that a run minted (--run). By default, it refreshes all NFTs of the collection. OpenSea reads the metadata some time after it accepts a request. Repeating a request has no further effect.\ngdn reads the API key from --opensea-key-file, GDN_OPENSEA_KEY, or the keys that gdn auth login saved for https://api.opensea.io. If OpenSea limits the rate, the command waits up to 5 minutes before it sends the next request. If it would have to wait longer, it stops and lists the remaining tokens.',
    examples: [
      [
        'Refresh two NFTs',
        'gdn nft refresh 1 2 -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon --opensea-key-file opensea.key',
      ],
      ['Refresh the NFTs that a run minted', 'gdn nft refresh --run drop.csv'],
      ['Save the API key', 'gdn auth login --no-check --base-url https://api.opensea.io'],
    ],
    aliases: { '--contract-address': '--contract', '--contract-addresses': '--contract' },
  })
    .argument('[token-id...]')
    .valueFlag('-c, --contract <address>', 'Address or name of the collection', notEmpty)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the collection', blockchainName)
    .valueFlag('--run <run>', 'Refresh the NFTs that this run minted', notEmpty)
    .valueFlag('--rate <n>', 'Maximum number of requests per second (1)', positiveNumber)
    .with(
      addOpenSeaFlags,
      (own) => addTimeoutFlag(own, 'How long the command may take (no limit)'),
      addServerFlags,
      addOutputFlags,
    )
    .action(async (ids: string[], flags: RefreshFlags) => await run(deps, ids, flags))
}

interface TokensToRefresh extends ResolvedCollection {
  /** Returns the IDs of the tokens to refresh. */
  list(): Promise<readonly string[]>
  /** Settings for the server of the collection; null if there is no server. */
  settings: Settings | null
}

export async function refresh(deps: Deps, ids: readonly string[], flags: RefreshFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  for (const id of ids) {
    if (parseTokenId(id) !== null) continue
    throw flagError(
      '<token-id>',
      `must be a token ID such as 12, not ${quoted(id)}`,
      'Run `gdn nft list` to list the token IDs.',
    )
  }
  if (flags.run !== undefined && ids.length > 0) throw flagError('--run', "can't be used with token IDs")
  const { contract, blockchain, list, settings } = await findTokens(deps, ids, flags)
  const refresher = await openRefresher(deps, flags, { blockchain, settings })
  try {
    const tokenIds = await list()
    if (tokenIds.length === 0) throw new GdnError('not_found', 'there are no NFTs to refresh')
    const { records, error } = await refresher.refresh(contract, tokenIds)
    const place = { contract_address: contract, blockchain, marketplace: 'opensea' }
    await output.many(records.map(({ error: reason, ...record }) => ({ ...record, ...place, error: reason })))
    if (error !== null) throw error
    deps.io.note(`OpenSea accepted ${count(records.length, 'request')}. OpenSea reads the metadata later.`)
  } finally {
    await refresher.close()
  }
}

async function findTokens(deps: Deps, ids: readonly string[], flags: RefreshFlags): Promise<TokensToRefresh> {
  if (flags.run !== undefined) return await findRunTokens(deps, flags.run, flags)
  const settings = await deps.settings(flags)
  const specifiedBlockchain = settings.blockchain?.value
  if (specifiedBlockchain !== undefined) openSeaChain(specifiedBlockchain)
  const list = async () => ids
  try {
    const server = await settings.server()
    const chosen = await resolveCollection(deps, settings, server, { io: deps.io })
    return { ...chosen, list: ids.length > 0 ? list : () => readCollectionTokens(deps, settings, chosen), settings }
  } catch (error) {
    const { contract, blockchain } = settings
    // No server is needed if the user specifies the tokens, the contract and the blockchain.
    if (ids.length > 0 && contract !== null && blockchain !== null && isMissingServerError(error)) {
      const problem = addressProblem(contract.value, blockchain.value)
      if (problem !== null) throw wrongAddressError(contract.value, problem, contract.from)
      return { contract: contract.value, blockchain: blockchain.value, list, settings: null }
    }
    if (!(error instanceof NoServerError)) throw error
    const missing = [
      ...(ids.length > 0 ? [] : ['the token IDs']),
      ...(contract === null ? ['-c <address>'] : []),
      ...(blockchain === null ? ['-b <name>'] : []),
    ]
    throw error.with({
      hint: `To refresh NFTs without a server, add ${missing.join(', ')}. To read the NFTs from a server, add --local or --base-url <url>.`,
    })
  }
}

/** Returns whether an error means that no server is configured, or that the configured local backend isn't running. */
const isMissingServerError = (error: unknown): boolean =>
  error instanceof NoServerError || (error instanceof GdnError && error.code === 'unreachable')

async function findRunTokens(deps: Deps, name: string, flags: RefreshFlags): Promise<TokensToRefresh> {
  const run = await findRun(deps, name, flags)
  const list = async () => {
    const tokenIds: string[] = []
    for await (const { status, token_id, burned } of runResults(run)) {
      if (status === 'deployed' && token_id !== null && !burned) tokenIds.push(token_id)
    }
    return tokenIds
  }
  const settings = await resolveRunSettings(deps, run, flags).catch((error: unknown) => {
    if (error instanceof GdnError && error.code === 'unreachable') return null
    throw error
  })
  return { contract: run.contractAddress, blockchain: run.blockchain, list, settings }
}

async function readCollectionTokens(
  deps: Deps,
  settings: Settings,
  { contract, blockchain }: ResolvedCollection,
): Promise<string[]> {
  const { io, signals } = deps
  const { client, server } = await deps.connect(settings)
  const request = { contract_addresses: contract, blockchain }
  const listing = client.call('getnftgdnids', request, { signal: signals.signal })
  const { nft_gdn_ids: ids } = await awaitResponse(io, server.origin, listing)
  const tokenIds: string[] = []
  for await (const { nfts } of readNftPages({ client, signal: signals.signal }, ids)) {
    for (const { token_id, status, burned } of nfts) {
      // Check the token ID from the server, because it becomes part of a URL.
      if (status === 'deployed' && burned !== true && parseTokenId(token_id ?? '') !== null)
        tokenIds.push(token_id ?? '')
    }
  }
  return tokenIds
}
