import type { BatchOptions, BatchSummary } from '../../../batch/types.ts'
import { type ErrorCode, GdnError } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import type { DataRecord } from '../../cells.ts'
import { type Io, safe } from '../../io.ts'
import type { Card, View } from '../../view.ts'
import { count } from '../../waiting.ts'

export const SUMMARY_VIEW: View = {
  fields: [
    'run',
    'run_id',
    'blockchain',
    'contract_address',
    'total',
    'deployed',
    'accepted',
    'pending',
    'failed',
    'unknown',
    'requests',
  ],
  columns: ['run', 'total', 'deployed', 'accepted', 'pending', 'failed', 'unknown'],
  id: 'run',
  card: runCard,
}

const STATES = ['deployed', 'accepted', 'pending', 'failed', 'unknown'] as const

/** `24 rows: 22 deployed, 2 failed`. States without rows are left out. */
export function rowsByState(counts: Readonly<Record<string, unknown>>): string {
  const states = STATES.filter((state) => Number(counts[state]) > 0).map((state) => `${counts[state]} ${state}`)
  const total = count(Number(counts.total), 'row')
  return states.length === 0 ? total : `${total}: ${states.join(', ')}`
}

/** A run as a person reads it: where it stands, and where to look. */
export function runCard(record: DataRecord): Card {
  return [
    ['run', record.run],
    ['state', rowsByState(record)],
    ['results', `gdn batch results ${quote(safe(String(record.run)))}`],
  ]
}

export function summaryData(
  { run, counts, requests }: BatchSummary,
  { blockchain, contractAddress }: Pick<BatchOptions, 'blockchain' | 'contractAddress'>,
): DataRecord {
  return { run: run.name, run_id: run.id, blockchain, contract_address: contractAddress, ...counts, requests }
}

const CODE_BY_EXIT: Readonly<Record<number, ErrorCode>> = {
  [EXIT.failedRows]: 'batch_failed_rows',
  [EXIT.pending]: 'pending',
  [EXIT.unknownOutcome]: 'unknown_outcome',
}

const MAX_NAMED = 10

/** What a run that didn't go well ends with: its exit code, which rows, and what to do about them. */
export function complaintOf(summary: BatchSummary): GdnError | null {
  const { run, counts, stopped, exitCode, unknownRows, failedRows, pendingRows } = summary
  if (exitCode === EXIT.ok) return null
  const name = safe(run.name)
  const parts: string[] = []
  if (stopped !== null) parts.push(stopped.message)
  if (counts.unknown > 0) parts.push(`the outcome of ${count(counts.unknown, 'row')} is unknown: ${named(unknownRows)}`)
  if (counts.failed > 0) parts.push(`${count(counts.failed, 'row')} failed: ${named(failedRows)}`)
  if (counts.accepted > 0) parts.push(`${count(counts.accepted, 'row')} accepted and not deployed yet`)
  if (counts.pending > 0) parts.push(`${count(counts.pending, 'row')} not sent yet`)
  const code = CODE_BY_EXIT[exitCode] ?? stopped?.code ?? 'unexpected'
  return new GdnError(code, parts.join('\n'), {
    hint: stopped?.hint ?? hintOf(code, name),
    details: { run: run.name, counts, unknown_rows: unknownRows, failed_rows: failedRows, pending_rows: pendingRows },
  })
}

function hintOf(code: ErrorCode, run: string): string {
  const results = `every row: gdn batch results ${quote(run)}`
  if (code === 'unknown_outcome') {
    return `these rows may or may not have been minted, so they are not sent again; look before you repeat them\n${results}`
  }
  if (code === 'batch_failed_rows')
    return `put right what failed, and send those rows as a manifest of their own\n${results}`
  return `go on: gdn batch resume ${quote(run)}\n${results}`
}

/** A name as a shell takes it. */
export const quote = (name: string) => (/^[\w./@%+=:,-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`)

function named(rows: readonly { key: string; line: number; error?: string }[]): string {
  const shown = rows.slice(0, MAX_NAMED).map(({ line, error }) => `line ${line}${error ? ` (${error})` : ''}`)
  return rows.length > MAX_NAMED ? `${shown.join(', ')}, …` : shown.join(', ')
}

/** How it went and what can be done next, where the summary went to a file or a program. */
export function tellNext(io: Io, { run, counts }: BatchSummary): void {
  io.note(io.errPaint.good(rowsByState({ ...counts })))
  io.note(`Results: gdn batch results ${quote(safe(run.name))}`)
}
