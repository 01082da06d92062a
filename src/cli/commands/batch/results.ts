import type { ManifestComparison } from '../../../batch/manifest-changes.ts'
import { type RunRow, runColumns, runRows } from '../../../batch/runs/run-rows.ts'
import { type Run, runStatus } from '../../../batch/runs/runs.ts'
import type { RowStatus } from '../../../batch/types.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import type { ColumnNaming } from '../../../manifest/columns.ts'
import { type CsvHeader, readCsvHeader } from '../../../manifest/csv-header.ts'
import type { ManifestOptions } from '../../../manifest/options.ts'
import { type DropState, isAbandoned, isShuffled, readDropState } from '../../../reveal/drop-state.ts'
import { readStoredDraw } from '../../../reveal/shuffle/drawn-rows.ts'
import { findManifestEdits, warnOfEdits } from '../../batch/edits-since.ts'
import { manifestOptions } from '../../batch/options/manifest-options.ts'
import { readFileCells } from '../../batch/report/ignored-cells.ts'
import {
  chooseFields,
  orderColumnsByHeader,
  printResultsCsv,
  type ResultRecord,
} from '../../batch/report/results-csv.ts'
import { verifyFailedError } from '../../batch/report/run-error.ts'
import { describeDrop } from '../../batch/reveal/next-reveal.ts'
import { StoredNames } from '../../batch/reveal/stored-names.ts'
import { describeOtherRuns } from '../../batch/runs/other-runs.ts'
import { addRunArgument, resolveRun } from '../../batch/runs/resolve-run.ts'
import { addRunServerFlag, findRun, type RunFlags, resolveRunSettingsIfFound } from '../../batch/runs/resolve-server.ts'
import {
  createRecordReader as presentRecords,
  rowVerifyText,
  type VerifiedRow,
  verifyRows,
} from '../../batch/verify/verify-rows.ts'
import { VerifyTally } from '../../batch/verify/verify-tally.ts'
import { GdnCommand } from '../../command.ts'
import { addVerifyFlags, openVerifier, type VerifyFlags } from '../../connect/open-verifier.ts'
import { readSpending, spentText } from '../../cost/spent.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type OutputMode, someOf } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createCsv } from '../../render/csv.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'

const STATUSES = ['pending', 'accepted', 'deployed', 'failed', 'unknown', 'burned', 'abandoned'] as const

/** The row statuses that `--status` accepts. A burned row doesn't count as deployed. */
type ShownStatus = RowStatus | 'burned' | 'abandoned'

export interface ResultsFlags extends OutputFlags, RunFlags, VerifyFlags {
  status?: ShownStatus[]
  costs?: boolean
}

const VIEW: View = {
  fields: [
    'key',
    'line',
    'title',
    'status',
    'nft_gdn_id',
    'token_id',
    'contract_address',
    'receiver_wallet_address',
    'metadata_url',
    'error',
    'burned',
  ],
  columns: ['line', 'title', 'status', 'token_id', 'receiver_wallet_address', 'nft_gdn_id', 'error'],
  id: 'nft_gdn_id',
  plural: 'rows',
  dropsId: true,
  cells: (record) => (record.burned === true ? { ...record, status: 'burned' } : record),
}

const VERIFIED_VIEW: View = {
  ...VIEW,
  fields: [...VIEW.fields, 'verified', 'verify_error'],
  columns: ['line', 'title', 'status', 'verified', 'token_id', 'receiver_wallet_address', 'verify_error'],
}

/** Returns the view of a shuffled drop, which has a column for the row that was drawn for each NFT. */
const withDrawnColumn = (view: View): View => ({
  ...view,
  fields: [...view.fields, 'drawn_key', 'drawn_line'],
  columns: view.columns.flatMap((column) => (column === 'title' ? ['drawn_line', column] : column)),
})

export function command(deps: Deps, run = results): GdnCommand {
  return new GdnCommand({
    about:
      "The command shows the rows in the order of the manifest, even while the run is in progress. Titles, owners and URLs have the values that this machine last minted or applied. In CSV output, this also applies to the manifest's own columns. Ignored columns contain the cells of the current file. To compare the rows with the current NFTs, use gdn plan. A row that was removed from the manifest has no line number. A warning shows how many rows were added or edited after the run read the manifest. Without --status, JSON output ends with the added and edited rows, which have the status `new` or `edited`. The status is the outcome of the mint. The field `burned` shows whether the NFT was burned later. After the reveal of a shuffled drop, drawn_key and drawn_line show which row was drawn for the NFT. Rows of a sealed drop that have no NFT are abandoned.\nCSV output begins with the manifest's own columns in their order. Columns that are empty in every row are omitted, except ignored columns. The manifest's columns are followed by key, line, status, nft_gdn_id, token_id, contract_address, receiver_wallet_address, metadata_url, error and burned. The manifest's cells are unchanged, even if a spreadsheet would execute them as formulas. --for-spreadsheet escapes such cells, uses the headers and the separator of the manifest file, and shows the status of a burned NFT as `burned`. In CSV output, --fields also accepts the names of the manifest's columns.",
    examples: [
      ['Show a table', 'gdn batch results drop.csv'],
      ['Write the manifest with the outcome of each row', 'gdn batch results drop.csv -o csv > results.csv'],
      ['Write the results for a spreadsheet', 'gdn batch results drop.csv -o csv --for-spreadsheet > x.csv'],
      ['Show the failed rows and the reasons', 'gdn batch results drop.csv --status failed,unknown'],
      ['Compare the rows with the chain and the storage', 'gdn batch results drop.csv --verify'],
      ['Print the IDs of the deployed NFTs', 'gdn batch results drop.csv --status deployed -o ids'],
    ],
  })
    .with(addRunArgument)
    .valueFlag('--status <a,b>', `Show only rows in these states: ${STATUSES.join(', ')}`, someOf(STATUSES))
    .switchFlag('--costs', 'Also print the cost that the server reports for the run')
    .with(addVerifyFlags, addServerFlags, addOutputFlags)
    .action(async (name: string | undefined, flags: ResultsFlags) => await run(deps, name, flags))
}

export async function results(deps: Deps, typed: string | undefined, flags: ResultsFlags): Promise<void> {
  const name = await resolveRun(deps, typed, flags)
  const { io } = deps
  const run = await findRun(deps, name, flags)
  const drawn = readStoredDraw(run.reading)?.rows
  const usual = flags.verify ? VERIFIED_VIEW : VIEW
  const fields = isShuffled(run) ? withDrawnColumn(usual) : usual
  const view = drawn === undefined ? { ...fields, columns: usual.columns } : fields
  const isCsv = flags.output === 'csv'
  // The view's fields don't include the manifest's columns, so `--fields` is handled separately for CSV.
  const output = createOutput(io, isCsv ? withoutFields(flags) : flags, view, { manifest: run.manifestPath })
  const inCsv = isCsv ? await prepareCsv(deps, run, view, flags) : null
  const edits = await findManifestEdits(deps, run, flags)
  const outside = isListedForPrograms(output.mode) && flags.status === undefined ? (edits?.rows ?? []) : []
  const print = async (records: AsyncIterable<ResultRecord>) =>
    inCsv === null
      ? await output.many(toPrintedRecords(records, { fields: view.fields, rows: outside }))
      : await printResultsCsv(io, records, inCsv)
  let matchCount = 0
  const state = readDropState(run)
  const rows = countEach(filterByStatus(runRows(run, drawn), flags.status, state), () => matchCount++)
  try {
    if (flags.verify) await printVerified(deps, run, rows, flags, print)
    else await print(toPlainRecords(rows, state))
  } finally {
    warnOfEdits(io, edits)
    const missing = inCsv?.inFile?.missing ?? 0
    if (missing > 0)
      io.warn(
        `The file no longer contains ${count(missing, 'row')} of the run. The columns that gdn ignores are empty in ${missing === 1 ? 'this row' : 'these rows'}.`,
      )
  }
  if (matchCount === 0 && flags.status !== undefined) io.note(noRowsText(flags.status))
  else if (io.stdoutTty && output.mode === 'table') {
    io.note(
      'The results show the values that gdn last minted or applied. `gdn plan` compares the manifest with the current NFTs.',
    )
  }
  if (output.mode === 'table') for (const note of await describeOtherRuns(run, name, 'results')) io.note(note)
  if (state !== null && output.mode === 'table') {
    const { counts } = await runStatus(run)
    const serverFlags = await addRunServerFlag(deps, run, flags)
    for (const note of await describeDrop(deps, { ...run, counts }, serverFlags, true)) io.note(note)
  }
  if (!flags.costs) return
  const { counts } = await runStatus(run)
  const spent = await readSpending(deps, await resolveRunSettingsIfFound(deps, run, flags), run, counts)
  io.warn(spent.problem === null ? `Paid: ${spentText(spent.costs)}` : safe(spent.problem))
}

const isListedForPrograms = (mode: OutputMode): boolean => mode === 'json' || mode === 'ndjson'

const withoutFields = ({ fields: _, ...otherFlags }: ResultsFlags): OutputFlags => otherFlags

/** Returns the options for printing a run's rows as CSV. */
async function prepareCsv(deps: Deps, run: Run, view: View, flags: ResultsFlags) {
  const columnsOfRun = await runColumns(run)
  const options = resolveManifestOptions(deps, run, await deps.settings(flags))
  const header = await readHeader(run, options)
  const documented = orderColumnsByHeader(columnsOfRun, header, options, 'of the documentation', view.fields)
  const spelled = orderColumnsByHeader(columnsOfRun, header, options, 'of the header', view.fields)
  const [columns, otherColumns] = flags.forSpreadsheet ? [spelled, documented] : [documented, spelled]
  return {
    columns,
    chosen: chooseFields(flags.fields, view, columns, otherColumns.names),
    csv: createCsv(deps.io, flags, header?.separator),
    inFile: columns.hasIgnored ? await readFileCells(run, options) : undefined,
    // Spreadsheet users filter by the displayed status. Programs need the outcome of the mint.
    shown: flags.forSpreadsheet === true ? view.cells : undefined,
  }
}

/**
 * Returns the options with which a run's manifest was read. If the project has a column map, this map replaces the
 * recorded one.
 */
function resolveManifestOptions(deps: Deps, run: Run, settings: Settings): ManifestOptions {
  const { blockchain, contractAddress, reading } = run
  const project = manifestOptions(deps, {}, settings)
  const options: ManifestOptions = {
    ...project,
    ...reading,
    blockchain,
    contractAddress,
    ensNames: new StoredNames(),
  }
  return { ...options, defaultMap: project.defaultMap ?? options.defaultMap }
}

const readHeader = async ({ manifestPath }: Run, naming: ColumnNaming): Promise<CsvHeader | null> =>
  manifestPath === null ? null : await readCsvHeader(manifestPath, naming)

/** Compares rows with chain and storage, and prints the results. Throws if a row differs, or if no row can be read. */
async function printVerified(
  deps: Deps,
  run: Run,
  rows: AsyncIterable<RunRow>,
  flags: ResultsFlags,
  print: (records: AsyncIterable<ResultRecord>) => Promise<void>,
): Promise<void> {
  const settingsOrError = await resolveRunSettingsIfFound(deps, run, flags)
  const settings = settingsOrError instanceof GdnError ? null : settingsOrError
  const server = (await settings?.server().catch(() => null)) ?? null
  const { verifier, close } = await openVerifier(deps, flags, run.blockchain, server)
  // The backend of the run is gone, for example after `gdn local reset`, and no flag names a node.
  if ('reason' in verifier && settingsOrError instanceof GdnError && settingsOrError.code === 'wrong_backend') {
    await close()
    throw settingsOrError
  }
  const records = settings === null || server === null ? null : presentRecords(deps, () => deps.connect(settings))
  const tally = new VerifyTally()
  try {
    await print(toVerifiedRecords(verifyRows(rows, verifier, records, deps.signals.signal), tally, readDropState(run)))
  } finally {
    await close()
  }
  tally.warn(deps.io)
  if (tally.counts.differing > 0) throw verifyFailedError(tally)
  tally.refuseUnread()
}

async function* filterByStatus(
  rows: AsyncIterable<RunRow>,
  statuses: readonly ShownStatus[] | undefined,
  state: DropState | null,
) {
  for await (const row of rows) {
    const { burned, status } = row.result
    const shownStatus = burned ? 'burned' : isAbandoned(status, state) ? 'abandoned' : status
    if (statuses === undefined || statuses.includes(shownStatus)) yield row
  }
}

async function* countEach<Row>(rows: AsyncIterable<Row>, count: () => void): AsyncGenerator<Row> {
  for await (const row of rows) {
    count()
    yield row
  }
}

const noRowsText = (statuses: readonly ShownStatus[]): string =>
  statuses.join() === 'failed' ? 'No row has failed.' : `No row has the status ${statuses.join(' or ')}.`

/**
 * Converts a row to a record. A removed row has no line, because another row may now be on that line. An abandoned slot
 * has no NFT, so the row that was drawn for it is unknown.
 */
function toResultRecord({ result, row, drawn }: RunRow, state: DropState | null): DataRecord {
  const record = { ...result, ...(row === null ? { line: null } : {}) }
  if (isAbandoned(result.status, state)) return { ...record, status: 'abandoned' }
  return drawn === null ? record : { ...record, drawn_key: drawn.key, drawn_line: drawn.line }
}

async function* toPlainRecords(rows: AsyncIterable<RunRow>, state: DropState | null): AsyncGenerator<ResultRecord> {
  for await (const runRow of rows) yield { record: toResultRecord(runRow, state), row: runRow.row ?? runRow.removed }
}

async function* toVerifiedRecords(
  rows: AsyncIterable<VerifiedRow>,
  tally: VerifyTally,
  state: DropState | null,
): AsyncGenerator<ResultRecord> {
  for await (const verified of rows) {
    const { row, removed, verification } = verified
    tally.add(verified)
    const verify_error = verification === null ? null : rowVerifyText(verification)
    const record = { ...toResultRecord(verified, state), verified: verification?.verified ?? null, verify_error }
    yield { record, row: row ?? removed }
  }
}

/** Yields the results, followed by manifest rows that aren't part of the run. */
async function* toPrintedRecords(
  results: AsyncIterable<ResultRecord>,
  { fields, rows }: { fields: readonly string[]; rows: ManifestComparison['rows'] },
): AsyncGenerator<DataRecord> {
  for await (const { record } of results) yield record
  const nothing = Object.fromEntries(fields.map((field) => [field, null]))
  for (const { kind: status, ...row } of rows) yield { ...nothing, ...row, status }
}
