import type { RecordFile } from '../journal/read.ts'
import type { ReconciledRecord } from '../journal/records.ts'
import type { Ledger } from '../ledger.ts'

/** The record that says of a request what is known of it already; to be written once something was added. */
export async function recordOf(ledger: Ledger, records: RecordFile, n: number): Promise<ReconciledRecord> {
  const answer = ledger.hasAnswer(n) ? await ledger.readAnswer(records, n) : null
  const before = answer?.t === 'reconciled' ? answer : null
  return {
    t: 'reconciled',
    n,
    ids: Array.from({ length: ledger.requestSize(n) }, (_, position) => answer?.ids?.[position] ?? null),
    absent: before?.absent.slice() ?? [],
    undecided: before?.undecided.slice() ?? [],
    at: Date.now(),
  }
}
