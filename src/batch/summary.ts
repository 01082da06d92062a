import { GdnError } from '../core/errors.ts'
import { EXIT, type ExitCode } from '../core/exit-codes.ts'
import type { Stop } from './run-context.ts'
import type { ResultRow, RowCounts } from './types.ts'

/**
 * The exit code of a run. An interruption is told as that; then 9 goes before what stopped the run, before 8, before 7:
 * an unknown outcome is what must not be overlooked.
 */
export function exitCodeOf(counts: RowCounts, stopped: Stop | null, waited: boolean): ExitCode {
  if (stopped?.code === 'interrupted') return EXIT.sigint
  if (stopped?.code === 'terminated') return EXIT.sigterm
  if (counts.unknown > 0) return EXIT.unknownOutcome
  if (stopped !== null) return new GdnError(stopped.code, stopped.message).exitCode
  if (counts.pending > 0 || (waited && counts.accepted > 0)) return EXIT.pending
  return counts.failed > 0 ? EXIT.failedRows : EXIT.ok
}

const MAX_NAMED = 50

/** How the error of an unknown row begins after reconciling. */
const ABSENT = 'absent: '
const UNDECIDED = 'undecided: '

/** The rows that a person must hear of, the first 50 of each kind. */
export async function nameRows(results: AsyncIterable<ResultRow>, counts: RowCounts) {
  const unknownRows: { key: string; line: number }[] = []
  const failedRows: { key: string; line: number; error: string }[] = []
  const pendingRows: { key: string; line: number }[] = []
  const absentRows: { key: string; line: number; reason: string }[] = []
  const undecidedRows: { key: string; line: number; reason: string }[] = []
  const named = () => unknownRows.length + failedRows.length + pendingRows.length
  const most = (count: number) => Math.min(count, MAX_NAMED)
  const goal = most(counts.unknown) + most(counts.failed) + most(counts.pending + counts.accepted)
  if (goal === 0) return { unknownRows, failedRows, pendingRows, absentRows, undecidedRows }
  for await (const { key, line, status, error } of results) {
    if (status === 'unknown' && unknownRows.length < MAX_NAMED) {
      unknownRows.push({ key, line })
      if (error?.startsWith(ABSENT) === true) absentRows.push({ key, line, reason: error.slice(ABSENT.length) })
      if (error?.startsWith(UNDECIDED) === true)
        undecidedRows.push({ key, line, reason: error.slice(UNDECIDED.length) })
    } else if (status === 'failed' && failedRows.length < MAX_NAMED) failedRows.push({ key, line, error: error ?? '' })
    else if ((status === 'pending' || status === 'accepted') && pendingRows.length < MAX_NAMED) {
      pendingRows.push({ key, line })
    }
    if (named() === goal) break
  }
  return { unknownRows, failedRows, pendingRows, absentRows, undecidedRows }
}
