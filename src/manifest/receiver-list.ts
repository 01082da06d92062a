import { addressProblem, canonicalAddress } from '../api/address.ts'
import { type Blockchain, isEvm } from '../api/blockchains.ts'
import type { Place } from '../core/errors.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import { parseColumnName } from './columns.ts'
import { type CsvFile, type CsvRecord, openCsv } from './csv.ts'
import { HashTable } from './hash-table.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestIssue } from './row.ts'

/** A line of a list: a receiver and its number of NFTs, or a problem. */
export type ListEntry = { line: number; receiver: string; count: number } | { issue: ManifestIssue }

export interface ListOptions {
  blockchain: Blockchain
  /** Whether a receiver may have several lines, whose counts are added. */
  merge: boolean
}

/** Maximum number of NFTs of a list. A larger sum is most likely a typo. */
export const MAX_LIST_NFTS = 10_000_000

const COLUMNS_HINT = 'Use the columns receiver, count and token_ids, or one address per line without a header.'

/** Returns the key under which a receiver is counted, regardless of how the list spells it. */
export const receiverKey = (receiver: string): string => (/^0x/i.test(receiver) ? receiver.toLowerCase() : receiver)

/**
 * Yields the lines of a list of receivers in blocks. The list is a CSV file with the columns `receiver`, `count` and
 * `token_ids`, of which only the first is required, or one address per line.
 *
 * @throws ManifestError if the rest of the list can't be read
 */
export async function* readReceiverList(
  text: AsyncIterable<string>,
  file: string,
  { blockchain, merge }: ListOptions,
): AsyncGenerator<readonly ListEntry[], void, undefined> {
  const csv = await openCsv(text, file, (name) => columnOf(name) !== null)
  const { columns, first } = readHeader(csv, file)
  const reader = new LineReader(file, columns, { blockchain, merge })
  if (first !== null) yield [reader.read(first)]
  for await (const records of csv.blocks()) yield records.map((record) => reader.read(record))
}

type ListColumn = 'receiver' | 'count' | 'token_ids'

function columnOf(name: string): ListColumn | null {
  const text = name.trim().toLowerCase()
  if (text === 'count' || text === 'token_ids') return text
  const parsed = parseColumnName(name.trim(), {})
  return 'role' in parsed && parsed.role.kind === 'receiver' ? 'receiver' : null
}

/** The positions of the columns. `count` is -1 if there is none. */
interface Columns {
  receiver: number
  count: number
}

/** Whether a cell is meant as an address, even if a digit is missing or wrong. */
const isLikeAddress = (cell: string): boolean => /^(?:0x[0-9a-f]*|[1-9A-HJ-NP-Za-km-z]{32,44})$/i.test(cell.trim())

/** Reads the header. Without one, `first` is the first line of the list. @throws ManifestError */
function readHeader({ header: { line, fileLine, names } }: CsvFile, file: string) {
  const fail = (column: number, message: string, hint: string) =>
    new ManifestError({ place: { file, line, column }, message, hint })
  const [only = '', ...others] = names
  if (names.length === 0) {
    throw new ManifestError({ place: { file }, message: 'is empty', hint: 'Add at least one receiver.' })
  }
  if (isLikeAddress(only) && others.length === 0) {
    return { columns: { receiver: 0, count: -1 }, first: { line, fileLine, cells: names } }
  }
  const address = names.findIndex(isLikeAddress)
  if (address !== -1)
    throw fail(address + 1, 'has an address instead of a column name', 'Add the header receiver,count.')
  const columns: Columns = { receiver: names.findIndex((name) => columnOf(name) === 'receiver'), count: -1 }
  const known = new Set<ListColumn>()
  for (const [index, name] of names.entries()) {
    const column = columnOf(name)
    if (column === null) throw fail(index + 1, `unknown column "${name}"`, COLUMNS_HINT)
    if (known.has(column)) throw fail(index + 1, `has the column ${column} twice`, 'Remove one of them.')
    known.add(column)
    if (column === 'count') columns.count = index
  }
  if (columns.receiver === -1) throw fail(1, 'has no column receiver', COLUMNS_HINT)
  return { columns, first: null }
}

/** Checks the lines of a list. */
class LineReader {
  readonly #file: string
  readonly #columns: Columns
  readonly #options: ListOptions
  /** The lines of the receivers. */
  readonly #lines: HashTable
  #nfts = 0

  constructor(file: string, columns: Columns, options: ListOptions) {
    this.#file = file
    this.#columns = columns
    this.#options = options
    this.#lines = new HashTable({ foldHex: isEvm(options.blockchain) })
  }

  /** @throws ManifestError if the list has too many NFTs */
  read(record: CsvRecord): ListEntry {
    if ('issue' in record) return record
    const { line, cells } = record
    const { blockchain, merge } = this.#options
    const cell = (at: number) => unescapeCell((cells[at] ?? '').trim())
    const address = cell(this.#columns.receiver)
    const problem = address === '' ? 'is required' : addressProblem(address, blockchain)
    if (problem !== null) return this.#issue(line, 'receiver', `receiver ${problem}`)
    const number = this.#columns.count === -1 ? '1' : cell(this.#columns.count)
    if (!/^[1-9]\d*$/.test(number)) {
      const hint = 'Remove the line of a receiver that gets no NFT.'
      return this.#issue(line, 'count', 'count must be a whole number of at least 1', hint)
    }
    const count = Number(number)
    this.#nfts += count
    if (this.#nfts > MAX_LIST_NFTS) {
      const message = `count brings the list to more than ${MAX_LIST_NFTS.toLocaleString('en')} NFTs`
      throw new ManifestError({
        place: this.#place(line, 'count'),
        message,
        hint: 'Check the counts, or split the list and give each part a --run <name>.',
      })
    }
    const first = merge ? undefined : this.#lines.getOrAdd(address, line)
    if (first !== undefined) {
      const hint = 'Remove one of the lines, or add --merge to add their counts.'
      return this.#issue(line, 'receiver', `receiver is already on line ${first}`, hint)
    }
    return { line, receiver: canonicalAddress(address, blockchain), count }
  }

  #place(line: number, field: keyof Columns): Place {
    return { file: this.#file, line, column: Math.max(0, this.#columns[field]) + 1, field }
  }

  #issue(line: number, field: keyof Columns, message: string, hint?: string): ListEntry {
    return { issue: { place: this.#place(line, field), message, hint } }
  }
}
