import type { Blockchain } from '../../api/blockchains.ts'
import { setRunLimit } from '../../client/run-costs.ts'
import { type RunLimit, runLimit } from '../../client/run-limit.ts'
import { count } from '../../core/count.ts'
import { GdnError, isInterruption } from '../../core/errors.ts'
import { DEFAULT_WAIT_MS } from '../../operations/defaults.ts'
import { reasonSuffix, toPendingCode } from '../../operations/waiting.ts'
import { applyBurns } from '../../plan/apply-burns.ts'
import { applyTransfers } from '../../plan/apply-transfers.ts'
import { applyUpdates } from '../../plan/apply-updates.ts'
import { type ChangeSenderDeps, noOutcomes, type Outcomes, type Problem, RESUME_HINT } from '../../plan/make-changes.ts'
import type { ChangePlan, PlannedChange } from '../../plan/planned.ts'
import { describeRunShortage, warnOfSignedTransactions } from '../cost/at-most.ts'
import { estimateMaxChangeUse, type MaximumUse, sumUses } from '../cost/run-limit.ts'
import type { Connection, Deps, Spending } from '../deps.ts'
import { safe } from '../io/io.ts'
import type { DataRecord } from '../render/view.ts'
import { changePlace, type openPlanSource } from './open-source.ts'

type OpenedPlanSource = Awaited<ReturnType<typeof openPlanSource>>

/** The outcomes by kind of change, in the order in which the changes are made. */
export interface ChangeOutcomes {
  update: Outcomes
  transfer: Outcomes
  burn: Outcomes
}

export const createChangeOutcomes = (): ChangeOutcomes => ({
  update: noOutcomes(),
  transfer: noOutcomes(),
  burn: noOutcomes(),
})

interface ChangeInput {
  flags: { only?: 'mint'; timeout?: number | undefined }
  /** The cost limit to set in each request. */
  limit: RunLimit
  /** The outcomes, which are updated while the changes are made. */
  outcomes: ChangeOutcomes
}

/**
 * Updates, transfers and burns existing NFTs, in this order. The server accepts only one change of an NFT at a time.
 * The next kind of change therefore starts only when all changes of the previous kind have an outcome.
 */
export async function changeNfts(
  deps: Deps,
  connection: Connection,
  { options, settings }: OpenedPlanSource,
  plan: ChangePlan,
  { flags, limit, outcomes }: ChangeInput,
): Promise<void> {
  if (flags.only === 'mint') return
  const { origin, backend, blockchain, contractAddress: contract } = options
  const { counts } = plan
  const { client } = connection
  const unsent = () => remainingChanges(counts, outcomes)
  const shortage = () => describeRunShortage(deps, connection, { blockchain, run: limit.run, unsent })
  const making = { client, limit, timeoutMs: flags.timeout ?? DEFAULT_WAIT_MS, shortage }
  if (counts.update > 0) {
    await withProgress(deps, outcomes, { kind: 'update', text: `Updating: %s of ${counts.update}` }, (more) =>
      applyUpdates(contract, { ...making, ...more }, plan.updates()),
    )
  }
  if (counts.transfer > 0 && hasEnded(outcomes.update)) {
    if (backend === undefined) throw new Error('the backend was not identified')
    await withProgress(deps, outcomes, { kind: 'transfer', text: `Transferring: %s of ${counts.transfer}` }, (more) =>
      applyTransfers(
        { origin, backend, blockchain, contract, stateDir: settings.stateDir },
        { ...making, ...more },
        changesWithAction('transfer', plan.changes()),
      ),
    )
  }
  if (counts.burn > 0 && hasEnded(outcomes.update) && hasEnded(outcomes.transfer)) {
    await withProgress(deps, outcomes, { kind: 'burn', text: `Burning: %s of ${counts.burn}` }, (more) =>
      applyBurns(contract, { ...making, ...more }, changesWithAction('burn', plan.burns())),
    )
  }
}

/** Returns the number of remaining changes in a plan, and the maximum gas that they use. */
export async function remainingChanges(
  counts: ChangeCounts,
  outcomes: ChangeOutcomes,
): Promise<{ rows: number; changes: number; maxUse: MaximumUse }> {
  const remaining = CHANGE_KINDS.map((kind) => ({ kind, count: countRemaining(kind, counts, outcomes) }))
  const maxUse = sumUses(await Promise.all(remaining.map(({ kind, count }) => estimateMaxChangeUse(kind, count))))
  return { rows: 0, changes: remaining.reduce((sum, { count }) => sum + count, 0), maxUse }
}

type ChangeCounts = Pick<ChangePlan['counts'], keyof ChangeOutcomes>

/** Returns the number of changes of a kind that are pending or not sent. */
function countRemaining(kind: keyof ChangeOutcomes, counts: ChangeCounts, outcomes: ChangeOutcomes): number {
  const { done, failed, unknown } = outcomes[kind]
  return Math.max(0, counts[kind] - done - failed.count - unknown.count)
}

interface RunChanges {
  run: Pick<ChangePlan['run'], 'id' | 'maxCost'>
  count: number
  /** The cost limit that this command sets for the run, in wei; null if it sets none. */
  commandLimit: bigint | null
}

/**
 * Requests permission for the changes of a run. Returns the run's cost limit.
 *
 * @throws GdnError if the changes aren't permitted
 */
export async function permitChanges(
  deps: Deps,
  connection: Connection,
  blockchain: Blockchain,
  changes: RunChanges,
): Promise<RunLimit> {
  const { run, count, commandLimit } = changes
  const isFree = count === 0 && commandLimit === null
  const permitted = isFree ? null : await deps.permit(describeChangesSpending(connection, blockchain, changes))
  return runLimit(run.id, { permitted, commandLimit, storedLimit: run.maxCost })
}

/** Describes the spending of a run's changes, for `permit`. */
export function describeChangesSpending(
  connection: Connection,
  blockchain: Blockchain,
  { run: { id }, count, commandLimit }: RunChanges,
): Spending {
  const limited = { id, isOperation: false, canLimit: true, accepted: 0 }
  const run = commandLimit === null ? null : { ...limited, maxCost: { wei: commandLimit, isSet: true } }
  return { connection, blockchain, kind: 'nft', count, run }
}

/**
 * Sets the cost limit of a run before its changes are sent. Warns about signed transactions, which the limit doesn't
 * affect.
 *
 * @returns the limit to set in the request for each change
 */
export async function limitChanges(
  deps: Deps,
  connection: Connection,
  { blockchain, contractAddress: contract }: OpenedPlanSource['options'],
  { limit, commandLimit }: { limit: RunLimit; commandLimit: bigint | null },
): Promise<RunLimit> {
  const carried = await setRunLimit(connection.client, { limit, contract, blockchain, signal: deps.signals.signal })
  if (commandLimit !== null) await warnOfSignedTransactions(deps, connection, { limit: commandLimit, run: limit.run })
  return carried
}

const hasEnded = ({ pending, unknown, unsent }: Outcomes): boolean => pending === 0 && unknown.count === 0 && !unsent

async function withProgress(
  { io, now, sleep, signals }: Deps,
  outcomes: ChangeOutcomes,
  { kind, text }: { kind: keyof ChangeOutcomes; text: string },
  make: (deps: Pick<ChangeSenderDeps, 'now' | 'sleep' | 'signal' | 'onProgress'>) => Promise<Outcomes>,
): Promise<void> {
  const progress = await io.progress(text.replace('%s', '0'))
  try {
    const onProgress = (latest: Outcomes) => {
      outcomes[kind] = latest
      progress.update(`${text.replace('%s', String(latest.done))}${heldText(latest)}`)
    }
    outcomes[kind] = await make({ now, sleep, signal: signals.signal, onProgress })
  } finally {
    progress.stop()
  }
}

/**
 * Returns the reason why changes are held back, as the end of a progress line; an empty string if they aren't held
 * back.
 */
export function heldText({ held, reason, isUnreachable }: Outcomes): string {
  if (isUnreachable) return ": the server can't be reached, retrying every few seconds"
  const why = held ?? reason
  return why === null ? '' : `: ${safe(why)}`
}

async function* changesWithAction(
  action: PlannedChange['action'],
  changes: AsyncIterable<PlannedChange>,
): AsyncGenerator<PlannedChange> {
  for await (const change of changes) if (change.action === action) yield change
}

const KIND_LABELS: Readonly<Record<keyof ChangeOutcomes, string>> = {
  update: 'update',
  transfer: 'transfer',
  burn: 'burn',
}
const CHANGE_KINDS = Object.keys(KIND_LABELS) as (keyof ChangeOutcomes)[]

/** Returns the numbers of changes by outcome, as fields of the summary. Unsent changes count as pending. */
export function toSummaryRecord(counts: ChangeCounts, outcomes: ChangeOutcomes): DataRecord {
  const all = Object.values(outcomes)
  const sum = (countIn: (outcomes: Outcomes) => number) => all.reduce((n, ofKind) => n + countIn(ofKind), 0)
  return {
    updated: outcomes.update.done,
    transferred: outcomes.transfer.done,
    burned: outcomes.burn.done,
    pending: CHANGE_KINDS.reduce((n, kind) => n + countRemaining(kind, counts, outcomes), 0),
    failed: sum(({ failed }) => failed.count),
    unknown: sum(({ unknown }) => unknown.count),
  }
}

/**
 * Adds to an error's hint the number of changes that were made before the error.
 *
 * @param all the number of changes in the plan
 * @param minted the number of mints that were made, null if nothing was sent
 * @param again the command that resumes the plan
 */
export function describeStoppedChanges(
  error: unknown,
  outcomes: ChangeOutcomes,
  { all, minted, again }: { all: number; minted: number | null; again: string },
): unknown {
  if (!(error instanceof GdnError)) return error
  const isInterrupted = isInterruption(error)
  if (!isInterrupted && minted === null) return error
  const kinds = Object.values(outcomes)
  const done = (minted ?? 0) + kinds.reduce((n, ofKind) => n + ofKind.done, 0)
  const pending = kinds.reduce((n, ofKind) => n + ofKind.pending, 0)
  const accepted = pending === 0 ? '' : `, and ${pending} ${pending === 1 ? 'is' : 'are'} in progress`
  const progressText = `${done} of ${count(all, 'change')} ${done === 1 ? 'was' : 'were'} made${accepted}.`
  const progress = done === 0 ? `No change was made${accepted}.` : progressText
  const atLeast = done === 0 ? `No change is known to have been made${accepted}.` : `At least ${progressText}`
  if (error.code === 'not_ready') {
    const fix = 'Fund the signer or set up the network, as the error describes.'
    return error.with({ hint: `${progress} ${fix}\nThen run \`${again}\` to resume.` })
  }
  if (!isInterrupted) return error.with({ hint: [progress, error.hint].filter(Boolean).join(' ') })
  return error.with({
    // The server may have accepted requests whose responses were lost when the command was interrupted.
    hint: `${minted === null ? progress : atLeast}\nRun \`${again}\` to resume.`,
    details: { changes: all, made: done, in_progress: pending },
  })
}

const MAX_LISTED_PROBLEMS = 5

/** Returns the error for changes of a plan that didn't take effect; null if all of them did. */
export function changesError(counts: ChangeCounts, outcomes: ChangeOutcomes): GdnError | null {
  const first = (outcome: 'failed' | 'unknown') => CHANGE_KINDS.flatMap((kind) => outcomes[kind][outcome].first)
  const details = { failed_rows: first('failed'), unknown_rows: first('unknown') }
  const number = (countIn: (outcomes: Outcomes, kind: keyof ChangeOutcomes) => number) =>
    CHANGE_KINDS.flatMap((kind) => {
      const n = countIn(outcomes[kind], kind)
      return n === 0 ? [] : [count(n, KIND_LABELS[kind])]
    }).join(' and ')
  const unsent = number(({ pending }, kind) => countRemaining(kind, counts, outcomes) - pending)
  const hint = unsent === '' ? RESUME_HINT : `Not sent yet: ${unsent}.\n${RESUME_HINT}`
  const unknown = number((ofKind) => ofKind.unknown.count)
  if (unknown !== '') {
    const message = `the outcome of ${unknown} is unknown${formatReasons(details.unknown_rows)}`
    return new GdnError('unknown_outcome', message, { hint, details })
  }
  const pending = number((ofKind) => ofKind.pending)
  if (pending !== '') {
    const reason = CHANGE_KINDS.map((kind) => outcomes[kind].reason).find((candidate) => candidate !== null)
    const isOne = CHANGE_KINDS.reduce((n, kind) => n + outcomes[kind].pending, 0) === 1
    const message = `${pending} ${isOne ? 'is' : 'are'} still pending${reasonSuffix(reason)}`
    return new GdnError(toPendingCode(reason), message, { hint, details })
  }
  if (CHANGE_KINDS.some((kind) => outcomes[kind].unsent)) {
    const reason = CHANGE_KINDS.map((kind) => outcomes[kind].held).find((candidate) => candidate !== null)
    const message = `the timeout expired before all changes were sent${reasonSuffix(reason)}`
    return new GdnError('pending', message, { hint, details })
  }
  const failed = number((ofKind) => ofKind.failed.count)
  if (failed === '') return null
  return new GdnError('batch_failed_rows', `${failed} failed${formatReasons(details.failed_rows)}`, {
    hint: 'Run `gdn plan <manifest>` to show the current differences.',
    details,
  })
}

const formatReasons = (problems: readonly Problem[]): string =>
  problems
    .slice(0, MAX_LISTED_PROBLEMS)
    .map(({ reason, ...change }) => `\n  ${changePlace(change)}: ${reason}`)
    .join('')
