import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ApiClient } from '../../../../client/api-client.ts'
import { GdnError, isInterruption, messageOf } from '../../../../core/errors.ts'
import { makePrivateDirectory } from '../../../../core/private-file.ts'
import { type OwnersOptions, requestOwners } from '../../../../holders/ask-owners.ts'
import { resolveBlock, type WantedBlock } from '../../../../holders/block-of.ts'
import { createPatientReader } from '../../../../holders/patient-reader.ts'
import { NoCodeError, type Reading, readHolders } from '../../../../holders/read-holders.ts'
import { ReadingStore } from '../../../../holders/reading-store.ts'
import { fileProblem, isDamagedError } from '../../../../sqlite/sqlite-error.ts'
import { stateError } from '../../../../state/state-error.ts'
import { type Block, isDevelopmentNode } from '../../../../verify/block-at.ts'
import { addNetworksToError } from '../../../connect/networks-with-code.ts'
import { openChain } from '../../../connect/open-chain.ts'
import type { ReaderFlags } from '../../../connect/open-verifier.ts'
import type { ContractTarget } from '../../../connect/with-contract.ts'
import type { Deps } from '../../../deps.ts'
import { withProgress } from '../../../io/progress.ts'
import { clock } from '../../../text/clock.ts'

/** The contract to read. Its address is in lower case. */
export interface ChainTarget extends Omit<ContractTarget, 'flags'> {
  flags: Pick<ReaderFlags, 'rpcUrl'> & { requestsPerSecond?: number }
  wanted: WantedBlock
  /** Connects to the server, which may have the owners. Null if the owners must be read from logs. */
  connect: (() => Promise<Pick<ApiClient, 'call' | 'supports' | 'learnCapabilities'>>) | null
  /** Called before the transfers are read, which can take a long time. */
  before?: ((read: Pick<ReadHolders, 'reader' | 'block'>) => Promise<void>) | undefined
}

/** The holders at a block, and the node that returned them. */
export interface ReadHolders extends Reading {
  block: Block
  store: ReadingStore
  reader: ReturnType<typeof createPatientReader>
  chainId: number
  /** Whether the node is the server's embedded chain. */
  isEmbedded: boolean
}

/** Number of days after which the file of an interrupted read is removed. */
const MAX_FILE_AGE_DAYS = 30

/**
 * Reads the holders of a contract from its chain, and calls `print` with them. The file of an interrupted read stays in
 * the state directory, so that the same command can resume it.
 */
export async function withHolders(
  deps: Deps,
  target: ChainTarget,
  print: (read: ReadHolders) => Promise<void>,
): Promise<void> {
  const { contract, blockchain, server, flags, wanted, stateDir } = target
  const chain = await openChain(deps, flags, blockchain, server, flags.requestsPerSecond)
  try {
    const { chainId, isEmbedded } = chain
    const reader = createPatientReader(chain.reader, deps.sleep, deps.signals.signal)
    const isDevelopment = isEmbedded || (await isDevelopmentNode(reader))
    const block = await resolveBlock(reader, wanted, isDevelopment, deps.now())
    await target.before?.({ reader, block })
    const folder = join(stateDir, 'holders')
    await makePrivateDirectory(folder)
    await removeOldFiles(folder, deps.now())
    const path = join(folder, `${chainId}-${contract}.db`)
    const store = openStore(path)
    let remove = false
    try {
      const holders = await withProgress(
        deps.io,
        `Reading transfers up to block ${block.number}`,
        async ({ update }) => {
          const { sleep, io, signals, steadyNow } = deps
          const { next, events } = store.state() ?? { next: 0, events: 0 }
          if (next > 0 && next <= block.number) io.note(`Resuming at block ${next}, after ${events} events.`)
          const onProgress = progressLine(steadyNow, update)
          const onReorg = () => io.note('A reorg replaced a block that was read. Reading again from the start.')
          const common = { reader, store, contract, block, sleep, signal: signals.signal }
          const owners = await knownOwners(target, { ...common, update })
          if (owners !== null) return owners
          return await readHolders({ ...common, onProgress, update, onReorg })
        },
      )
      await print({ ...holders, block, store, reader, chainId, isEmbedded })
      remove = true
    } catch (error) {
      remove = isDamagedError(error)
      if (fileProblem(error) !== null) throw readingError(path, error)
      // Start again next time, because another node, or the same node later, may return different logs.
      remove = error instanceof GdnError && error.code === 'verify_failed'
      throw remove || store.state() === null ? error : withResumeHint(error)
    } finally {
      store.close({ remove })
    }
  } catch (error) {
    if (error instanceof NoCodeError) throw await addNetworksToError(deps, target, error)
    throw chain.isEmbedded ? error : withNodeHint(error)
  } finally {
    await chain.close()
  }
}

/**
 * Returns the owners from the server. Returns null if the owners must be read from logs: no server has them, the
 * request failed, or the contract differs from the server's response.
 */
async function knownOwners(
  { connect, blockchain }: Pick<ChainTarget, 'connect' | 'blockchain'>,
  options: Omit<OwnersOptions, 'client' | 'blockchain'>,
): Promise<Reading | null> {
  if (connect === null) return null
  const { store, signal } = options
  try {
    const client = await connect()
    if (client.supports('owners') === null) await client.learnCapabilities({ signal })
    if (client.supports('owners') !== true) return null
    const owners = await requestOwners({ ...options, client, blockchain })
    if (owners === null) store.clear()
    return owners
  } catch (error) {
    if (!(error instanceof GdnError) || signal?.aborted === true) throw error
    store.clear()
    return null
  }
}

function openStore(path: string): ReadingStore {
  try {
    return new ReadingStore(path)
  } catch (error) {
    throw readingError(`${path}.lock`, error)
  }
}

/**
 * Converts an SQLite error to an error that suggests a fix. The caller deletes a damaged file, but not a damaged lock
 * file.
 */
function readingError(path: string, error: unknown): unknown {
  if (isDamagedError(error)) {
    return new GdnError('data_dir', `${path} is damaged: ${messageOf(error)}`, {
      hint: path.endsWith('.lock')
        ? 'Delete the file.'
        : 'The file was deleted. Run the command again to read from the start.',
    })
  }
  return fileProblem(error) === null ? error : stateError(dirname(path), error)
}

const RESUME_HINT = 'To resume, run the same command again.'
const OTHER_NODE_HINT = 'Try again later, or use the URL of another node.'

const isNodeError = ({ code }: GdnError) => code === 'unreachable' || code === 'bad_answer'

/** Adds a hint about how to resume to the error of an interrupted read. */
function withResumeHint(error: unknown): unknown {
  if (!(error instanceof GdnError)) return error
  if (isInterruption(error)) return error.with({ hint: 'Run the same command again to resume.' })
  return isNodeError(error) ? error.with({ hint: `${OTHER_NODE_HINT} ${RESUME_HINT}` }) : error
}

/** Replaces a hint about the server, because the user specified a node. */
function withNodeHint(error: unknown): unknown {
  if (!(error instanceof GdnError) || !isNodeError(error) || error.hint?.startsWith(OTHER_NODE_HINT)) return error
  return error.with({ hint: OTHER_NODE_HINT })
}

/** Returns a function that shows the rate and the remaining time. */
function progressLine(now: () => number, update: (text: string) => void) {
  const since = now()
  let before: number | null = null
  return ({ done, blocks, events }: { done: number; blocks: number; events: number }) => {
    before ??= events
    const ms = Math.max(1, now() - since)
    const rate = Math.round((events - before) / (ms / 1000))
    const timeLeft = done === 0 ? '' : `, about ${clock((ms / done) * (blocks - done))} left`
    update(`Reading transfers: ${Math.floor((done / blocks) * 100)} %, ${events} events, ${rate}/s${timeLeft}`)
  }
}

async function removeOldFiles(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    // Keep lock files. A process may hold the lock even if the file is old, because a lock file never changes.
    if (name.endsWith('.lock')) continue
    const path = join(folder, name)
    const stats = await stat(path).catch(() => null)
    if (stats !== null && stats.mtimeMs < now - MAX_FILE_AGE_DAYS * 86_400_000) await rm(path, { force: true })
  }
}
