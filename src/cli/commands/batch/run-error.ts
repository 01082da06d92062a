import type { BatchSummary } from '../../../batch/types.ts'
import { type ErrorCode, GdnError } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import { count } from '../../render/count.ts'
import type { RunCommands } from './run-commands.ts'

const CODE_BY_EXIT: Readonly<Record<number, ErrorCode>> = {
  [EXIT.failedRows]: 'batch_failed_rows',
  [EXIT.pending]: 'pending',
  [EXIT.unknownOutcome]: 'unknown_outcome',
}

/** A deployed row that isn't what was requested. */
export interface DifferingRow {
  key: string
  line: number
  differs: string
}

const MAX_REASONS = 5
const MAX_LINES = 10

/** The error of deployed rows that differ from what was requested. */
export const differingRows = (verified: Verified): GdnError =>
  new GdnError('verify_failed', differingParts(verified).join('\n'), {
    details: { differing_rows: verified.differing },
  })

/** The error of a run that ended with problems: its exit code, the rows with reasons, and hints. Null if there are none. */
export function errorOfRun(
  summary: BatchSummary,
  commands: RunCommands,
  verified: Verified = { counts: { differing: 0 }, differing: [] },
  manifest: string | null = null,
): GdnError | null {
  const { run, counts, stopped, exitCode } = summary
  const { differing } = verified
  if (exitCode === EXIT.ok && differing.length === 0) return null
  const { unknownRows, absentRows, undecidedRows, failedRows, pendingRows, doubledRows } = summary
  const parts: string[] = []
  if (stopped !== null) parts.push(stopped.message)
  if (counts.unknown > 0) parts.push(...unknownParts(summary))
  if (counts.failed > 0) {
    parts.push(`${count(counts.failed, 'row')} failed:`, ...byReason(failedRows.map(withReason('error'))))
  }
  if (doubledRows.length > 0) parts.push(...doubledParts(summary))
  if (counts.accepted > 0) parts.push(`${count(counts.accepted, 'row')} accepted and not deployed yet`)
  if (counts.pending > 0) parts.push(`${count(counts.pending, 'row')} not sent yet`)
  if (differing.length > 0) parts.push(...differingParts(verified))
  const code = exitCode === EXIT.ok ? 'verify_failed' : (CODE_BY_EXIT[exitCode] ?? stopped?.code ?? 'unexpected')
  const hints = [stopped?.hint ?? null, ...nextSteps(summary, commands)].filter((hint) => hint !== null)
  return new GdnError(code, parts.join('\n'), {
    hint: hints.join('\n'),
    details: {
      run: run.name,
      manifest,
      counts,
      unknown_rows: unknownRows,
      absent_rows: absentRows,
      undecided_rows: undecidedRows,
      failed_rows: failedRows,
      pending_rows: pendingRows,
      ...(doubledRows.length === 0 ? {} : { doubled_rows: doubledRows }),
      ...(differing.length === 0 ? {} : { differing_rows: differing }),
    },
  })
}

interface Verified {
  counts: { differing: number }
  /** The first of them. */
  differing: readonly DifferingRow[]
}

function differingParts({ counts, differing }: Verified): string[] {
  return [
    `${count(counts.differing, 'row')} not as requested on chain or in storage:`,
    ...byReason(differing.map(withReason('differs'))),
  ]
}

/** What looking at chain and storage alone ends with. */
export function verifyFailed(verified: Verified): GdnError {
  return new GdnError('verify_failed', differingParts(verified).join('\n'), {
    hint: 'an owner differs where an NFT was passed on since; anything else should not be',
    details: { count: verified.counts.differing, differing_rows: verified.differing },
  })
}

/** Rows found absent and sent again, of which another NFT turned up: the first request's, or another client's. */
function doubledParts({ doubledRows }: BatchSummary): string[] {
  const rows = doubledRows.map(({ line, nft_gdn_id }) => ({ line, reason: `also there as ${nft_gdn_id}` }))
  return [
    `${count(doubledRows.length, 'row')} possibly minted twice: after a retry, another NFT with the same content turned up:`,
    ...byReason(rows),
  ]
}

interface Named {
  line: number
  reason: string
}

const withReason =
  <Key extends string>(key: Key) =>
  (row: { line: number } & Readonly<Record<Key, string>>): Named => ({ line: row.line, reason: row[key] })

/** The rows of unknown outcome by what reconciling found. It names the first of many, so their numbers may be more. */
function unknownParts({ counts, unknownRows, absentRows, undecidedRows }: BatchSummary): string[] {
  const known = new Set([...absentRows, ...undecidedRows].map(({ key }) => key))
  const others = unknownRows.filter(({ key }) => !known.has(key))
  const more = counts.unknown > unknownRows.length ? ` (the first ${unknownRows.length} are named)` : ''
  const parts = [`the outcome of ${count(counts.unknown, 'row')} is unknown${more}:`]
  if (others.length > 0) parts.push(`  ${linesOf(others)}`)
  parts.push(...byReason(absentRows.map(({ line, reason }) => ({ line, reason: `absent: ${reason}` }))))
  parts.push(...byReason(undecidedRows.map(({ line, reason }) => ({ line, reason: `undecided: ${reason}` }))))
  return parts
}

/** `  lines 3, 4: the reason`, a reason once. */
function byReason(rows: readonly Named[]): string[] {
  const reasons = new Map<string, Named[]>()
  for (const row of rows) {
    const alike = reasons.get(row.reason)
    if (alike === undefined) reasons.set(row.reason, [row])
    else alike.push(row)
  }
  const shown = [...reasons].slice(0, MAX_REASONS).map(([reason, alike]) => `  ${linesOf(alike)}: ${reason}`)
  const left = [...reasons.values()].slice(MAX_REASONS).flat().length
  return left === 0 ? shown : [...shown, `  and ${count(left, 'row')} more, for other reasons`]
}

/** `lines 2-6, 9, …`. */
export function linesOf(rows: readonly { line: number }[]): string {
  const ranges: [from: number, to: number][] = []
  for (const line of rows.map((row) => row.line).sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && line <= last[1] + 1) last[1] = line
    else ranges.push([line, line])
  }
  const shown = ranges.slice(0, MAX_LINES).map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
  return `${rows.length > 1 ? 'lines' : 'line'} ${shown.join(', ')}${ranges.length > MAX_LINES ? ', …' : ''}`
}

/** What can be done, a line each, in the order in which it makes sense. */
function nextSteps(summary: BatchSummary, commands: RunCommands): string[] {
  const { counts, absentRows } = summary
  const steps: string[] = []
  if (counts.unknown > 0) {
    steps.push('rows of unknown outcome may have been minted, so nothing sends them again by itself')
    steps.push(`look for them again: ${commands('reconcile')}`)
    steps.push(`say yourself what a row became (an NFT's id, or absent): ${commands('reconcile', '--row KEY=ID')}`)
    if (absentRows.length > 0) steps.push(`send those again that aren't there: ${commands('retry', '--absent')}`)
  }
  if (counts.pending + counts.accepted > 0) steps.push(`go on: ${commands('resume')}`)
  if (counts.failed > 0) steps.push(`send failed rows again, once the reason is gone: ${commands('retry')}`)
  steps.push(`every row: ${commands('results')}`)
  return steps
}
