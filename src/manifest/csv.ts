import Papa from 'papaparse'
import { count } from '../core/count.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestIssue } from './row.ts'

/** One row, with its cells and its row number in a spreadsheet, or with its problem. */
export type CsvRecord = {
  /**
   * The line in the file on which the row begins. This number is larger than `line` if earlier cells contain line
   * breaks.
   */
  fileLine: number
} & ({ line: number; cells: string[] } | { issue: ManifestIssue })

export interface CsvFile {
  header: { line: number; fileLine: number; names: string[] }
  delimiter: string
  /** Yields the rows in blocks while they are read. */
  blocks(): AsyncIterable<CsvRecord[]>
}

/** Maximum length of a row. A longer row is most likely caused by an unclosed quote. */
export const MAX_ROW_CHARACTERS = 4 * 1024 * 1024
const HEAD_CHARACTERS = 64 * 1024
const DELIMITERS = [',', ';', '\t'] as const

/** The number of cells in the header, and the number of columns up to the last named one. */
interface Width {
  cells: number
  namedColumns: number
}

type Dialect = { delimiter: string; newline: '\n' | '\r\n' | '\r' }

/** A line before the header of a CSV file for Excel, such as `sep=;`. Spreadsheets don't show this line. */
const SEPARATOR_LINE = /^\s*("?)sep=([^"\r\n])\1[ \t]*(?:\r\n|\r|\n|$)/i

/**
 * Opens a CSV file with a header. The header line determines the delimiter (comma, semicolon, tab) and the line ending.
 * If a line such as `sep=;` precedes the header, that line determines the delimiter and doesn't count as a row.
 *
 * @param isKnown whether a header may have this name
 */
export async function openCsv(
  text: AsyncIterable<string>,
  file: string,
  isKnown: (name: string) => boolean,
): Promise<CsvFile> {
  const input = text[Symbol.asyncIterator]()
  let head = ''
  let done = false
  /** A problem after which the rest of the file can't be read. The rows before the problem are still read. */
  let fatal: ManifestError | null = null
  while (!done && head.length < HEAD_CHARACTERS) {
    try {
      const next = await input.next()
      if (next.done === true) done = true
      else head += next.value
    } catch (error) {
      if (!(error instanceof ManifestError) || !/[\r\n]/.test(head)) throw error
      fatal = error
      done = true
    }
  }
  const separator = SEPARATOR_LINE.exec(head)
  const above = separator?.[0] ?? ''
  head = head.slice(above.length)
  const start = /\S/.exec(head)?.index
  if (separator !== null && start === undefined && done) {
    throw fatal ?? new ManifestError({ place: { file }, message: 'is empty', hint: 'Add at least one NFT.' })
  }
  const lineStart = start === undefined ? 0 : Math.max(head.lastIndexOf('\n', start), head.lastIndexOf('\r', start)) + 1
  const end = lineEnd(head, lineStart)
  const linesAbove = countLines(above)
  const headLine = countLines(head.slice(0, lineStart)) + 1
  if (end.quote !== null) throw fatal ?? unclosedQuoteError(file, headLine)
  const delimiter = separator?.[2] ?? findDelimiter(head.slice(lineStart, end.index), isKnown)
  const dialect = { delimiter, newline: end.newline }
  const [cells = []] = parserOf(dialect).parse(head.slice(lineStart, end.index), 0, false).data
  const width = { cells: cells.length, namedColumns: countNamedColumns(cells) }
  const bodyStart = end.index + end.newline.length

  return {
    header: {
      line: headLine,
      fileLine: headLine + linesAbove,
      names: cells.slice(0, width.namedColumns).map((name) => unescapeCell(name.replace(/^ +| +$/g, ''))),
    },
    delimiter,
    async *blocks() {
      const headerBreaks = countLineBreaks(head.slice(lineStart, end.index), dialect)
      const extraLines = linesAbove + headerBreaks
      const body = new BodyReader(file, dialect, width, { line: headLine + 1, extraLines })
      yield* body.readRecords(head.slice(bodyStart), done && fatal === null)
      try {
        if (fatal !== null) throw fatal
        while (!done) {
          const next = await input.next()
          done = next.done === true
          yield* body.readRecords(next.done === true ? '' : next.value, done)
        }
      } catch (error) {
        // A decoding error contains the line in the file. Replace that line with the row number, which all other
        // problems contain.
        if (!(error instanceof ManifestError)) throw error
        const { place } = error.issue
        throw new ManifestError({ ...error.issue, place: { ...place, line: body.lineOfRest() } }, place.line)
      }
    },
  }
}

/** Parses text into records, one chunk at a time. Counts rows as a spreadsheet does, including blank lines. */
class BodyReader {
  readonly #file: string
  readonly #dialect: Dialect
  readonly #width: Width
  /** Columns that have a cell but no name. */
  readonly #unnamed = new Set<number>()
  readonly #parser: Parser
  #line: number
  /** Number of line breaks within cells so far. */
  #lineBreakCount: number
  #rest = ''
  /** Length of the unparsed text at which an incomplete row is parsed again. */
  #reparseLength = 0

  constructor(
    file: string,
    dialect: Dialect,
    width: Width,
    { line, extraLines }: { line: number; extraLines: number },
  ) {
    this.#file = file
    this.#dialect = dialect
    this.#width = width
    this.#parser = parserOf(dialect)
    this.#line = line
    this.#lineBreakCount = extraLines
  }

  *readRecords(piece: string, isLast: boolean): Iterable<CsvRecord[]> {
    const text = this.#rest + piece
    this.#rest = text
    if (text === '' || (!isLast && text.length < this.#reparseLength)) return
    const { data, errors, meta } = this.#parser.parse(text, 0, !isLast)
    this.#rest = isLast ? '' : text.slice(meta.cursor)
    // Parse a row that is longer than a chunk again only when its length has doubled, so that the total work stays
    // linear.
    this.#reparseLength = meta.cursor === 0 && !isLast ? text.length * 2 : 0
    const rowErrors = errors.filter(({ row = 0 }) => row < data.length)
    const quotes = rowErrors.length === 0 ? null : this.#quoteErrors(text, isLast)
    // Only quoted cells can contain line breaks.
    const mayBreak = text.includes('"')
    const records: CsvRecord[] = []
    for (const [index, cells] of data.entries()) {
      const line = this.#line
      const fileLine = line + this.#lineBreakCount
      this.#line++
      if (mayBreak) for (const cell of cells) this.#lineBreakCount += countLineBreaks(cell, this.#dialect)
      const quote = quotes?.get(index)
      if (quote !== undefined) records.push({ fileLine, issue: quote })
      else if (isBlank(cells)) continue
      else records.push(this.#check(cells, line, fileLine))
    }
    if (records.length > 0) yield records
    if (this.#rest.length > MAX_ROW_CHARACTERS) throw this.#tooLong()
  }

  #check(cells: string[], line: number, fileLine: number): CsvRecord {
    const { newline } = this.#dialect
    const last = cells[cells.length - 1] ?? ''
    if (newline === '\n' && last.endsWith('\r')) return { fileLine, issue: this.#mixed(line) }
    const width = this.#width.cells
    if (cells.length === width || (cells.length < width && cells.length >= this.#width.namedColumns)) {
      const issue = this.#unnamedCell(cells, line)
      return issue === null ? { fileLine, line, cells: cells.slice(0, this.#width.namedColumns) } : { fileLine, issue }
    }
    const foreign = newline === '\n' ? '\r' : newline === '\r' ? '\n' : /[\r\n]/
    if (cells.length > width && cells.some((cell) => cell.search(foreign) !== -1)) {
      return { fileLine, issue: this.#mixed(line) }
    }
    const column = Math.min(cells.length, width + 1)
    const message = `has ${count(cells.length, 'cell')}, but the header has ${width}`
    const hint =
      cells.length > width ? 'Enclose cells that contain the delimiter in double quotes.' : 'Add the missing cells.'
    return { fileLine, issue: { place: { file: this.#file, line, column }, message, hint } }
  }

  /**
   * Returns the problem of a cell in an unnamed column, once for each column. Returns null if there is no such cell.
   */
  #unnamedCell(cells: readonly string[], line: number): ManifestIssue | null {
    for (let index = this.#width.namedColumns; index < cells.length; index++) {
      if (this.#unnamed.has(index) || cells[index]?.trim() === '') continue
      this.#unnamed.add(index)
      const message = `has a cell in column ${columnLetters(index)}, which has no name in the header`
      const hint = 'Add a name to the header, or clear the cells of the column.'
      return { place: { file: this.#file, line, column: index + 1 }, message, hint }
    }
    return null
  }

  #mixed(line: number): ManifestIssue {
    const place = { file: this.#file, line }
    const message = 'has a different line ending than the header'
    return { place, message, hint: 'Save the file with consistent line endings.' }
  }

  /** Returns the row number at the end of the text read so far. */
  lineOfRest(): number {
    return this.#line + this.#parser.parse(this.#rest, 0, true).data.length
  }

  /** Returns the problems of invalid quotes by row. Parses the text again row by row to locate the quotes. */
  #quoteErrors(text: string, isLast: boolean): Map<number, ManifestIssue> {
    const issues = new Map<number, ManifestIssue>()
    let index = 0
    let rowStart = 0
    const step = ({ errors, meta }: ParseResult) => {
      const quoteError = errors.find(({ type }) => type === 'Quotes')
      if (quoteError !== undefined) {
        const opened = (quoteError.index ?? 0) - 1
        const before = parserOf(this.#dialect).parse(text.slice(rowStart, opened), 0, false).data[0] ?? ['']
        const line = this.#line + index
        // The text before this cell ends with a delimiter, so the number of cells in that text is the position of this
        // cell.
        const place = { file: this.#file, line, column: Math.max(1, before.length) }
        issues.set(
          index,
          quoteError.code === 'MissingQuotes'
            ? { place, message: 'the quote that opens here is never closed', hint: QUOTE_HINT }
            : { place, message: 'a quoted cell has text after its closing quote', hint: QUOTE_HINT },
        )
      }
      rowStart = meta.cursor
      index++
    }
    parserOf(this.#dialect, step).parse(text, 0, !isLast)
    return issues
  }

  #tooLong(): ManifestError {
    const { data } = this.#parser.parse(this.#rest, 0, false)
    const cells = data[0] ?? []
    const quoted = this.#rest.includes('"')
    const issue = {
      place: { file: this.#file, line: this.#line, column: Math.max(1, cells.length) },
      message: `the row is longer than ${MAX_ROW_CHARACTERS / 1024 / 1024} million characters`,
      hint: quoted ? 'Look for a quote that is never closed.' : undefined,
    }
    return new ManifestError(issue, this.#line + this.#lineBreakCount)
  }
}

const QUOTE_HINT = 'Inside a quoted cell, write a double quote as two double quotes.'

interface ParseResult {
  data: string[][]
  errors: { type: string; code: string; row?: number; index?: number }[]
  meta: { cursor: number }
}

interface Parser {
  parse(input: string, baseIndex: number, ignoreLastRow: boolean): ParseResult
}

// The internal parser of papaparse, used directly to avoid an event for each row.
function parserOf({ delimiter, newline }: Dialect, step?: (row: ParseResult) => void): Parser {
  return new Papa.Parser({ delimiter, newline, step } as Papa.ParseConfig)
}

function lineEnd(text: string, from: number): { index: number; newline: Dialect['newline']; quote: number | null } {
  let quote: number | null = null
  for (let i = from; i < text.length; i++) {
    const char = text[i]
    if (char === '"') quote = quote === null ? i : null
    else if (quote !== null) continue
    else if (char === '\n') return { index: i, newline: '\n', quote }
    else if (char === '\r') return { index: i, newline: text[i + 1] === '\n' ? '\r\n' : '\r', quote }
  }
  return { index: text.length, newline: '\n', quote }
}

function findDelimiter(line: string, isKnown: (name: string) => boolean): string {
  const scores = DELIMITERS.map((delimiter) => {
    const names = parserOf({ delimiter, newline: '\n' }).parse(line, 0, false).data[0] ?? []
    return { delimiter, known: names.filter((name) => isKnown(name.trim())).length, names: names.length }
  })
  scores.sort((a, b) => b.known - a.known || b.names - a.names)
  return scores[0]?.delimiter ?? ','
}

function unclosedQuoteError(file: string, line: number): ManifestError {
  return new ManifestError({
    place: { file, line },
    message: 'the quote that opens here is never closed',
    hint: QUOTE_HINT,
  })
}

/** Returns the number of columns up to the last named one, because spreadsheets may add empty columns at the end. */
const countNamedColumns = (names: readonly string[]): number => names.findLastIndex((name) => name.trim() !== '') + 1

/** Returns the letters that name a column in a spreadsheet. */
function columnLetters(index: number): string {
  const last = String.fromCharCode('A'.charCodeAt(0) + (index % LETTERS))
  return index < LETTERS ? last : columnLetters(Math.floor(index / LETTERS) - 1) + last
}

const LETTERS = 26

function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === '')
}

/** Counts the line breaks within a cell as text editors do. */
function countLineBreaks(cell: string, { newline }: Dialect): number {
  const mark = newline === '\r' ? '\r' : '\n'
  let breaks = 0
  for (let at = cell.indexOf(mark); at !== -1; at = cell.indexOf(mark, at + 1)) breaks++
  return breaks
}

function countLines(text: string): number {
  const mark = text.includes('\n') ? '\n' : '\r'
  return text.split(mark).length - 1
}
