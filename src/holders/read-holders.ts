import { GdnError } from '../core/errors.ts'
import { hexQuantity } from '../core/hex-quantity.ts'
import type { Block } from '../verify/block-at.ts'
import type { ChainReader } from '../verify/chain-reader.ts'
import { readKnownBlock } from './block-of.ts'
import { checkHolders } from './check.ts'
import { findDeploymentBlock, hasCode } from './first-block.ts'
import { countHolders, type NegativeBalance } from './holder-table.ts'
import { type RawLog, readLogRanges } from './log-ranges.ts'
import type { ReadingState, ReadingStore } from './reading-store.ts'
import { detectStandard } from './standard.ts'
import {
  type Change,
  decodeChanges,
  detectEventStandard,
  MalformedLogError,
  matchesStandard,
  type Standard,
  TOPICS,
} from './transfers.ts'

export interface ReadProgress {
  /** The number of blocks that have been read. `blocks` is the total number of blocks to read. */
  done: number
  blocks: number
  events: number
}

export interface ReadHoldersOptions {
  reader: Pick<ChainReader, 'request' | 'call' | 'origin'>
  store: ReadingStore
  /** Contract address in lower case. */
  contract: string
  block: Block
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  signal?: AbortSignal | undefined
  onProgress: (progress: ReadProgress) => void
  /** Shows the current step after the transfers are read. */
  update: (text: string) => void
  /** Called when a reorg restarts the read. */
  onReorg: () => void
}

export interface Reading {
  standard: Standard
  /** A sentence that describes the comparison with the contract. */
  checkNote: string
}

/** Maximum number of attempts while the block keeps changing. */
const MAX_READINGS = 3

const DOUBTS = {
  otherEvents: 'some events do not follow the standard, such as a Transfer event whose parameters are not indexed',
  upgraded: 'the proxy was upgraded, so earlier events may have a different meaning',
}

/**
 * Reads the balances of a contract into the store, resuming an earlier read if there is one, and compares them with the
 * contract.
 *
 * @throws GdnError `usage` if the contract isn't a token, `verify_failed` if the balances differ, `refused` if the
 * block keeps changing
 */
export async function readHolders(options: ReadHoldersOptions): Promise<Reading> {
  const { reader, store, contract, block, sleep, signal, onReorg } = options
  for (let reading = 1; ; reading++) {
    let state = await readResumableState(options)
    if (state === null) {
      store.clear()
      await requireCode(options)
      const standard = await detectStandard(reader, contract, hexQuantity(block.number))
      const next = await findDeploymentBlock(reader, contract, block.number)
      state = { contract, block: block.number, hash: block.hash, next, standard, doubts: [], events: 0, upgrades: 0 }
    }
    const { standard, doubts } = await readTransfers(options, { ...state, block: block.number, hash: block.hash })
    const blockNow = await readKnownBlock(reader, block.number, sleep, signal)
    if (blockNow?.hash === block.hash) {
      if (standard === null) throw notATokenError(contract)
      return { standard, checkNote: await compareWithContract(options, standard, doubts) }
    }
    // Keep the data, because the node may just be lagging. If the block was replaced instead, the next read detects the
    // different hash.
    if (blockNow === null) throw reorgError(block.number)
    store.clear()
    if (reading === MAX_READINGS) throw reorgError(block.number)
    onReorg()
    Object.assign(block, blockNow)
  }
}

/** Returns the state of an earlier read, or null if none can be resumed. */
async function readResumableState(options: ReadHoldersOptions): Promise<ReadingState | null> {
  const { reader, store, contract, block, sleep, signal, onReorg } = options
  const state = store.state()
  // An earlier read of later blocks can't be resumed, because it includes changes that this read must not include.
  if (state === null || state.contract !== contract || state.next > block.number + 1) return null
  const blockNow = state.block === block.number ? block : await readKnownBlock(reader, state.block, sleep, signal)
  if (blockNow?.hash === state.hash) return state
  onReorg()
  return null
}

/** Thrown for an address without code. */
export class NoCodeError extends GdnError {
  constructor(contract: string, block: number) {
    super('usage', `${contract} has no code at block ${block}`, {
      place: { flag: '<contract>' },
      hint: 'Check the address, the network and the block.',
    })
  }
}

async function requireCode({ reader, contract, block }: ReadHoldersOptions): Promise<void> {
  const hasContract = (await hasCode(reader, contract, block.number)) ?? (await hasCode(reader, contract, 'latest'))
  if (hasContract !== false) return
  throw new NoCodeError(contract, block.number)
}

/** Reads the transfers up to the block. Returns the last state. */
async function readTransfers(
  { reader, store, contract, block, sleep, signal, onProgress }: ReadHoldersOptions,
  state: ReadingState,
) {
  let { standard, events, upgrades } = state
  const doubts = new Set(state.doubts)
  const from = state.next
  const query = { address: contract, topics: Object.values(TOPICS), from, to: block.number }
  for await (const { to, logs } of readLogRanges({ reader, query, sleep, signal })) {
    if (logs.some(({ removed }) => removed === true)) throw reorgError(to)
    standard ??= logs.map(detectEventStandard).find((eventStandard) => eventStandard !== null) ?? null
    const changes = standard === null ? [] : decodeLogs(logs, standard, doubts)
    events += logs.length
    upgrades += logs.filter(({ topics }) => topics[0] === TOPICS.upgraded).length
    // A proxy emits its first `Upgraded` event when it is deployed.
    if (upgrades > 1) doubts.add(DOUBTS.upgraded)
    store.apply(changes, { ...state, next: to + 1, standard, doubts: [...doubts], events, upgrades })
    onProgress({ done: to - from + 1, blocks: block.number - from + 1, events })
  }
  return { standard, doubts: [...doubts] }
}

/** Decodes logs in the order of the chain, and adds a doubt for events that don't follow the standard. */
function decodeLogs(logs: RawLog[], standard: Standard, doubts: Set<string>): Change[] {
  const changes: Change[] = []
  for (const log of logs) {
    if (!matchesStandard(log, standard)) doubts.add(DOUBTS.otherEvents)
    try {
      for (const change of decodeChanges(log, standard)) changes.push(change)
    } catch (error) {
      if (!(error instanceof MalformedLogError)) throw error
      const at = `block ${Number(log.blockNumber)}, log ${Number(log.logIndex)}`
      throw new GdnError(
        'verify_failed',
        `an event of the contract does not follow its standard (${at}): ${error.message}`,
        {
          hint: "gdn can't determine the holders of this contract from its events.",
        },
      )
    }
  }
  return changes
}

/**
 * Counts the holders and compares them with the contract.
 *
 * @throws GdnError `verify_failed` if something differs
 */
export async function compareWithContract(
  { reader, store, contract, block, update }: Omit<ReadHoldersOptions, 'sleep' | 'onProgress' | 'onReorg'>,
  standard: Standard,
  doubts: readonly string[],
): Promise<string> {
  update('Counting holders')
  const { total, negative } = countHolders(store, null)
  if (negative !== null) throw belowZeroError(negative)
  const at = hexQuantity(block.number)
  return await checkHolders({ reader, store, contract, standard, block: at, seed: block.hash, total, doubts, update })
}

const belowZeroError = ({ owner, token }: NegativeBalance) =>
  new GdnError(
    'verify_failed',
    `holder 0x${owner} sent more${token === null ? '' : ` of token ${token}`} than it received, according to the events`,
    {
      hint: 'The contract changes balances without the events of its standard, or the node returned incomplete logs. Nothing was printed.',
    },
  )

const reorgError = (block: number) =>
  new GdnError('refused', `a reorg replaced block ${block} while gdn was reading`, {
    hint: 'Run the command again. If this happens repeatedly, use an older --block.',
  })

const notATokenError = (contract: string) =>
  new GdnError('usage', `${contract} has no Transfer event that identifies its standard`, {
    place: { flag: '<contract>' },
    hint: 'Check the address. The contract has no holders, or is not a token contract.',
  })
