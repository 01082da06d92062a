import { GdnError } from '../../core/errors.ts'
import { EXIT, type ExitCode } from '../../core/exit-codes.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import type { BatchSummary, ResultRow, RowCounts } from '../types.ts'
import { ABSENT_PREFIX, MINTED_TWICE_PREFIX, UNDECIDED_PREFIX } from './results.ts'
import type { StopReason } from './run-context.ts'

/**
 * Returns the exit code of a run. An interruption has its own code. Otherwise, unknown outcomes (9) take precedence, so
 * that they aren't overlooked. They are followed by the reason why the run stopped, pending rows (8) and failed rows
 * (7).
 */
export function selectExitCode(
  counts: RowCounts,
  mintedTwiceCount: number,
  stopped: StopReason | null,
  waited: boolean,
): ExitCode {
  if (stopped?.code === 'interrupted') return EXIT.sigint
  if (stopped?.code === 'terminated') return EXIT.sigterm
  if (counts.unknown > 0) return EXIT.unknownOutcome
  if (stopped !== null) return new GdnError(stopped.code, stopped.message).exitCode
  if (counts.pending > 0 || (waited && counts.accepted > 0)) return EXIT.pending
  return counts.failed > 0 || mintedTwiceCount > 0 ? EXIT.failedRows : EXIT.ok
}

/** The first rows of a run that need attention. */
export type ListedRows = Pick<
  BatchSummary,
  'unknownRows' | 'failedRows' | 'pendingRows' | 'acceptedRows' | 'absentRows' | 'undecidedRows' | 'doubledRows'
>

/** Returns the rows that need attention: the first 50 of each kind. */
export async function collectListedRows(
  results: AsyncIterable<ResultRow>,
  counts: RowCounts,
  mintedTwiceCount: number,
): Promise<ListedRows> {
  const rows: ListedRows = {
    unknownRows: [],
    failedRows: [],
    pendingRows: [],
    acceptedRows: [],
    absentRows: [],
    undecidedRows: [],
    doubledRows: [],
  }
  const unnamed = {
    unknown: counts.unknown,
    failed: counts.failed,
    pending: counts.pending,
    accepted: counts.accepted,
    doubled: mintedTwiceCount,
  }
  const isFull = (...lists: unknown[][]) => lists.every(({ length }) => length === MAX_LISTED_ROWS)
  const isDone = () =>
    (unnamed.unknown === 0 || isFull(rows.unknownRows, rows.absentRows, rows.undecidedRows)) &&
    (unnamed.failed === 0 || isFull(rows.failedRows)) &&
    (unnamed.pending === 0 || isFull(rows.pendingRows)) &&
    (unnamed.accepted === 0 || isFull(rows.acceptedRows)) &&
    (unnamed.doubled === 0 || isFull(rows.doubledRows))
  if (isDone()) return rows
  for await (const { key, line, status, error } of results) {
    const row = { key, line }
    if (error?.startsWith(MINTED_TWICE_PREFIX) === true) {
      unnamed.doubled--
      const reason = error.slice(MINTED_TWICE_PREFIX.length)
      addListedRow(rows.doubledRows, { ...row, reason, nft_gdn_id: reason.slice(reason.lastIndexOf(' ') + 1) })
    }
    if (status === 'unknown') {
      unnamed.unknown--
      addListedRow(rows.unknownRows, row)
      if (error?.startsWith(ABSENT_PREFIX) === true)
        addListedRow(rows.absentRows, { ...row, reason: error.slice(ABSENT_PREFIX.length) })
      if (error?.startsWith(UNDECIDED_PREFIX) === true) {
        addListedRow(rows.undecidedRows, { ...row, reason: error.slice(UNDECIDED_PREFIX.length) })
      }
    } else if (status === 'failed') {
      unnamed.failed--
      addListedRow(rows.failedRows, { ...row, error: error ?? '' })
    } else if (status !== 'deployed') {
      const kind = status === 'accepted' ? 'accepted' : 'pending'
      unnamed[kind]--
      addListedRow(rows[`${kind}Rows`], row)
    }
    if (isDone()) break
  }
  return rows
}

function addListedRow<Row>(rows: Row[], row: Row): void {
  if (rows.length < MAX_LISTED_ROWS) rows.push(row)
}
