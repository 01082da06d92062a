import { BoundedMap } from '../core/bounded-map.ts'
import type { Place } from '../core/errors.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import { type BuiltRow, RowBuilder } from './build-row.ts'
import { type Column, columnSetProblems, formatColumnName, parseColumnName } from './columns.ts'
import type { CsvFile, CsvRecord } from './csv.ts'
import type { JsonFile, JsonRecord } from './json.ts'
import { createFileCheck, type InspectFile } from './local-files.ts'
import { ManifestError } from './manifest-error.ts'
import { findNameColumns, NamesInRows } from './names-in-rows.ts'
import type { ManifestOptions } from './options.ts'
import { applyRequest } from './request.ts'
import type { InvalidRow, ManifestIssue, ManifestItem, RowProblem } from './row.ts'
import type { OpenSource } from './source.ts'
import { CELLS_SAMPLED, suggestColumns, type UnknownColumn } from './suggest-columns.ts'
import type { ManifestTarget } from './target.ts'

/** Items in blocks. Yielding each row separately from an async generator would cost as much as reading the row. */
export type Blocks = AsyncGenerator<readonly ManifestItem[], void, undefined>

export interface ReadContext {
  options: ManifestOptions
  /** The target of the rows. Set as soon as a row specifies it. */
  target: ManifestTarget
}

const JSON_BLOCK = 256
const MAX_KEY_ISSUES = 20
/** Number of key sets whose suggestions are cached. */
const MAX_KEY_SETS = 100

export async function* csvBlocks(csv: CsvFile, open: OpenSource, context: ReadContext): Blocks {
  const { options } = context
  const { columns, issues, missing, unknown } = readHeader(csv, open.name, options)
  const reader = csv.blocks()[Symbol.asyncIterator]()
  let first: IteratorResult<CsvRecord[]> | null = null
  try {
    if (unknown.length > 0) {
      first = await reader.next()
      await suggest(unknown, columns, first, { folder: open.folder, options })
    }
  } finally {
    // Yield the problems of the header before the problems of the first rows.
    if (issues.length > 0) yield issues.map((issue) => ({ issue }))
  }
  if (missing === null) return void (await reader.return?.())
  const builder = new RowBuilder(open.name, open.folder, options, missing)
  const check = createFileCheck([open.folder, ...(options.fileFolders ?? [])])
  const { checkRow, onFileWarning, onRow, onInvalidRow } = options
  const sinkOptions: RowSinkOptions = { file: open.name, check, checkRow, onFileWarning, onRow, onInvalidRow }
  const names = new NamesInRows(options, flagOf)
  const nameColumns = findNameColumns(columns)
  for await (const records of continueReading(first, reader)) {
    for (const record of records) if ('cells' in record) names.add(record.cells, nameColumns)
    await names.resolve()
    const items: ManifestItem[] = []
    for (const record of records) {
      if ('issue' in record) {
        items.push({ issue: record.issue })
        onInvalidRow?.()
      } else {
        const cells = unescapeCells(record, columns, { file: open.name, onUnescaped: options.onUnescaped })
        options.onCells?.(record.line, cells)
        const built = builder.fromCells({ line: record.line, columns, cells, isTrusted: true })
        if (checkRow === undefined && isCheckedRow(built)) {
          items.push(built)
          options.onRow?.(built.row, columns)
        } else await checkAndAdd(built, columns, sinkOptions, items)
      }
    }
    context.target = builder.target
    yield items
  }
}

const flagOf = (kind: string): Place => ({ flag: `--${kind}` })

/** Returns the cells without the `'` that exports add before formulas to protect spreadsheets. */
function unescapeCells(
  { line, cells }: Extract<CsvRecord, { cells: string[] }>,
  columns: readonly (Column | undefined)[],
  { file, onUnescaped }: { file: string; onUnescaped: ManifestOptions['onUnescaped'] },
): string[] {
  if (!cells.some((cell) => cell.includes("'"))) return cells
  return cells.map((cell, index) => {
    const text = cell.trim()
    const plain = unescapeCell(text)
    const column = columns[index]
    if (plain !== text && column !== undefined) {
      onUnescaped?.({ file, line, field: column.name, column: index + 1 })
    }
    return plain
  })
}

async function* continueReading<Item>(
  first: IteratorResult<Item> | null,
  reader: AsyncIterator<Item>,
): AsyncGenerator<Item, void, undefined> {
  for (let next = first ?? (await reader.next()); next.done !== true; next = await reader.next()) yield next.value
}

/** The last sentence of the hint for the last unknown column. */
const IN_PROJECT =
  'To set this for every command, save `map` or `unknown_columns` in gdn.config.json in the current folder.'

/** Replaces the hints for unknown columns whose first cells don't look like attributes. */
async function suggest(
  unknown: readonly UnknownName[],
  columns: readonly (Column | undefined)[],
  first: IteratorResult<CsvRecord[]>,
  { folder, options }: { folder: string; options: ManifestOptions },
): Promise<void> {
  const records = first.done === true ? [] : first.value.slice(0, CELLS_SAMPLED)
  const rows = records.flatMap((record) => ('cells' in record ? [record.cells] : []))
  const sampled = unknown.map(({ name, index }) => ({ name, cells: rows.map((cells) => cells[index]) }))
  const usedMeanings = new Set(
    columns.flatMap((column) => (column === undefined ? [] : [formatColumnName(column.role)])),
  )
  const hasReceiver = typeof options.receiver === 'string'
  const hints = await suggestColumns(sampled, { usedMeanings, hasReceiver, folder })
  for (const { name, issue } of unknown) {
    const hint = hints.get(name)
    if (hint !== undefined) issue.hint = hint
  }
  const last = unknown.at(-1)?.issue
  if (last !== undefined) last.hint = `${last.hint} ${IN_PROJECT}`
}

/** An unknown column, and the problem that reports it. */
interface UnknownName {
  name: string
  index: number
  issue: ManifestIssue
}

/**
 * Reads the columns. `missing` contains the required columns that the header lacks. `missing` is null if the rows must
 * not be read.
 */
function readHeader({ header }: CsvFile, file: string, options: ManifestOptions) {
  const { line, names } = header
  // Invalid names also have an entry, because the rows have cells in that position.
  const columns: (Column | undefined)[] = []
  const issues: ManifestIssue[] = []
  const unknown: UnknownName[] = []
  const report = (column: number | undefined, message: string, hint: string | undefined) => {
    const place = { file, line, column }
    const issue = { place, message, hint }
    issues.push(issue)
    return issue
  }
  const results = resultColumns(names)
  if (results.length > 0) {
    const hint = `To use the file as a manifest, remove these columns: ${results.join(', ')}.`
    report(undefined, 'has the columns of run results', hint)
    return { columns, issues, unknown, missing: null }
  }
  if (LIST_COLUMNS.every((name) => names.includes(name))) {
    const hint =
      'These NFTs already exist, and minting the list would mint each of them again. To change the NFTs, edit the manifest that they were minted from. To mint new NFTs, remove these columns.'
    report(undefined, `has the columns of a list of NFTs: ${LIST_COLUMNS.join(', ')}`, hint)
    return { columns, issues, unknown, missing: null }
  }
  for (const [index, name] of names.entries()) {
    const parsed = parseColumnName(name, options)
    if ('problem' in parsed) {
      const issue = report(index + 1, parsed.problem, parsed.hint)
      if (parsed.isUnknown === true) unknown.push({ name, index, issue })
    }
    columns.push('problem' in parsed ? undefined : { name, position: index + 1, role: parsed.role })
  }
  const hasReceiver = typeof options.receiver === 'string'
  const knownColumns = columns.filter((column) => column !== undefined)
  const { columnMap = [] } = options
  const problems = columnSetProblems(knownColumns, { hasReceiver, columnMap, names })
  for (const { column, problem, hint } of problems) {
    report(column?.position, problem, hint)
    if (column?.position !== undefined) columns[column.position - 1] = undefined
  }
  reportMappedColumns(knownColumns, options)
  const kinds = new Set<string>(knownColumns.map(({ role }) => role.kind))
  const required = ['title', 'description', ...(hasReceiver ? [] : ['receiver'])]
  return { columns, issues, unknown, missing: new Set(required.filter((name) => !kinds.has(name))) }
}

/** Columns that `gdn batch results` appends to the columns of the manifest, in order. */
const RESULT_COLUMNS = [
  ...['key', 'line', 'status', 'nft_gdn_id', 'token_id', 'contract_address', 'receiver_wallet_address', 'metadata_url'],
  ...['error', 'burned', 'verified', 'verify_error'],
]
const REQUIRED_RESULT_COLUMNS = ['key', 'line', 'status', 'nft_gdn_id']

/** Columns of `gdn nft list` that manifests don't have. */
const LIST_COLUMNS = ['token_id', 'status', 'nft_gdn_id']

/** Returns the columns that `gdn batch results` appended to a header, or an empty list for any other header. */
function resultColumns(names: readonly string[]): string[] {
  const at = names.indexOf('key')
  const added = new Set(names.slice(at))
  if (at === -1 || !REQUIRED_RESULT_COLUMNS.every((name) => added.has(name))) return []
  return RESULT_COLUMNS.filter((name) => added.has(name))
}

/** Reports the columns whose names differ from the documented names. */
function reportMappedColumns(columns: readonly Column[], { onMapped }: ManifestOptions): void {
  if (onMapped === undefined) return
  const mapped = columns.flatMap(({ name, role }) => {
    const meaning = formatColumnName(role)
    return name === meaning || name === 'file:image' ? [] : [[name, meaning] as const]
  })
  if (mapped.length > 0) onMapped(mapped)
}

export async function* jsonBlocks({ request, records }: JsonFile, open: OpenSource, context: ReadContext): Blocks {
  const applied =
    request === null ? { options: context.options, issues: [] } : applyRequest(request, open.name, context.options)
  if (applied.issues.length > 0) return yield applied.issues.map((issue) => ({ issue }))
  const builder = new RowBuilder(open.name, open.folder, applied.options)
  const check = createFileCheck([open.folder, ...(applied.options.fileFolders ?? [])])
  const { checkRow, onFileWarning, onRow, onInvalidRow } = applied.options
  const sinkOptions: RowSinkOptions = { file: open.name, check, checkRow, onFileWarning, onRow, onInvalidRow }
  const addInvalid = (items: ManifestItem[], added: readonly ManifestItem[]) => {
    items.push(...added)
    onInvalidRow?.()
  }
  const readKeys = createKeyReader(open.name, open.folder, applied.options)
  const names = new NamesInRows(applied.options, (kind) =>
    request === null ? flagOf(kind) : { file: open.name, line: request.line, field: `${kind}_wallet_address` },
  )
  /** Reads the keys of a record, and returns a function that builds its row. */
  const prepare = async (record: JsonRecord) => {
    if ('issue' in record) return async (items: ManifestItem[]) => addInvalid(items, [record])
    const { line, value } = record
    if (request !== null || Object.hasOwn(value, 'file_fields')) {
      return async (items: ManifestItem[]) =>
        await checkAndAdd(builder.fromMetadata(line, value), null, sinkOptions, items)
    }
    const { columns, issues } = await readKeys(line, value)
    const cells = Object.values(value)
    names.add(cells, findNameColumns(columns))
    return async (items: ManifestItem[]) => {
      const invalid = issues.map((issue) => ({ issue }))
      if (issues.length >= MAX_KEY_ISSUES) return addInvalid(items, invalid)
      const built = builder.fromCells({ line, columns, cells, isTrusted: false })
      // A row with invalid keys is built only to find its other problems.
      if (issues.length > 0 && 'row' in built) return addInvalid(items, invalid)
      items.push(...invalid)
      await checkAndAdd(built, columns, sinkOptions, items)
    }
  }
  const build = async (prepared: readonly ((items: ManifestItem[]) => Promise<void>)[]) => {
    await names.resolve()
    const items: ManifestItem[] = []
    for (const addTo of prepared) await addTo(items)
    context.target = builder.target
    return items
  }
  let prepared: Awaited<ReturnType<typeof prepare>>[] = []
  let fatal: ManifestError | null = null
  try {
    for await (const record of records) {
      prepared.push(await prepare(record))
      if (prepared.length < JSON_BLOCK) continue
      yield await build(prepared)
      prepared = []
    }
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    fatal = error
  }
  const items = await build(prepared)
  if (fatal !== null) items.push({ issue: fatal.issue })
  if (items.length > 0) yield items
}

/** Maps the keys of JSON rows to columns. Rows with the same keys reuse the result. */
function createKeyReader(file: string, folder: string, options: ManifestOptions) {
  let last: { names: string; columns: (Column | undefined)[] } | null = null
  const hints = new BoundedMap<Map<string, string>>(MAX_KEY_SETS)
  return async (
    line: number,
    value: Record<string, unknown>,
  ): Promise<{ columns: (Column | undefined)[]; issues: ManifestIssue[] }> => {
    const names = Object.keys(value)
    const joined = names.join('\0')
    if (last?.names === joined) return { columns: last.columns, issues: [] }
    const columns: (Column | undefined)[] = []
    const issues: ManifestIssue[] = []
    const unknown: UnknownColumn[] = []
    const report = (field: string, message: string, hint: string | undefined) => {
      if (issues.length < MAX_KEY_ISSUES) issues.push({ place: { file, line, field }, message, hint })
    }
    for (const name of names) {
      if (issues.length >= MAX_KEY_ISSUES) break
      const parsed = parseColumnName(name, options)
      if ('problem' in parsed) {
        report(name, parsed.problem, parsed.hint)
        if (parsed.isUnknown === true) unknown.push({ name, cells: [value[name]] })
      }
      columns.push('problem' in parsed ? undefined : { name, position: undefined, role: parsed.role })
    }
    const knownColumns = columns.filter((column) => column !== undefined)
    // Skip missing columns, because a JSON row may omit a key instead of having an empty cell, and the API contract
    // reports missing values.
    for (const { column, problem, hint } of columnSetProblems(knownColumns, { hasReceiver: true })) {
      if (column !== null) report(column.name, problem, hint)
    }
    if (unknown.length > 0) {
      const usedMeanings = new Set(knownColumns.map(({ role }) => formatColumnName(role)))
      const hasReceiver = typeof options.receiver === 'string'
      const suggestions = hints.get(joined) ?? (await suggestColumns(unknown, { usedMeanings, hasReceiver, folder }))
      hints.set(joined, suggestions)
      for (const issue of issues) {
        const hint = suggestions.get(issue.place.field ?? '')
        if (hint !== undefined) issue.hint = hint
      }
      const last = issues.findLast(({ place }) => place.field === unknown.at(-1)?.name)
      if (last !== undefined) last.hint = `${last.hint} ${IN_PROJECT}`
    }
    if (issues.length === 0) {
      last = { names: joined, columns }
      reportMappedColumns(knownColumns, options)
    }
    return { columns, issues }
  }
}

function isCheckedRow(built: BuiltRow): built is Extract<BuiltRow, { row: unknown }> {
  return 'row' in built && built.row.localFiles.length === 0
}

interface RowSinkOptions extends Pick<ManifestOptions, 'checkRow' | 'onFileWarning' | 'onRow' | 'onInvalidRow'> {
  file: string
  check: InspectFile
}

/** Checks the local files of a built row, and whether the command accepts it. Then adds the row or its problems. */
async function checkAndAdd(
  built: BuiltRow,
  columns: readonly (Column | undefined)[] | null,
  { file, check, checkRow, onFileWarning, onRow, onInvalidRow }: RowSinkOptions,
  items: ManifestItem[],
): Promise<void> {
  const { line, localFiles } = 'row' in built ? built.row : built
  const title = 'row' in built ? built.row.metadata.title : built.title
  const invalidRow: InvalidRow = { line, title, localFiles: [] }
  let isValid = 'row' in built
  if ('issues' in built) for (const issue of built.issues) items.push({ issue, invalidRow })
  for (const { key, path } of localFiles) {
    const { problem, warning, isMarketplaceWarning = false } = await check(path)
    if (problem === null) invalidRow.localFiles.push({ key, path })
    if (problem === null && warning === null) continue
    const column = columns?.find((candidate) => candidate?.role.kind === 'file' && candidate.role.key === key)
    const field = column?.name ?? key
    const place = {
      file,
      line,
      field,
      column: column?.position,
    }
    if (warning !== null) onFileWarning?.({ place, message: `${field} ${warning}` }, isMarketplaceWarning)
    if (problem === null) continue
    isValid = false
    items.push({ issue: { place, ...problem, message: `${field} ${problem.message}` }, invalidRow })
  }
  if (!isValid || !('row' in built)) return onInvalidRow?.()
  const rejected = checkRow?.(built.row) ?? null
  if (rejected !== null) {
    items.push({ issue: rejectedIssue(rejected, columns, { file, line }), invalidRow })
    return onInvalidRow?.()
  }
  items.push(built)
  onRow?.(built.row, columns)
}

function rejectedIssue(
  { key, message, hint }: RowProblem,
  columns: readonly (Column | undefined)[] | null,
  row: Pick<Place, 'file' | 'line'>,
): ManifestIssue {
  if (key === null) return { place: row, message: `the row ${message}`, hint }
  const column = columns?.find((candidate) => candidate !== undefined && metadataKey(candidate) === key)
  const field = column?.name ?? key
  return { place: { ...row, field, column: column?.position }, message: `${field} ${message}`, hint }
}

const metadataKey = ({ role }: Column): string | null =>
  'key' in role ? (role.kind === 'attr' ? null : role.key) : role.kind
