import { parseRaisingFlags } from '../../../api/stuck-reason.ts'
import type { ListedRows } from '../../../batch/runs/summary.ts'
import { isMaxSupplyError } from '../../../batch/supply.ts'
import type { BatchSummary } from '../../../batch/types.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { type ErrorCode, GdnError, isInterruption } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import type { RunCommands } from '../runs/run-commands.ts'

const ERROR_CODES_BY_EXIT_CODE: Readonly<Record<number, ErrorCode>> = {
  [EXIT.failedRows]: 'batch_failed_rows',
  [EXIT.pending]: 'pending',
  [EXIT.unknownOutcome]: 'unknown_outcome',
}

/** A deployed row that differs from its request. */
export interface DifferingRow {
  key: string
  line: number
  differs: string
}

type RunProblems = Pick<BatchSummary, 'run' | 'counts'> & ListedRows

const MAX_SHOWN_REASONS = 5
const MAX_SHOWN_LINE_RANGES = 10

/** If a run stopped because the local backend isn't running any more, returns this reason instead of the last error. */
export async function explainStop(
  settings: Pick<Settings, 'server'>,
  stopped: BatchSummary['stopped'],
): Promise<BatchSummary['stopped']> {
  if (stopped?.code !== 'unreachable') return stopped
  const problem = await settings.server().catch((error: unknown) => error)
  if (!(problem instanceof GdnError) || problem.code !== 'unreachable') return stopped
  return { ...stopped, message: problem.message, hint: problem.hint ?? null }
}

/** Creates the error for deployed rows that differ from their requests. */
export const differingRowsError = (verified: VerificationSummary): GdnError =>
  new GdnError('verify_failed', describeDifferingRows(verified).join('\n'), {
    details: { differing_rows: verified.differing },
  })

/**
 * Returns the error of a run that ended with problems: the exit code, the rows grouped by reason, and hints. Returns
 * null if the run had no problems.
 */
export function createRunError(
  summary: BatchSummary,
  commands: RunCommands,
  verified: VerificationSummary = { counts: { differing: 0 }, differing: [] },
  manifest: string | null = null,
): GdnError | null {
  const { counts, stopped, exitCode } = summary
  const { differing } = verified
  if (exitCode === EXIT.ok && differing.length === 0) return null
  const { failedRows, doubledRows } = summary
  const parts: string[] = []
  if (stopped !== null) parts.push(stopped.message)
  if (counts.unknown > 0) parts.push(...describeUnknownRows(summary))
  if (counts.failed > 0) {
    parts.push(`${count(counts.failed, 'row')} failed:`, ...groupByReason(failedRows.map(toLineReason('error'))))
  }
  if (doubledRows.length > 0) {
    parts.push(`${count(doubledRows.length, 'row')} may have been minted twice:`, ...groupByReason(doubledRows))
  }
  const are = (n: number) => (n === 1 ? 'is' : 'are')
  if (counts.accepted > 0)
    parts.push(
      `${count(counts.accepted, 'row')} ${are(counts.accepted)} accepted, but not deployed yet${reasonText(summary)}`,
    )
  if (counts.pending > 0) parts.push(`${count(counts.pending, 'row')} ${are(counts.pending)} pending (not sent yet)`)
  if (differing.length > 0) parts.push(...describeDifferingRows(verified))
  const code =
    exitCode === EXIT.ok ? 'verify_failed' : (ERROR_CODES_BY_EXIT_CODE[exitCode] ?? stopped?.code ?? 'unexpected')
  // Omit the hint about the interruption, because one of the next steps resumes the run.
  const isInterrupted = stopped !== null && isInterruption(stopped)
  const hints = [isInterrupted ? null : (stopped?.hint ?? null), ...nextSteps(summary, commands)].filter(
    (hint) => hint !== null,
  )
  return new GdnError(code, parts.join('\n'), {
    hint: hints.join('\n'),
    details: {
      ...toRunErrorDetails(summary, manifest),
      ...(differing.length === 0 ? {} : { differing_rows: differing }),
    },
  })
}

/** Returns the details of a run's error: the counts of the run, and the first rows that need attention. */
export function toRunErrorDetails({ run, counts, ...rows }: RunProblems, manifest: string | null) {
  const { unknownRows, absentRows, undecidedRows, failedRows, pendingRows, acceptedRows, doubledRows } = rows
  return {
    run: run.name,
    manifest,
    counts,
    unknown_rows: unknownRows,
    absent_rows: absentRows,
    undecided_rows: undecidedRows,
    failed_rows: failedRows,
    pending_rows: pendingRows,
    accepted_rows: acceptedRows,
    ...(doubledRows.length === 0 ? {} : { doubled_rows: doubledRows }),
  }
}

const reasonText = ({ waiting }: BatchSummary): string => (waiting == null ? '' : `: ${waiting}`)

interface VerificationSummary {
  counts: { differing: number }
  /** The first rows that differ. */
  differing: readonly DifferingRow[]
}

function describeDifferingRows({ counts, differing }: VerificationSummary): string[] {
  return [
    `${count(counts.differing, 'row')} ${counts.differing === 1 ? 'differs' : 'differ'} on chain or in storage from what was requested:`,
    ...groupByReason(differing.map(toLineReason('differs'))),
  ]
}

/**
 * Creates the error for rows that differ from chain or storage, for commands that send nothing, such as `gdn batch
 * results`.
 */
export function verifyFailedError(verified: VerificationSummary): GdnError {
  return new GdnError('verify_failed', describeDifferingRows(verified).join('\n'), {
    hint: 'The server of the run reports no changes that explain the differences. Investigate each difference.',
    details: { count: verified.counts.differing, differing_rows: verified.differing },
  })
}

interface LineReason {
  line: number
  reason: string
}

const toLineReason =
  <Key extends string>(key: Key) =>
  (row: { line: number } & Readonly<Record<Key, string>>): LineReason => ({ line: row.line, reason: row[key] })

/**
 * Describes the rows with an unknown outcome, and what a reconciliation found out about them. If there are many rows,
 * names only the first.
 */
function describeUnknownRows({ counts, unknownRows, absentRows, undecidedRows }: BatchSummary): string[] {
  const namedKeys = new Set([...absentRows, ...undecidedRows].map(({ key }) => key))
  const otherRows = unknownRows.filter(({ key }) => !namedKeys.has(key))
  const more = counts.unknown > unknownRows.length ? ` (the first ${unknownRows.length} are listed)` : ''
  const parts = [`the outcome of ${count(counts.unknown, 'row')} is unknown${more}:`]
  if (otherRows.length > 0) parts.push(`  ${formatLineRanges(otherRows)}`)
  parts.push(...groupByReason(absentRows.map(({ line, reason }) => ({ line, reason: `absent: ${reason}` }))))
  parts.push(...groupByReason(undecidedRows.map(({ line, reason }) => ({ line, reason: `undecided: ${reason}` }))))
  return parts
}

/** Groups rows by reason. Each line is indented by two spaces and reads `lines 3, 4: the reason`. */
function groupByReason(rows: readonly LineReason[]): string[] {
  const reasons = new Map<string, LineReason[]>()
  for (const row of rows) {
    const alike = reasons.get(row.reason)
    if (alike === undefined) reasons.set(row.reason, [row])
    else alike.push(row)
  }
  const lines = [...reasons]
    .slice(0, MAX_SHOWN_REASONS)
    .map(([reason, alike]) => `  ${formatLineRanges(alike)}: ${reason}`)
  const unlisted = [...reasons.values()].slice(MAX_SHOWN_REASONS).flat().length
  return unlisted === 0 ? lines : [...lines, `  and ${count(unlisted, 'more row')}, for other reasons`]
}

/** Formats line numbers: `lines 2-6, 9, …`. */
export function formatLineRanges(rows: readonly { line: number }[]): string {
  const ranges: [from: number, to: number][] = []
  for (const line of rows.map((row) => row.line).sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && line <= last[1] + 1) last[1] = line
    else ranges.push([line, line])
  }
  const shownRanges = ranges
    .slice(0, MAX_SHOWN_LINE_RANGES)
    .map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
  return `${rows.length > 1 ? 'lines' : 'line'} ${shownRanges.join(', ')}${ranges.length > MAX_SHOWN_LINE_RANGES ? ', …' : ''}`
}

/** Returns the applicable next steps, one line each, in the order in which to run them. */
function nextSteps(summary: BatchSummary, commands: RunCommands): string[] {
  const { counts, absentRows, stopped } = summary
  const steps: string[] = []
  if (counts.unknown > 0) {
    steps.push(
      'Rows with an unknown outcome may have been minted. gdn sends them again only if this cannot create a second NFT.',
    )
    steps.push(`Run \`${commands('reconcile')}\` to search for them again.`)
    steps.push(
      `Run \`${commands('reconcile', '--row <key>=<id>')}\` to set the outcome of a row: the ID of its NFT, or absent.`,
    )
    if (absentRows.length > 0) steps.push(`Run \`${commands('retry', '--absent')}\` to retry absent rows.`)
  }
  const flag = parseRaisingFlags(summary.waiting)
  if (flag !== null && counts.accepted > 0) {
    steps.push(
      `Run \`${commands('resume', flag)}\` to raise the limit, or resume without the flag once fees have fallen.`,
    )
    // If a limit was reached, another hint explains how to resume.
  } else if (stopped?.code !== 'max_cost' && counts.pending + counts.accepted > 0)
    steps.push(`Run \`${commands('resume')}\` to resume the run.`)
  if (counts.failed > 0) steps.push(failedStep(commands, summary.failedRows))
  steps.push(`Run \`${commands('results')}\` to list every row.`)
  return steps
}

/**
 * Returns the next steps for failed rows, one line each. A row that exceeds the maximum supply fails every time, so no
 * retry is suggested.
 */
export function failedStep(commands: RunCommands, failed: BatchSummary['failedRows']): string {
  const beyond = failed.filter(({ error }) => isMaxSupplyError(error)).length
  if (beyond === 0) return retryStep(commands)
  const step = 'Remove the rows that exceed the maximum supply from the manifest, or mint them in another collection.'
  return beyond === failed.length ? step : `${step}\n${retryStep(commands)}`
}

/**
 * Returns the step that retries failed rows. `gdn batch retry` refuses edited rows, because it sends the planned rows.
 */
function retryStep(commands: RunCommands): string {
  const retry = commands('retry')
  const step = `After you fix the cause, run \`${retry}\` to retry failed rows.`
  return retry.startsWith('gdn batch retry')
    ? `${step} If you edit the manifest, run \`gdn batch mint\` again instead.`
    : step
}
