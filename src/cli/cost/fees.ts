import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import type { ResponseOf } from '../../client/api-client.ts'
import { lacksEndpoint } from '../../client/responses.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import type { NetworkFees } from '../../server/chain/fees.ts'
import type { Shortage } from '../../server/chain/missing-funds.ts'
import type { GdnCommand } from '../command.ts'
import { type Node, type NodeFlags, specifiedNode, withNetwork } from '../connect/open-network.ts'
import type { Connection, Deps } from '../deps.ts'
import { notEmpty } from '../flags/common.ts'
import { type Money, parsePrice } from './price.ts'

/** The flags of an estimate. */
export interface CostFlags extends NodeFlags {
  price?: Money
}

const COST_GROUP = 'Cost'

/** Adds `--price` and `--rpc-url-file`. */
export function addCostFlags(command: GdnCommand): GdnCommand {
  addPriceFlag(command)
  return command.valueFlag(
    '--rpc-url-file <file>',
    'File with the JSON-RPC URL from which to read the fees of the network',
    { group: COST_GROUP, parse: notEmpty },
  )
}

export const addPriceFlag = (command: GdnCommand): GdnCommand =>
  command.valueFlag('--price <amount>', "Price of the network's coin: 3100 (USD) or 3100EUR", {
    group: COST_GROUP,
    parse: parsePrice,
  })

/** The fees of a network, and details from their source. */
export interface FeesWithSource {
  fees: NetworkFees
  /** Whether the blockchain is an embedded chain, where coins have no value. */
  isSimulated: boolean
  /** The symbol of the coin; null if unknown. */
  coin: string | null
  /** The highest gas price that the server ever pays; null if the server doesn't report one. */
  max: bigint | null
  /** The signer with the most funds; null if unknown. `owed` is the maximum cost of its pending transactions. */
  funds: { signer: string; balance: bigint; owed: bigint } | null
  /** The funds that a signer needs for all accepted requests; null if no signer lacks funds. */
  shortage: Shortage | null
}

/** @throws GdnError `usage` if costs on the blockchain can't be estimated */
export function refuseSolanaCosts(blockchain: Blockchain): void {
  if (isEvm(blockchain)) return
  throw flagError('--blockchain', `costs on ${blockchain} can't be estimated`)
}

/**
 * Returns the current fees of a blockchain, from the node that flags or GDN_RPC_URL specify, or else from the server.
 *
 * @param connection opens a connection to the server; null if there is none
 * @throws GdnError if the node doesn't respond or belongs to another chain, or if the fees are not available
 */
export async function findFees(
  deps: Deps,
  flags: CostFlags,
  blockchain: Blockchain,
  connection: (() => Promise<Pick<Connection, 'client' | 'server'>>) | null,
): Promise<FeesWithSource> {
  const node = specifiedNode(deps, flags)
  if (node !== null) return await readNodeFees(node, blockchain, deps.signals.signal)
  if (connection === null) throw noFeesError('no server or node is specified')
  return await readServerFees(deps, blockchain, await connection())
}

/**
 * Returns the network fees that a server currently uses.
 *
 * @throws GdnError if the server doesn't report fees
 */
export async function readServerFees(
  { signals: { signal } }: Pick<Deps, 'signals'>,
  blockchain: Blockchain,
  { client, server }: Pick<Connection, 'client' | 'server'>,
): Promise<FeesWithSource> {
  try {
    return feesWithSource((await client.call('getfees', { blockchain }, { signal })).fees)
  } catch (error) {
    if (lacksEndpoint(error)) throw noFeesError(`${server.origin} doesn't publish the fees of its networks`)
    throw error
  }
}

const RPC_URL_HINT = 'Add --rpc-url <url> with the URL of a node on the network, or set GDN_RPC_URL.'

/** Adds a hint to a server's error on how to read fees without a server. */
export const addRpcUrlHintToError = (error: GdnError): GdnError =>
  error.hint === RPC_URL_HINT ? error : error.with({ hint: [error.hint, RPC_URL_HINT].filter(Boolean).join('\n') })

const noFeesError = (message: string) => new GdnError('refused', message, { hint: RPC_URL_HINT })

function feesWithSource({
  is_simulated,
  currency,
  gas_price,
  data,
  funds,
  shortage,
}: ResponseOf<'getfees'>['fees']): FeesWithSource {
  const { low, typical, high, offered, max } = gas_price
  return {
    isSimulated: is_simulated,
    coin: currency,
    max: max === undefined ? null : BigInt(max),
    funds: funds ? { signer: funds.signer, balance: BigInt(funds.balance), owed: BigInt(funds.owed) } : null,
    shortage: shortage
      ? {
          signer: shortage.signer,
          balance: BigInt(shortage.balance),
          needed: BigInt(shortage.needed),
          reserve: BigInt(shortage.reserve),
          waitingNfts: shortage.waiting_nfts,
        }
      : null,
    fees: {
      low: BigInt(low),
      typical: BigInt(typical),
      high: BigInt(high),
      offered: BigInt(offered),
      data: { bytes: data.bytes, fee: BigInt(data.fee), gas: BigInt(data.gas) },
    },
  }
}

async function readNodeFees(node: Node, blockchain: Blockchain, signal: AbortSignal): Promise<FeesWithSource> {
  if (!isEvm(blockchain)) throw noFeesError(`costs on ${blockchain} can't be estimated`)
  const [{ readNetworkFees }, { findCoinSymbol }, { RpcError }] = await Promise.all([
    import('../../server/chain/evm/cost/network-fees.ts'),
    import('../../server/settings/networks.ts'),
    import('../../server/chain/rpc/rpc-response.ts'),
  ])
  return await withNetwork(node, { blockchain, signal }, async (network) => {
    try {
      const fees = await readNetworkFees(network)
      return { fees, isSimulated: false, coin: findCoinSymbol(network.chainId), max: null, funds: null, shortage: null }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      throw new GdnError('bad_answer', `the node at ${new URL(node.url).host} returned no fees: ${error.message}`)
    }
  })
}
