import { join } from 'node:path'
import { createnft } from '../../api/endpoints/createnft.ts'
import { countOpenRows } from '../../batch/rows/row-counts.ts'
import type { RowCounts } from '../../batch/types.ts'
import { GdnError } from '../../core/errors.ts'
import { withTemporaryDirectory } from '../../core/temporary-folder.ts'
import { sleep } from '../../core/time.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import type { Rehearsal, RehearsalResult, RehearsalTarget } from '../../server/fork/rehearsal.ts'
import type { DataDirFlags } from '../connect/data-dir.ts'
import type { Deps } from '../deps.ts'
import { type StoredFilesFlags, storedFilesOptions } from '../flags/stored-files.ts'
import { createIo } from '../io/io.ts'
import { CLOSE_WITHIN_MS } from '../io/signals.ts'
import { makeDeps } from '../make-deps.ts'
import type { DataRecord } from '../render/view.ts'
import { VERSION } from '../version.ts'
import { mintManifest } from './mint-manifest.ts'
import type { BatchMintFlags } from './options/flags.ts'

const CHECK_INTERVAL_MS = 500
/**
 * Number of consecutive checks after which the rehearsal stops if no signer can sign, and neither the reason nor the
 * row counts change.
 */
const MAX_HALTED_CHECKS = 6
const REHEARSE_AGAIN_HINT = 'Nothing was sent to the network. Fix the cause, and rehearse again.'
const ZERO_ROW_COUNTS: RowCounts = { total: 0, pending: 0, unknown: 0, accepted: 0, deployed: 0, failed: 0 }

export interface RehearseFlags extends BatchMintFlags, StoredFilesFlags, DataDirFlags {
  config?: string
}

/** An event of the run: `planned`, `rows`, `holding` or `summary`. */
type RunEventLine = { event: string; requests: number; reason: string; message: string } & RowCounts

interface FailedRow {
  key: string
  line: number
  error: string
}

interface Outcome {
  report: DataRecord
  /** The error with which a real run would have ended; null if the run would have succeeded. */
  failure: GdnError | null
}

/** Mints the manifest with the code of `batch mint`, in a temporary backend and a temporary state directory. */
export async function runRehearsal(
  deps: Deps,
  manifest: string,
  flags: RehearseFlags,
  target: RehearsalTarget,
): Promise<Outcome> {
  const { env, io, signals } = deps
  signals.own()
  const progress = await io.progress(`Copying ${target.blockchain}`)
  try {
    return await withTemporaryDirectory('gdn-rehearsal-', async (folder) => {
      const { openRehearsal } = await import('../../server/fork/rehearsal.ts')
      const options = {
        host: '127.0.0.1',
        port: 0,
        dataDir: join(folder, 'data'),
        rateLimits: false,
        allowedHosts: [],
        ...storedFilesOptions(flags, env),
        version: VERSION,
        logStream: { write() {} },
        logLevel: 'silent' as const,
      }
      const rehearsal = await openRehearsal(options, target, signals.signal)
      try {
        const since = performance.now()
        const minted = await mint(deps, { manifest, flags, target, rehearsal, folder, printProgress: progress.update })
        const elapsedMs = performance.now() - since
        rehearsal.failureSignal.throwIfAborted()
        signals.signal.throwIfAborted()
        const spent = await rehearsal.end()
        rehearsal.failureSignal.throwIfAborted()
        return { report: toRehearsalReport(target, rehearsal, minted, spent, elapsedMs), failure: minted.failure }
      } catch (error) {
        throw rehearsal.realSigners.replaceInError(error)
      } finally {
        await withTimeout(rehearsal.close(), CLOSE_WITHIN_MS)
      }
    })
  } finally {
    progress.stop()
  }
}

interface RehearsedMint {
  manifest: string
  flags: RehearseFlags
  target: RehearsalTarget
  rehearsal: Rehearsal
  folder: string
  printProgress: (text: string) => void
}

interface RehearsedRun {
  counts: RowCounts
  requests: number
  failure: GdnError | null
}

/**
 * Mints the manifest on the rehearsal's backend.
 *
 * @throws the error of a run that didn't start
 */
async function mint(
  deps: Deps,
  { manifest, flags, target, rehearsal, folder, printProgress }: RehearsedMint,
): Promise<RehearsedRun> {
  const reported = { counts: ZERO_ROW_COUNTS, requests: 0, hasEnded: false }
  /**
   * The backend's reason for not accepting requests: the funds that a signer lacks for all rows, including rows that
   * aren't accepted yet.
   */
  let lack: string | null = null
  const read = (text: string) => {
    const { event, ...data } = JSON.parse(text) as RunEventLine
    if (event === 'holding' && data.reason === 'not_ready') lack = data.message
    if (event === 'planned') reported.requests = data.requests
    if (event === 'summary') reported.hasEnded = true
    if (event === 'rows' || event === 'summary') reported.counts = data
    const { total, deployed, failed } = reported.counts
    printProgress(`Rehearsing on a copy of ${target.blockchain}: ${deployed + failed} of ${total} rows`)
  }
  const stop = new AbortController()
  const { signal } = deps.signals
  const onSignal = () => stop.abort(signal.reason)
  const onFailure = () => stop.abort(rehearsal.failureSignal.reason)
  signal.addEventListener('abort', onSignal, { once: true })
  rehearsal.failureSignal.addEventListener('abort', onFailure, { once: true })
  const over = new AbortController()
  const rows = () => JSON.stringify(reported.counts)
  const watching = watchSigners(rehearsal, { over: over.signal, rows }, (reason) => {
    const { pending } = reported.counts
    const message = `in the rehearsal, ${rehearsal.addDebts((pending > 0 ? lack : null) ?? reason)}`
    stop.abort(new GdnError(pending > 0 ? 'unreachable' : 'pending', message, { hint: REHEARSE_AGAIN_HINT }))
  })
  try {
    const { contract, blockchain } = target
    const rehearsalFlags = { contract, blockchain, baseUrl: rehearsal.url, yes: true, output: 'ndjson' } as const
    // The rehearsal uses a temporary state directory. It reads only the saved addresses from the user's state
    // directory.
    const { json: _json, fields: _fields, forSpreadsheet: _sheet, stateDir: _stateDir, ...asGiven } = flags
    const inner = await createRehearsalDeps(deps, rehearsal, folder, stop.signal, read)
    await mintManifest(inner, manifest, { ...asGiven, ...rehearsalFlags })
    return { ...reported, failure: null }
  } catch (error) {
    if (!reported.hasEnded || !(error instanceof GdnError)) throw stop.signal.aborted ? stop.signal.reason : error
    return {
      ...reported,
      failure: rehearsal.realSigners.replaceInError(error.with({ hint: REHEARSE_AGAIN_HINT })) as GdnError,
    }
  } finally {
    over.abort()
    signal.removeEventListener('abort', onSignal)
    await watching
  }
}

/** Returns this command's dependencies, but with a different server, state directory and output. */
async function createRehearsalDeps(
  deps: Deps,
  { url, apiKey }: Rehearsal,
  folder: string,
  signal: AbortSignal,
  read: (text: string) => void,
): Promise<Deps> {
  // Without GITHUB_ACTIONS, no job summary is written. It would list NFTs that weren't minted.
  const { GDN_PROFILE: _profile, GITHUB_ACTIONS: _actions, ...rest } = deps.env
  const env = {
    ...rest,
    GDN_BASE_URL: url,
    GDN_API_KEY: apiKey.reveal(),
    GDN_STATE_DIR: join(folder, 'state'),
    GDN_PACE_DIR: join(folder, 'pace'),
  }
  const edge = {
    env,
    cwd: deps.cwd,
    program: deps.program,
    openKeyring: deps.openKeyring,
    stdin: deps.io.stdin,
    signals: { ...deps.signals, signal },
    stdout: { write: read },
    stderr: { write() {} },
  }
  const { debug } = deps.io.settings
  const io = await createIo(edge, { machine: true, quiet: true, debug, input: false, noColor: true })
  return { ...makeDeps(edge, io, { exitCode: 0 }, deps.run, () => undefined), addresses: deps.addresses }
}

/** Calls `onHalt` when no signer can sign. This state is final, because nobody sends funds on a copy of a network. */
async function watchSigners(
  rehearsal: Rehearsal,
  { over, rows }: { over: AbortSignal; rows: () => string },
  onHalt: (reason: string) => void,
): Promise<void> {
  let halted = 0
  let before = ''
  while (!over.aborted && halted < MAX_HALTED_CHECKS) {
    const reason = await rehearsal.findHaltReason().catch(() => null)
    const state = `${reason} ${rows()}`
    halted = reason === null ? 0 : state === before ? halted + 1 : 1
    before = state
    if (reason !== null && halted === MAX_HALTED_CHECKS) onHalt(reason)
    await sleep(CHECK_INTERVAL_MS, over).catch(() => {})
  }
}

function toRehearsalReport(
  { blockchain, contract }: RehearsalTarget,
  { block }: Rehearsal,
  { counts, requests, failure }: RehearsedRun,
  { transactions, minted, gas, cost, currency, signers, slowerMs }: RehearsalResult,
  elapsedMs: number,
): DataRecord {
  const { failed_rows: failures = [] } = (failure?.details ?? {}) as { failed_rows?: FailedRow[] }
  const sendMs = (requests / (createnft.ratePerSecond ?? Number.POSITIVE_INFINITY)) * 1000
  return {
    blockchain,
    contract_address: contract,
    block,
    rows: counts.total,
    minted,
    failed: counts.failed,
    waiting: countOpenRows(counts),
    transactions,
    gas: Number(gas),
    gas_price_wei: String(gas === 0n ? 0n : cost / gas),
    cost_wei: String(cost),
    currency,
    seconds: Math.round(Math.max(sendMs, elapsedMs + slowerMs) / 1000),
    signers: signers.map(({ address, balance, spent }) => ({
      address,
      balance_wei: String(balance),
      spent_wei: String(spent),
    })),
    failures,
  }
}
