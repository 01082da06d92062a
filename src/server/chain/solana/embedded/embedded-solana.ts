import type { SolanaBlockchain } from '../../../../api/blockchains.ts'
import { messageOf } from '../../../../core/errors.ts'
import type { BlockJournal, JournalledBlock } from '../../../store/block-journal.ts'
import { TOKEN_2022 } from '../key.ts'
import type { SendOutcome, SignatureStatus, SolanaNetwork } from '../network.ts'
import { createBlockhashes, VALID_BLOCKS } from './blockhashes.ts'
import { loadLiteSvm } from './load-litesvm.ts'
import { hashBlock, readSnapshot, type Snapshot, writeSnapshot } from './snapshot.ts'
import { createVirtualMachine } from './virtual-machine.ts'
import { decodeTransaction, parseSignature, type WireTransaction } from './wire.ts'

/** Duration of a slot in milliseconds, as on the public network. */
const SLOT_MS = 400
/**
 * Number of transactions that are executed without a pause. They take about 10 ms. During a pause, requests are served.
 */
const TRANSACTIONS_PER_TURN = 20
/**
 * Number of signatures whose outcomes are kept in memory. Older transactions are found by the accounts that they
 * created.
 */
const MAX_KEPT_STATUSES = 20_000
/**
 * Number of transactions after which a snapshot is stored. For a thousand NFTs, a replay takes 0.3 s, writing a
 * snapshot 1 ms, and loading it 2 ms.
 */
const SNAPSHOT_AFTER = 20_000
const SNAPSHOT_AT_CLOSE_AFTER = 500

export type EmbeddedSolanaEvent =
  | { type: 'ready'; slot: number; transactions: number; milliseconds: number }
  | { type: 'replaying'; slot: number; transactions: number }
  | { type: 'no_snapshot'; reason: string }

/** A block journal without block hashes, because a block is identified by its number and content. */
type Journal = Omit<BlockJournal, 'recordHash'>

export interface EmbeddedSolanaOptions {
  blockchain: SolanaBlockchain
  journal: Journal
  /** The account that pays for everything. It has funds from the first slot. */
  payer: string
  /** Path of the snapshot file, which shortens a replay. Without a path, no snapshot is stored. */
  snapshotPath?: string
  now?: () => number
  onEvent?: (event: EmbeddedSolanaEvent) => void
  /** Aborts a replay in progress. */
  signal?: AbortSignal
}

export interface EmbeddedSolana extends SolanaNetwork {
  /** The slot of the last block with transactions. */
  readonly slot: number
  close(): Promise<void>
}

const yieldToEventLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * Starts the Solana chain of a data directory: litesvm in this process, with every block written to the journal before
 * it is executed. To rebuild the accounts, the chain loads the last snapshot, if there is one, and replays the rest of
 * the journal.
 *
 * Each slot takes 400 ms of the system clock, and slots never decrease: if the clock is set back, they pause until it
 * has caught up. A blockhash is valid for 150 slots, so an unsent transaction expires a minute after it was signed.
 *
 * @throws GdnError `native_missing` without litesvm
 */
export async function startEmbeddedSolana(options: EmbeddedSolanaOptions): Promise<EmbeddedSolana> {
  const { blockchain, journal, payer, snapshotPath, now = Date.now, onEvent = () => {}, signal } = options
  const chain = `${blockchain} ${journal.genesisTimestamp}`
  const blockhashes = createBlockhashes(chain)
  const module = loadLiteSvm()
  const snapshot = snapshotPath === undefined ? null : await usableSnapshot(snapshotPath, `${chain} ${payer}`, journal)
  const machine = createVirtualMachine(module, payer, snapshot?.machine)
  const statuses = new Map<string, SignatureStatus>(snapshot?.statuses)
  let tip = snapshot?.slot ?? 0
  let lastBlock = snapshot?.block ?? ''
  let executedCount = snapshot?.transactions ?? 0
  let snapshotCount = executedCount
  let mustCatchUp = false
  let closed = false
  let queue: Promise<unknown> = Promise.resolve()

  const currentSlot = () => Math.max(tip, Math.floor((now() - journal.genesisTimestamp * 1000) / SLOT_MS))

  const remember = (signature: string, status: SignatureStatus) => {
    statuses.set(signature, status)
    for (const oldest of statuses.keys()) {
      if (statuses.size <= MAX_KEPT_STATUSES) break
      statuses.delete(oldest)
    }
  }

  const execute = async (
    block: JournalledBlock,
    transactions: readonly Pick<WireTransaction, 'bytes' | 'signature'>[],
  ) => {
    machine.setTime(block.number, block.timestamp)
    for (const [index, { bytes, signature }] of transactions.entries()) {
      if (index > 0 && index % TRANSACTIONS_PER_TURN === 0) await yieldToEventLoop()
      remember(signature, { slot: block.number, error: machine.execute(bytes) })
    }
    tip = block.number
    executedCount += transactions.length
    lastBlock = hashBlock(block)
  }

  /**
   * Stores a snapshot. If that fails, only the next start is slower. litesvm 1.5 can't encode more than about 43,000
   * accounts, and each NFT has two. Beyond that, the last valid snapshot still saves the replay of the first 20,000
   * transactions.
   */
  const keepSnapshot = async () => {
    if (snapshotPath === undefined || mustCatchUp) return
    snapshotCount = executedCount
    try {
      const snapshot = {
        slot: tip,
        block: lastBlock,
        transactions: executedCount,
        statuses,
        machine: machine.snapshot(),
      }
      await writeSnapshot(snapshotPath, `${chain} ${payer}`, snapshot)
    } catch (error) {
      onEvent({ type: 'no_snapshot', reason: messageOf(error) })
    }
  }

  /**
   * Executes the blocks of the journal that the machine hasn't executed yet. Returns the number of their transactions.
   */
  const catchUp = async () => {
    let transactions = 0
    let reportedAt = performance.now()
    for await (const block of journal.blocks(tip)) {
      await execute(
        block,
        block.transactions.map((raw) => {
          const bytes = Buffer.from(raw, 'base64')
          return { bytes, signature: parseSignature(bytes) }
        }),
      )
      transactions += block.transactions.length
      await yieldToEventLoop()
      if (signal?.aborted || closed) throw new Error(`the embedded chain ${blockchain} was shut down`)
      if (performance.now() - reportedAt > 1000) {
        reportedAt = performance.now()
        onEvent({ type: 'replaying', slot: tip, transactions })
      }
    }
    mustCatchUp = false
    return transactions
  }

  /** Runs tasks one at a time, each on a machine that has executed the whole journal. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = queue.then(async () => {
      if (closed) throw new Error(`the embedded chain ${blockchain} was shut down`)
      if (mustCatchUp) await catchUp()
      return work()
    })
    queue = turn.catch(() => {})
    return turn
  }

  const outcomeOf = (
    raw: string,
    slot: number,
    signaturesInSlot: Set<string>,
  ): SendOutcome & { candidate?: WireTransaction } => {
    const candidate = decodeTransaction(raw)
    if (typeof candidate === 'string') return { outcome: 'rejected', reason: candidate }
    const { signature, blockhash } = candidate
    if (statuses.has(signature) || signaturesInSlot.has(signature)) return { outcome: 'known' }
    if (!blockhashes.isValid(blockhash, slot)) return { outcome: 'rejected', reason: 'Blockhash not found' }
    signaturesInSlot.add(signature)
    return { outcome: 'accepted', candidate }
  }

  const send = async (raws: readonly string[]): Promise<SendOutcome[]> => {
    const number = Math.max(tip + 1, currentSlot())
    const signaturesInSlot = new Set<string>()
    const outcomes = raws.map((raw) => outcomeOf(raw, number, signaturesInSlot))
    const accepted = outcomes.flatMap(({ candidate }) => candidate ?? [])
    if (accepted.length > 0) {
      const timestamp = journal.genesisTimestamp + Math.floor((number * SLOT_MS) / 1000)
      const block = { number, timestamp, transactions: accepted.map(({ raw }) => raw) }
      try {
        await journal.append(block)
      } catch (error) {
        // The write may have succeeded despite the error, so the next task reads the journal first.
        mustCatchUp = true
        throw error
      }
      await execute(block, accepted)
      // Store snapshots less often as the number of accounts grows, because each snapshot contains all of them.
      if (executedCount - snapshotCount >= Math.max(SNAPSHOT_AFTER, snapshotCount / 2)) await keepSnapshot()
    }
    return outcomes.map(({ candidate, ...outcome }) => outcome)
  }

  const since = performance.now()
  const replayed = await catchUp()
  onEvent({ type: 'ready', slot: tip, transactions: replayed, milliseconds: Math.round(performance.now() - since) })

  return {
    blockchain,
    get slot() {
      return tip
    },
    async latestBlockhash() {
      const slot = currentSlot()
      return { blockhash: blockhashes.at(slot), lastValidBlockHeight: slot + VALID_BLOCKS }
    },
    // Wait for a turn, so that the height doesn't pass a block that is still being executed.
    blockHeight: () => inTurn(async () => currentSlot()),
    minimumBalance: async (bytes) => machine.minimumBalance(bytes),
    send: (raws) => inTurn(() => send(raws)),
    statuses: (signatures) => inTurn(async () => signatures.map((signature) => statuses.get(signature) ?? null)),
    account: (address) => inTurn(async () => machine.account(address)),
    mintsExist: (addresses) =>
      inTurn(async () => addresses.map((address) => machine.account(address)?.owner === TOKEN_2022)),
    async close() {
      closed = true
      await queue
      if (executedCount - snapshotCount >= SNAPSHOT_AT_CLOSE_AFTER) await keepSnapshot()
    },
  }
}

/** Returns the stored snapshot, or null if it doesn't match the journal, for example after a backup was restored. */
async function usableSnapshot(path: string, chain: string, journal: Journal): Promise<Snapshot | null> {
  const snapshot = await readSnapshot(path, chain)
  if (snapshot === null) return null
  const block = await journal.find(snapshot.slot)
  return block !== null && hashBlock(block) === snapshot.block ? snapshot : null
}
