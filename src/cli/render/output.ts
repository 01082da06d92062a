import { flagError, GdnError } from '../../core/errors.ts'
import type { OutputFlags, OutputMode } from '../flags/common.ts'
import { type Io, safe } from '../io/io.ts'
import { type Csv, createCsv } from './csv.ts'
import { PathCheck, resolveFields, selectRecordFields } from './fields.ts'
import { type DataRecord, plainCell, type View, withBurned } from './view.ts'

export type { CardRow, DataRecord, RecordCard, View } from './view.ts'

type Records = readonly DataRecord[] | AsyncIterable<DataRecord>

/** Formats the records of a command in the output mode that its flags select. */
export interface Output {
  readonly mode: OutputMode
  /** The fields from `--fields`; undefined for all fields. */
  readonly fields: readonly string[] | undefined
  /** Returns the selected fields of a record. Missing values become null. */
  pick(record: DataRecord): DataRecord
  one(record: DataRecord): Promise<void>
  /** Prints a list. Streams the list unless it is a table on a terminal. */
  many(records: Records): Promise<void>
}

interface OutputSettings {
  /**
   * Path of the manifest to which the output belongs; `-` for standard input; null if there is none. CSV for a
   * spreadsheet uses the manifest's separator.
   */
  manifest?: string | null | undefined
  /** A field that contains a secret and can't be printed again. Output flags that would omit the field are rejected. */
  shownOnce?: string | undefined
}

/**
 * Creates the output for the given flags. Must be called before anything is sent, so that a command with invalid flags
 * has no effect. Fields have the API's names. JSON output is an object for a single record, and an array for a list.
 */
export function createOutput(
  io: Io,
  flags: OutputFlags,
  view: View,
  { manifest, shownOnce }: OutputSettings = {},
): Output {
  const mode = outputMode(flags)
  if (flags.forSpreadsheet && mode !== 'csv')
    throw flagError('--for-spreadsheet', 'applies only to CSV output', 'Add -o csv.')
  const fields = flags.fields && resolveFields(flags.fields, view)
  if (shownOnce !== undefined) requireField(shownOnce, mode, fields)
  const cellsOf = (record: DataRecord) => view.cells?.(record) ?? record
  // Machine-readable output contains raw values, and the cell content of table columns that aren't fields.
  const paths = new PathCheck(fields ?? [])
  const selectFields = (record: DataRecord): DataRecord => {
    if (fields === undefined) return record
    const whole = { ...cellsOf(record), ...record }
    paths.checkRecord(whole)
    return selectRecordFields(whole, fields)
  }
  const pick = (record: DataRecord): DataRecord => (fields === undefined ? record : withNulls(selectFields(record)))
  const inCsv = fields ?? view.fields
  const lineOf = (csv: Csv) => (record: DataRecord) => {
    const values = selectFields(flags.forSpreadsheet === true ? withBurned(record) : record)
    return csv.line(inCsv.map((field) => plainCell(values[field])))
  }
  const openCsv = async () => createCsv(io, flags, flags.forSpreadsheet ? await readSeparator(manifest) : undefined)

  const print: Pick<Output, 'one' | 'many'> = {
    async one(record) {
      if (mode === 'json') return await io.data(`${JSON.stringify(pick(record), null, io.stdoutTty ? 2 : undefined)}\n`)
      if (mode === 'ndjson') return await io.data(`${JSON.stringify(pick(record))}\n`)
      if (mode === 'ids') return await io.data(idLine(record, view))
      if (mode === 'csv') {
        const csv = await openCsv()
        return await io.data(csv.head(inCsv) + lineOf(csv)(record))
      }
      const { renderOne } = await import('./table.ts')
      await io.print(renderOne(io, selectFields(record), view, fields))
    },
    async many(records) {
      if (mode === 'json') return await printJsonList(io, records, pick)
      if (mode === 'ndjson') return await printLines(io, records, (record) => `${JSON.stringify(pick(record))}\n`)
      if (mode === 'ids') return await printLines(io, records, (record) => idLine(record, view))
      if (mode === 'csv') {
        const csv = await openCsv()
        await io.data(csv.head(inCsv))
        return await printLines(io, records, lineOf(csv))
      }
      const { renderTable, tabbedLine } = await import('./table.ts')
      const columns = fields ?? view.columns
      const cells = (record: DataRecord) => {
        if (fields === undefined) return cellsOf(record)
        paths.checkRecord({ ...record, ...cellsOf(record) })
        return selectRecordFields(cellsOf(record), fields)
      }
      if (!io.stdoutTty)
        return await printLines({ data: io.print }, records, (record) => tabbedLine(cells(record), columns))
      const { id, dropsId = false, sparse, plural, yields } = view
      const all = (await collect(records)).map(cells)
      const table = {
        columns,
        id,
        plural,
        ...(fields === undefined ? { dropsId, sparse, yields } : { dropsId: false }),
      }
      const { text, withoutIds } = await renderTable(io, all, table)
      await io.page(text)
      if (withoutIds)
        io.note(`This terminal is too narrow to show IDs. Add \`--fields ${columns[0]},${id}\` to show them.`)
    },
  }
  const warnAfter = async (printed: Promise<void>) => {
    await printed
    for (const warning of paths.warnings()) io.warn(safe(warning))
  }
  return {
    mode,
    fields,
    pick,
    one: (record) => warnAfter(print.one(record)),
    many: (records) => warnAfter(print.many(records)),
  }
}

async function readSeparator(manifest: string | null | undefined): Promise<string | undefined> {
  if (manifest == null || manifest === '-') return undefined
  const { readCsvHeader } = await import('../../manifest/csv-header.ts')
  return (await readCsvHeader(manifest))?.separator
}

/** Returns whether a flag requests output. Without such a flag, some commands print only a note. */
export function isOutputRequested({ json, output, fields }: OutputFlags): boolean {
  return json === true || output !== undefined || fields !== undefined
}

/** @throws GdnError `usage` if the output omits a field that can't be printed again */
function requireField(field: string, mode: OutputMode, fields: readonly string[] | undefined): void {
  const flag = mode === 'ids' ? '-o ids' : fields?.includes(field) === false ? '--fields' : null
  if (flag === null) return
  throw new GdnError('usage', `omits ${field}, which is printed only once`, {
    place: { flag },
    hint: `To print the ID and the secret, use --json --fields id,${field}. To print only the secret, omit all output flags.`,
  })
}

/** Returns the ID as a line; an empty string if the record has no ID yet. */
function idLine(record: DataRecord, view: View): string {
  const id = plainCell(record[view.id])
  return id === '' ? '' : `${id}\n`
}

/** @throws GdnError `usage` if flags contradict each other */
function outputMode(flags: Pick<OutputFlags, 'json' | 'output'>): OutputMode {
  if (flags.json && flags.output !== undefined && flags.output !== 'json') {
    throw new GdnError('usage', `--json and --output ${flags.output} contradict each other`, {
      hint: 'Use one of them.',
    })
  }
  return flags.json ? 'json' : (flags.output ?? 'table')
}

const withNulls = (record: DataRecord): DataRecord =>
  Object.fromEntries(Object.entries(record).map(([field, value]) => [field, value ?? null]))

const CHUNK_CHARS = 64 * 1024

async function printLines(io: Pick<Io, 'data'>, records: Records, line: (record: DataRecord) => string): Promise<void> {
  let text = ''
  for await (const record of records) {
    text += line(record)
    if (text.length < CHUNK_CHARS) continue
    await io.data(text)
    text = ''
  }
  if (text !== '') await io.data(text)
}

/** Streams a list as a single JSON array, because a list may have a million records. */
async function printJsonList(io: Io, records: Records, pick: (record: DataRecord) => DataRecord): Promise<void> {
  const [open, between, close] = io.stdoutTty ? ['[\n  ', ',\n  ', '\n]\n'] : ['[', ',', ']\n']
  let first = true
  await printLines(io, records, (record) => {
    const text = io.stdoutTty
      ? JSON.stringify(pick(record), null, 2).replaceAll('\n', '\n  ')
      : JSON.stringify(pick(record))
    const before = first ? open : between
    first = false
    return before + text
  })
  await io.data(first ? '[]\n' : close)
}

async function collect(records: Records): Promise<DataRecord[]> {
  const all: DataRecord[] = []
  for await (const record of records) all.push(record)
  return all
}
