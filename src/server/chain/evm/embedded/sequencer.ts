import { messageOf } from '../../../../core/errors.ts'
import type { Now } from '../../../../core/time.ts'
import type { BlockJournal } from '../../../store/block-journal.ts'
import { isUnreachable } from '../../rpc/rpc-response.ts'
import type { BroadcastOutcome, Hex } from '../network.ts'
import { type MinedBlock, mineBlock, poolStatus } from './mine.ts'
import { nodeUnreachableError } from './node-rpc.ts'
import { offerTransactions } from './offer.ts'
import { parseGasLimit } from './raw-transaction.ts'
import type { LiveNode, Supervisor } from './supervisor.ts'
import { BLOCK_GAS_LIMIT } from './upstream-stub.ts'

/**
 * Gas limit of one turn. It is half of the block's gas limit, the target of EIP-1559. The base fee therefore never
 * rises, and no signed fee cap becomes too low.
 */
const TURN_GAS = BLOCK_GAS_LIMIT / 2n
const TURN_TRANSACTIONS = 1_000
const TURN_CHARACTERS = 16 * 1024 * 1024
/** Number of attempts before transactions are rejected, if the node exits during each attempt. */
const MAX_ATTEMPTS = 3

/** A pending broadcast. Its transactions may be split over several turns. */
interface Submission {
  outcomes: (BroadcastOutcome | undefined)[]
  missingCount: number
  hasFailed: boolean
  resolve: (outcomes: BroadcastOutcome[]) => void
  reject: (error: unknown) => void
}

interface QueuedTransaction {
  raw: Hex
  gas: bigint
  submission: Submission
  index: number
}

export interface Sequencer {
  broadcast(raws: readonly Hex[]): Promise<BroadcastOutcome[]>
  /** Resolves when no block is being written, so that a replay may read the journal. */
  journalIdle(): Promise<void>
  /** Rejects pending broadcasts and waits for the turn in progress. */
  close(): Promise<void>
}

export interface SequencerOptions {
  chainId: number
  journal: BlockJournal<Hex>
  supervisor: () => Supervisor
  now: Now
  onUnrecordedHash: (number: number, message: string) => void
  /** Called when the node has mined a new block. */
  onMined: () => void
}

/**
 * Creates the only writer of an embedded chain. Broadcasts are queued. Each turn takes as many pending transactions as
 * fit into a block, submits them to the node, and writes the accepted transactions to the journal as a block. Only then
 * does it mine the block. Every confirmed block is therefore in the journal, and after any crash a node is rebuilt from
 * the journal.
 */
export function createSequencer(options: SequencerOptions): Sequencer {
  const { chainId, journal, supervisor, now, onUnrecordedHash, onMined } = options
  let queue: QueuedTransaction[] = []
  let running: Promise<void> | undefined
  let appending: Promise<unknown> = Promise.resolve()
  let closing = false

  async function run(): Promise<void> {
    // Wait one tick, so that calls in the same tick share the first turn.
    await undefined
    while (queue.length > 0) {
      const items = takeTurn(queue)
      queue = queue.slice(items.length)
      const waiting = items.filter(({ submission }) => !submission.hasFailed)
      if (waiting.length > 0) await turn(waiting).catch((error: unknown) => rejectAll(waiting, error))
    }
    running = undefined
  }

  async function turn(items: readonly QueuedTransaction[]): Promise<void> {
    const raws = items.map(({ raw }) => raw)
    const { node, outcomes } = await offerAlive(raws)
    const accepted = raws.filter((_, index) => outcomes[index]?.outcome === 'accepted')
    if (accepted.length > 0) await extend(node, accepted)
    items.forEach((item, index) => {
      recordOutcome(item, outcomes[index])
    })
  }

  /**
   * Submits transactions until a node has processed all of them. If the node exits, its pool is lost, so submits them
   * to the next node.
   */
  async function offerAlive(raws: readonly Hex[]): Promise<{ node: LiveNode; outcomes: BroadcastOutcome[] }> {
    for (let attempt = 1; ; attempt++) {
      const node = await supervisor().node()
      try {
        const outcomes = await offerTransactions(node.rpc, chainId, raws)
        if (node.isAlive) return { node, outcomes }
      } catch (error) {
        // It is unknown which transactions reached the pool, so a new node is needed.
        await supervisor().replace(node)
        if (closing || !isUnreachable(error) || attempt === MAX_ATTEMPTS) throw error
      }
    }
  }

  /** Adds a block with these transactions. Adds more blocks while the pool has transactions that didn't fit. */
  async function extend(node: LiveNode, transactions: readonly Hex[]): Promise<void> {
    const waited = node.tip.waitingCount > 0
    const block = await append(node, transactions)
    // The outcome of mining was unknown, so a replay on a new node has mined the block and set the tip's number of
    // waiting transactions.
    if (block === undefined) return
    const mayHaveLeftovers = waited || block.transactions.length !== transactions.length
    if (!mayHaveLeftovers) return
    const pool = await poolStatus(node.rpc).catch(() => undefined)
    if (pool === undefined) return
    node.tip.waitingCount = pool.pending + pool.queued
    if (pool.pending > 0 && block.transactions.length > 0 && node.isAlive) await extend(node, [])
  }

  async function append(node: LiveNode, transactions: readonly Hex[]): Promise<MinedBlock | undefined> {
    const { tip } = node
    const number = tip.number + 1
    // anvil accepts equal timestamps, so several blocks can be mined in one second. If the clock was set back, keep the
    // last timestamp.
    const timestamp = Math.max(tip.timestamp, Math.floor(now() / 1000))
    const appended = journal.append({ number, timestamp, transactions })
    appending = appended.catch(() => {})
    try {
      await appended
    } catch (error) {
      // The pool may contain transactions that aren't in the journal, so rebuild the node from the journal.
      await supervisor().replace(node)
      throw error
    }
    let block: MinedBlock
    try {
      block = await mineBlock(node.rpc, tip, timestamp)
    } catch {
      // The block is in the journal. A replay adds it to the next node, which completes the broadcast.
      await supervisor().replace(node)
      await supervisor().node()
      return undefined
    }
    Object.assign(tip, { number, timestamp, hash: block.hash })
    onMined()
    await journal.recordHash(number, block.hash).catch((error: unknown) => onUnrecordedHash(number, messageOf(error)))
    return block
  }

  return {
    broadcast(raws) {
      if (closing) return Promise.reject(nodeUnreachableError('was shut down'))
      if (raws.length === 0) return Promise.resolve([])
      return new Promise((resolve, reject) => {
        const submission: Submission = {
          outcomes: raws.map(() => undefined),
          missingCount: raws.length,
          hasFailed: false,
          resolve,
          reject,
        }
        for (const [index, raw] of raws.entries()) queue.push({ raw, gas: parseGasLimit(raw), submission, index })
        running ??= run()
      })
    },
    async journalIdle() {
      await appending
    },
    async close() {
      closing = true
      rejectAll(queue, nodeUnreachableError('was shut down'))
      await running
    },
  }
}

/** Returns as many items from the front of the queue as fit into one turn, but at least one. */
function takeTurn(queue: readonly QueuedTransaction[]): QueuedTransaction[] {
  let gas = 0n
  let characters = 0
  let count = 0
  for (const item of queue) {
    gas += item.gas
    characters += item.raw.length
    if (count > 0 && (gas > TURN_GAS || characters > TURN_CHARACTERS || count === TURN_TRANSACTIONS)) break
    count += 1
  }
  return queue.slice(0, count)
}

function recordOutcome({ submission, index }: QueuedTransaction, outcome: BroadcastOutcome | undefined): void {
  submission.outcomes[index] = outcome
  submission.missingCount -= 1
  if (submission.missingCount === 0) submission.resolve(submission.outcomes.filter((entry) => entry !== undefined))
}

function rejectAll(items: readonly QueuedTransaction[], error: unknown): void {
  for (const { submission } of items) {
    submission.hasFailed = true
    submission.reject(error)
  }
}
