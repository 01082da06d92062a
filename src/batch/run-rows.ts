import { dirname } from 'node:path'
import { HashTable } from '../manifest/hash-table.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { sentMetadata } from '../operations/reconcile/content.ts'
import { RecordFile } from './journal/read.ts'
import { ManifestColumns } from './manifest-cells.ts'
import { loadLedger } from './open-ledger.ts'
import { remember } from './remember.ts'
import { requestMetadata } from './request.ts'
import { resultRows } from './results.ts'
import { type RowKey, rowKey } from './row-key.ts'
import { contentHash } from './row-text.ts'
import { journalPath, type Run, spoolPath } from './run-files.ts'
import { readSpool, type SpooledRow } from './spool.ts'
import type { ResultRow } from './types.ts'

/** What became of a row, and the row itself; null for one that left the manifest after it had been sent. */
export interface RunRow {
  result: ResultRow
  row: ManifestRow | null
  /** Its metadata as it was sent, local files as the URLs they got; of an adopted row as the manifest has it. */
  sentMetadata(): Promise<Json | null>
}

type Json = Readonly<Record<string, unknown>>

/** Requests that are kept while rows of them come by. */
const KEPT_REQUESTS = 64

/** The results with the rows that they are of, in the manifest's order, also while a process works on the run. */
export async function* runRows({ stateDir, id, running }: Run): AsyncGenerator<RunRow> {
  const path = journalPath(stateDir, id)
  const { run, ledger } = await loadLedger(path)
  const records = await RecordFile.open(path)
  const handed: { row: ManifestRow | null; key: RowKey } = { row: null, key: '' }
  // The results take one row at a time: what they were handed last is what they tell next.
  async function* rows(): AsyncGenerator<SpooledRow> {
    for await (const spooled of readSpool(spoolPath(stateDir, id))) {
      handed.row = spooled.row
      handed.key = spooled.key
      yield spooled
    }
    handed.row = null
  }
  const metadataOf = remember(KEPT_REQUESTS, async (n): Promise<Json[] | null> => {
    const body = await ledger.readBody(records, n)
    return body === null ? null : (sentMetadata(body) as Json[])
  })
  const metadataOfRow = async (key: RowKey, row: ManifestRow): Promise<Json | null> => {
    const index = ledger.rows.find(key)
    const sent = index < 0 ? null : ledger.sentBy(index)
    if (sent === null) return null
    const metadata = await metadataOf(sent.request)
    return metadata === null ? requestMetadata(row, (path) => path) : (metadata[sent.position] ?? null)
  }
  try {
    for await (const result of resultRows(run, ledger, records, rows(), running)) {
      const { row, key } = handed
      yield { result, row, sentMetadata: async () => (row === null ? null : await metadataOfRow(key, row)) }
    }
  } finally {
    await records.close()
  }
}

/** The outcome of a manifest's rows in a run that has sent some of them. */
export interface RunOutcomes {
  /** To be called for each row once, in the manifest's order: copies of a row are told apart by their number. */
  of(row: ManifestRow): Promise<ResultRow>
  close(): Promise<void>
}

/** Opens a run to look up the rows of a manifest as it is now. A row that the run does not have is pending. */
export async function openOutcomes({ stateDir, id, running }: Run): Promise<RunOutcomes> {
  const path = journalPath(stateDir, id)
  const { run, ledger } = await loadLedger(path)
  const records = await RecordFile.open(path)
  let next: SpooledRow | null = null
  // The results take one row at a time: the one that was asked about last.
  async function* rows(): AsyncGenerator<SpooledRow> {
    while (next !== null) yield next
  }
  const results = resultRows(run, ledger, records, rows(), running)
  const seen = new HashTable()
  const copies = new Map<string, number>()
  const copyOf = (content: string): number => {
    if (seen.getOrAdd(content, 1) === undefined) return 1
    const copy = (copies.get(content) ?? 1) + 1
    copies.set(content, copy)
    return copy
  }
  return {
    async of(row) {
      const content = contentHash(row)
      next = { key: rowKey(row.id, content, row.id === null ? copyOf(content) : 1), content, row }
      const { value } = await results.next()
      return value as ResultRow
    },
    close: () => records.close(),
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
