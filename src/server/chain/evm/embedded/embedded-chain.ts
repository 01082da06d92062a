import { mkdirSync } from 'node:fs'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { chunksOf } from '../../../../core/chunks-of.ts'
import type { Now } from '../../../../core/time.ts'
import type { BlockJournal } from '../../../store/block-journal.ts'
import { isUnreachable, RpcError } from '../../rpc/rpc-response.ts'
import type { EvmNetwork, EvmReceipt, Hex } from '../network.ts'
import { parseReceipt } from '../receipt.ts'
import { findAnvil } from './anvil-binary.ts'
import { type AnvilProcess, spawnAnvil } from './anvil-process.ts'
import type { Tip } from './mine.ts'
import { connectNode, type NodeRpc } from './node-rpc.ts'
import { endOrphan, removePidfile, resolveNodeFiles, writePidfile } from './pidfile.ts'
import { replayJournal } from './replay.ts'
import { sendRaw } from './send-raw.ts'
import { createSequencer } from './sequencer.ts'
import { type LiveNode, type Supervisor, superviseNode } from './supervisor.ts'
import { genesisHash, startUpstreamStub } from './upstream-stub.ts'

export type EmbeddedChainEvent =
  | { type: 'orphan_ended'; pid: number }
  | { type: 'replaying'; height: number }
  | { type: 'ready'; pid: number; height: number; transactions: number; milliseconds: number }
  | { type: 'died'; pid: number; reason: string }
  | { type: 'hash_not_recorded'; number: number; reason: string }

export interface EmbeddedChainOptions {
  blockchain: EvmBlockchain
  chainId: number
  journal: BlockJournal<Hex>
  /** The directory that contains the pidfile and the home of the child process. Several chains may share it. */
  stateDir: string
  now?: Now
  onEvent?: (event: EmbeddedChainEvent) => void
  /** Called when the chain has new blocks, or when a new node has replayed its blocks. Must not throw. */
  onBlocks?: () => void
  /** Aborts a start in progress, even while a long journal is replayed. */
  signal?: AbortSignal
  /** The anvil binary. Default: the one that is installed with gdn. */
  binary?: string
}

/** An embedded chain on this machine. Its state is defined by the journal, not by the node that executes it. */
export interface EmbeddedChain extends EvmNetwork {
  /** Process ID of the running node; undefined during a restart. */
  readonly pid: number | undefined
  /** Number of the last block. */
  readonly height: number
  /** Terminates the node within 2 seconds. Pending calls are rejected; confirmed transactions are in the journal. */
  close(): Promise<void>
}

/** Number of receipts in one JSON-RPC batch. */
const RECEIPT_BATCH = 100
const MAX_ATTEMPTS = 3
/** Maximum number of attempts for a call on the latest block, whose state may be pruned when a new block is mined. */
const MAX_TIP_ATTEMPTS = 10
const CLOSE_PATIENCE_MS = 1_000
/** Methods that may be retried after a node exited unexpectedly: all read-only methods. */
const READS = /^(eth_(?!send)|net_|web3_|txpool_)/

/**
 * Starts an embedded chain: terminates the node that a killed backend left running, starts a new one, replays the
 * journal and serves requests. A node that exits unexpectedly is replaced and synchronized automatically.
 *
 * @throws GdnError `native_missing` without a usable anvil, `data_dir` if the journal replays to a different chain
 * @example
 * const chain = await startEmbeddedChain({ blockchain: 'polygon', chainId: 137, journal, stateDir })
 * const [outcome] = await chain.broadcast([raw])
 */
export async function startEmbeddedChain(options: EmbeddedChainOptions): Promise<EmbeddedChain> {
  const { blockchain, chainId, journal, now = Date.now, onEvent = () => {}, onBlocks = () => {} } = options
  const binary = options.binary ?? findAnvil()
  mkdirSync(options.stateDir, { recursive: true, mode: 0o700 })
  const { pidfile, home, marker } = resolveNodeFiles(options.stateDir, blockchain)
  const genesis = { chainId, timestamp: journal.genesisTimestamp }
  const root = { hash: genesisHash(genesis), timestamp: genesis.timestamp }
  let tip: Tip | undefined

  const orphan = await endOrphan(pidfile)
  if (orphan !== null) onEvent({ type: 'orphan_ended', pid: orphan })
  const stub = await startUpstreamStub(genesis)

  async function boot(signal: AbortSignal): Promise<LiveNode> {
    const since = performance.now()
    const onSpawn = (pid: number) => writePidfile(pidfile, pid)
    const child = await spawnAnvil({ binary, chainId, upstreamUrl: stub.url, home, marker, onSpawn, signal })
    const rpc = connectNode(child.port, child.host)
    const abort = () => child.kill()
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      const replayed = await catchUp(rpc)
      tip = replayed.tip
      const milliseconds = Math.round(performance.now() - since)
      onEvent({
        type: 'ready',
        pid: child.pid,
        height: tip.number,
        transactions: replayed.transactionCount,
        milliseconds,
      })
      onBlocks()
      return { rpc, process: child, tip, isAlive: true }
    } catch (error) {
      rpc.close()
      await killProcess(child)
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async function catchUp(rpc: NodeRpc) {
    await rpc.call('anvil_setLoggingEnabled', [false])
    await sequencer.journalIdle()
    return replayJournal(rpc, journal, root, (reached) => onEvent({ type: 'replaying', height: reached }))
  }

  const sequencer = createSequencer({
    chainId,
    journal,
    supervisor: () => supervisor,
    now,
    onUnrecordedHash: (number, reason) => onEvent({ type: 'hash_not_recorded', number, reason }),
    onMined: onBlocks,
  })
  const supervisor: Supervisor = superviseNode(boot, (pid, reason) => onEvent({ type: 'died', pid, reason }))

  /** Reads from the current node. If the node exits during a repeatable read, the read is retried on the next node. */
  async function onNode<Result>(read: (rpc: NodeRpc) => Promise<Result>, repeatable: boolean): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const node = await supervisor.node()
      try {
        return await read(node.rpc)
      } catch (error) {
        if (!isUnreachable(error) || !repeatable || attempt === MAX_ATTEMPTS) throw error
        // The connection breaks shortly before the exit event.
        if (node.isAlive) await Promise.race([node.process.exited, new Promise((resolve) => setTimeout(resolve, 100))])
      }
    }
  }

  async function close(): Promise<void> {
    const turn = sequencer.close()
    await Promise.race([turn, new Promise((resolve) => setTimeout(resolve, CLOSE_PATIENCE_MS).unref())])
    await supervisor.close()
    await stub.close()
    removePidfile(pidfile)
  }

  const abort = () => void supervisor.close()
  options.signal?.addEventListener('abort', abort, { once: true })
  try {
    if (options.signal?.aborted) abort()
    await supervisor.node()
  } catch (error) {
    await close()
    throw error
  } finally {
    options.signal?.removeEventListener('abort', abort)
  }
  let closed: Promise<void> | undefined

  return {
    blockchain,
    chainId,
    // Blocks are final as soon as they are mined, because they are written to the journal first.
    confirmations: 1,
    get pid() {
      return supervisor.current()?.process.pid
    },
    get height() {
      return tip?.number ?? 0
    },
    request<Result>(method: string, params: readonly unknown[]) {
      // A transaction that bypasses the sequencer would be missing from the journal. The cast is safe, because this
      // method always returns a hash.
      if (method === 'eth_sendRawTransaction') return sendRaw(sequencer, params) as Promise<Result>
      return onNode((rpc) => callAtTip(() => rpc.call<Result>(method, params)), READS.test(method))
    },
    broadcast: (raws) => sequencer.broadcast(raws),
    receipts: (hashes) => onNode((rpc) => readReceipts(rpc, hashes), true),
    close() {
      closed ??= close()
      return closed
    },
  }
}

/**
 * Runs a call and retries it if its block is out of range. If anvil mines a block during a call on the latest block,
 * the state that the call reads is no longer the latest and is pruned. A retry then succeeds. A call on a block that is
 * too old fails on every attempt.
 */
async function callAtTip<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      const overtaken = error instanceof RpcError && error.message.includes('BlockOutOfRange')
      if (!overtaken || attempt === MAX_TIP_ATTEMPTS) throw error
    }
  }
}

async function readReceipts(rpc: NodeRpc, hashes: readonly Hex[]): Promise<(EvmReceipt | null)[]> {
  const receipts: (EvmReceipt | null)[] = []
  for (const chunk of chunksOf(hashes, RECEIPT_BATCH)) {
    const responses = await rpc.batch(chunk.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })))
    for (const response of responses) {
      if ('error' in response) throw response.error
      receipts.push(parseReceipt(response.result))
    }
  }
  return receipts
}

async function killProcess(child: AnvilProcess): Promise<void> {
  child.kill()
  await child.exited
}
