import { mkdirSync } from 'node:fs'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import { excerpt } from '../../../../core/excerpt.ts'
import { hexQuantity } from '../../../../core/hex-quantity.ts'
import { sleep } from '../../../../core/time.ts'
import type { Providers } from '../../rpc/providers.ts'
import { READ_METHODS } from '../../rpc/read-methods.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import { type LoopbackRpc, methodNotFoundError, serveLoopback } from '../../rpc/serve-loopback.ts'
import { findAnvil } from '../embedded/anvil-binary.ts'
import { spawnAnvil } from '../embedded/anvil-process.ts'
import { poolStatus } from '../embedded/mine.ts'
import { connectNode } from '../embedded/node-rpc.ts'
import { resolveNodeFiles, writePidfile } from '../embedded/pidfile.ts'
import { type Hex, parseQuantity } from '../network.ts'
import { type ReadOnlyUpstream, serveReads } from './serve-reads.ts'

export interface ForkOptions {
  blockchain: string
  chainId: number
  /** URLs of the network's nodes. They may contain an API key of the provider. */
  urls: readonly string[]
  providers: Providers
  /** A private folder that the caller removes. */
  folder: string
  /** Number of blocks to mine after the last transaction. */
  depth: number
  /** Aborts the start of the fork. */
  signal: AbortSignal
}

/** A copy of a public network at its newest block. All changes to the copy are lost when it is closed. */
export interface Fork {
  /** JSON-RPC URL for a backend. It supports read methods and eth_sendRawTransaction. */
  readonly url: string
  /** The block of the network that was forked. */
  readonly block: number
  /** Average time between the blocks of the network, in milliseconds. */
  readonly networkBlockMs: number
  /** Aborted with the reason when the network or the fork's node fails. */
  readonly failureSignal: AbortSignal
  /** Calls any method of the fork's node. */
  call<Result>(method: string, params?: readonly unknown[]): Promise<Result>
  /** Mines the pending transactions now. Returns the number of the block. */
  mine(): Promise<number>
  /**
   * Starts mining. Mines a block if there are pending transactions, or if fewer than `depth` blocks follow the last
   * transaction.
   */
  startMining(): void
  /** Returns whether `depth` blocks follow the last transaction. */
  isIdle(): boolean
  close(): Promise<void>
}

/** Milliseconds between two blocks of a fork. */
export const FORK_BLOCK_MS = 100
const STOP_GRACE_MS = 700
const STUCK_MS = 60 * 60_000
/** Number of blocks over which the network's block interval is averaged. */
const MEASURED_BLOCKS = 100

/** Returns the chain settings of a fork. */
export const forkSettings = ({ url }: Pick<Fork, 'url'>) => ({
  rpcUrls: [url],
  requestLimits: new Map<string, number>(),
  pollMs: FORK_BLOCK_MS,
  // A fork mines all transactions immediately, unless its node is waiting for a response from the network.
  stuckMs: STUCK_MS,
})

interface Block {
  number: Hex
  timestamp: Hex
  baseFeePerGas?: Hex
}

/**
 * Forks a network at its newest block. The fork keeps the fees of that block. Otherwise, its fees would fall, because
 * its own blocks are nearly empty.
 *
 * @throws GdnError `invalid_config` if the node belongs to another chain, `unreachable` if none responds,
 * `native_missing` without a usable anvil
 */
export async function startFork(options: ForkOptions): Promise<Fork> {
  const { blockchain, chainId, urls, providers, folder, depth, signal } = options
  const failing = new AbortController()
  const fail = (error: GdnError) => failing.abort(lostForkError(blockchain, error))
  const undo: (() => unknown)[] = []
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const upstream = await serveReads({ chainId, urls, providers, onFailure: fail })
    undo.push(() => upstream.close())
    const head = await newestBlock(upstream)
    const fees = await readForkFees(upstream, head)
    const block = Number(head.number)
    const networkBlockMs = await blockMs(upstream, head)

    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { pidfile, home, marker } = resolveNodeFiles(folder, blockchain)
    const child = await spawnAnvil({
      binary: findAnvil(),
      chainId,
      upstreamUrl: upstream.url,
      forkBlock: block,
      home,
      marker,
      signal,
      onSpawn: (pid) => writePidfile(pidfile, pid),
    })
    let isOpen = true
    undo.push(() => child.stop(STOP_GRACE_MS))
    child.exited.then((reason) => {
      if (isOpen) fail(new GdnError('unreachable', `its node ${reason}`))
    })
    // Kill the node, because it may be waiting for a response from the network and never respond.
    failing.signal.addEventListener('abort', () => child.kill(), { once: true })
    const rpc = connectNode(child.port, child.host)
    undo.push(() => rpc.close())
    await rpc.call('anvil_setLoggingEnabled', [false])

    const mineBlock = async () => {
      await rpc.call('anvil_setNextBlockBaseFeePerGas', [fees.baseFee])
      await rpc.call('evm_mine')
      return Number(await rpc.call<Hex>('eth_blockNumber'))
    }
    let blocksSince = depth
    const turn = async () => {
      const { pending } = await poolStatus(rpc)
      blocksSince = pending > 0 ? 0 : blocksSince + 1
      if (blocksSince <= depth) await mineBlock()
    }
    const keepMining = async () => {
      while (isOpen && !failing.signal.aborted) {
        await turn()
        await sleep(FORK_BLOCK_MS)
      }
    }

    const server = await serveFork(fees, (method, params) => rpc.call(method, params))
    undo.push(() => {
      isOpen = false
      return server.close()
    })
    return {
      url: server.url,
      block,
      networkBlockMs,
      failureSignal: failing.signal,
      mine: mineBlock,
      close,
      call: (method, params) => rpc.call(method, params),
      startMining() {
        keepMining().catch((error: unknown) => {
          if (isOpen) fail(new GdnError('unreachable', `its node can't mine: ${messageOf(error)}`))
        })
      },
      isIdle: () => blocksSince > depth,
    }
  } catch (error) {
    await close()
    throw forkError(blockchain, failing.signal, error)
  }
}

/** Returns the cause of an error on a fork: the failure of the network, or `bad_answer` for an invalid response. */
export function forkError(blockchain: string, failed: AbortSignal, error: unknown): unknown {
  if (failed.aborted) return failed.reason
  if (!(error instanceof RpcError)) return error
  return lostForkError(blockchain, new GdnError('bad_answer', excerpt(error.message), { cause: error }))
}

function lostForkError(blockchain: string, error: GdnError): GdnError {
  return error.with({
    message: `the fork of ${blockchain} can't continue: ${error.message}`,
    hint: 'Nothing was sent to the network. Run the command again, or use another node.',
  })
}

async function newestBlock(upstream: ReadOnlyUpstream): Promise<Block> {
  const head = await upstream.call<Block | null>('eth_getBlockByNumber', ['latest', false])
  if (head === null) throw new GdnError('unreachable', 'a node did not return the newest block')
  return head
}

async function blockMs(upstream: ReadOnlyUpstream, { number, timestamp }: Block): Promise<number> {
  const blocks = Math.min(Number(number), MEASURED_BLOCKS)
  if (blocks === 0) return 0
  const at = hexQuantity(Number(number) - blocks)
  const before = await upstream.call<Block | null>('eth_getBlockByNumber', [at, false])
  return before === null ? 0 : ((Number(timestamp) - Number(before.timestamp)) * 1000) / blocks
}

interface ForkFees {
  baseFee: Hex
  gasPrice: Hex
  priorityFee: Hex
}

/** Returns the fees of a fork. On a network without a base fee, the gas price serves as the priority fee. */
async function readForkFees(upstream: ReadOnlyUpstream, { baseFeePerGas }: Block): Promise<ForkFees> {
  const gasPrice = await upstream.call<Hex>('eth_gasPrice', [])
  if (baseFeePerGas === undefined) return { baseFee: '0x0', gasPrice, priorityFee: gasPrice }
  const priorityFee = await upstream.call<Hex>('eth_maxPriorityFeePerGas', []).catch((error: unknown): Hex => {
    if (!(error instanceof RpcError)) throw error
    const tip = parseQuantity(gasPrice) - parseQuantity(baseFeePerGas)
    return hexQuantity(tip > 0n ? tip : 0n)
  })
  return { baseFee: baseFeePerGas, gasPrice, priorityFee }
}

/**
 * Serves the fork to a backend. Overrides the gas price and the priority fee, because the fork's node doesn't return
 * those of the network.
 */
async function serveFork(
  fees: ForkFees,
  call: (method: string, params: readonly unknown[]) => Promise<unknown>,
): Promise<LoopbackRpc> {
  return await serveLoopback(async (method, params) => {
    if (method === 'eth_maxPriorityFeePerGas') return fees.priorityFee
    if (method === 'eth_gasPrice') return fees.gasPrice
    if (method !== 'eth_sendRawTransaction' && !READ_METHODS.has(method)) throw methodNotFoundError()
    return await call(method, params)
  })
}
