import { dirname } from 'node:path'
import type { ManifestRow } from '../manifest/row.ts'
import { RecordFile } from './journal/read.ts'
import { ManifestColumns } from './manifest-cells.ts'
import { loadLedger } from './open-ledger.ts'
import { resultRows } from './results.ts'
import { journalPath, type Run, spoolPath } from './run-files.ts'
import { readSpool, type SpooledRow } from './spool.ts'
import type { ResultRow } from './types.ts'

/** What became of a row, and the row itself; null for one that left the manifest after it had been sent. */
export interface RunRow {
  result: ResultRow
  row: ManifestRow | null
}

/** The results with the rows that they are of, in the manifest's order, also while a process works on the run. */
export async function* runRows({ stateDir, id, running }: Run): AsyncGenerator<RunRow> {
  const path = journalPath(stateDir, id)
  const { run, ledger } = await loadLedger(path)
  const records = await RecordFile.open(path)
  const handed: { row: ManifestRow | null } = { row: null }
  // The results take one row at a time: what they were handed last is what they tell next.
  async function* rows(): AsyncGenerator<SpooledRow> {
    for await (const spooled of readSpool(spoolPath(stateDir, id))) {
      handed.row = spooled.row
      yield spooled
    }
    handed.row = null
  }
  try {
    for await (const result of resultRows(run, ledger, records, rows(), running)) yield { result, row: handed.row }
  } finally {
    await records.close()
  }
}

/** A row each, in the manifest's order, also while a process works on the run. */
export async function* runResults(run: Run): AsyncGenerator<ResultRow> {
  for await (const { result } of runRows(run)) yield result
}

/** The columns that the rows of a run use. */
export async function runColumns({ stateDir, id, manifestPath }: Run): Promise<ManifestColumns> {
  const columns = new ManifestColumns(manifestPath === null ? null : dirname(manifestPath))
  for await (const { row } of readSpool(spoolPath(stateDir, id))) columns.learn(row)
  return columns
}
