import { blockchainHint } from '../../api/blockchain-hint.ts'
import { type Blockchain, blockchainWithId, chainIdOf, isKnownBlockchain } from '../../api/blockchains.ts'
import { createTransport } from '../../client/create-transport.ts'
import { findStatus } from '../../client/responses.ts'
import { readProxies } from '../../config/proxy.ts'
import type { Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import { createPace } from '../../files/pace.ts'
import { type ChainReader, createChainReader } from '../../verify/chain-reader.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { debugExchanges } from './debug-exchange.ts'
import { addNodeHint, type ReaderFlags, specifiedRpc } from './open-verifier.ts'

export interface OpenChain {
  reader: ChainReader
  chainId: number
  /** Whether the node is the server's embedded chain. */
  isEmbedded: boolean
  close(): Promise<void>
}

/**
 * Opens an EVM chain for many requests. Connects to the node in `--rpc-url` or GDN_RPC_URL, or else to an embedded
 * chain of the server.
 *
 * @param server null if the user specifies a node
 * @param perSecond maximum rate of requests
 * @throws GdnError `usage` if no node is specified, or if the node belongs to another chain
 */
export async function openChain(
  deps: Deps,
  flags: Pick<ReaderFlags, 'rpcUrl'>,
  blockchain: Blockchain,
  server: Pick<Server, 'baseUrl' | 'isLoopback'> | null,
  perSecond: number | undefined,
): Promise<OpenChain> {
  const { env, io, signals, sleep } = deps
  const specified = specifiedRpc(deps, flags)
  const url = specified?.url ?? (server === null ? null : `${server.baseUrl}/rpc/${blockchain}`)
  if (url === null) throw noNodeError(blockchain)
  const proxy = specified === null && server?.isLoopback === true ? undefined : readProxies(env)
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  const { signal } = signals
  const pace = createPace({
    maxConcurrent: Number.POSITIVE_INFINITY,
    apartMs: 1000 / (perSecond ?? Number.POSITIVE_INFINITY),
  })
  const enter = async (calls: number) => {
    const leave = await pace.enter(url, signal)
    // RPC providers count each call of a batch separately.
    if (calls > 1 && perSecond !== undefined) pace.pause(url, (calls * 1000) / perSecond)
    leave()
  }
  const reader = createChainReader({
    url,
    transport,
    clock: { now: () => performance.now(), sleep, random: Math.random },
    userAgent: `gdn/${VERSION}`,
    signal,
    enter: perSecond === undefined ? undefined : enter,
  })
  const close = () => transport.close()
  try {
    const chainId = await reader.chainId()
    const expected = chainIdOf(blockchain)
    if (expected === null && specified !== null) warnOfBlockchainName(deps, blockchain, chainId)
    if (expected === null || chainId === expected) return { reader, chainId, isEmbedded: specified === null, close }
    throw new GdnError('usage', `has the chain ID ${chainId}, but ${blockchain} has ${expected}`, {
      place: { flag: specified?.flag ?? '--rpc-url' },
      hint: `Use the URL of a node of ${blockchain}.`,
    })
  } catch (error) {
    await close()
    if (specified !== null) throw addNodeHint(error, specified.flag)
    throw findStatus(error) === 404 ? noNodeError(blockchain) : error
  }
}

/**
 * Warns if gdn doesn't know the name of a blockchain, because archives and snapshots record this name with the
 * contract.
 */
function warnOfBlockchainName({ io }: Deps, blockchain: Blockchain, chainId: number): void {
  const knownName = blockchainWithId(chainId)
  const suggestion = knownName === null ? '' : `, which belongs to ${knownName}. Did you mean -b ${knownName}?`
  io.warn(`gdn has no blockchain named ${blockchain}. The node has the chain ID ${chainId}${suggestion || '.'}`)
}

const noNodeError = (blockchain: Blockchain) =>
  new GdnError('usage', `no node of ${blockchain} is specified`, {
    place: { flag: '--rpc-url' },
    hint: isKnownBlockchain(blockchain)
      ? 'Add --rpc-url <url>, or set GDN_RPC_URL.'
      : `gdn has no network with this name. ${blockchainHint(blockchain)} For another network, add --rpc-url <url>.`,
  })
