import { addressProblem, canonicalAddress } from '../api/address.ts'
import { type Blockchain, isEvm } from '../api/blockchains.ts'
import { isEnsName } from '../api/ens-name.ts'
import { GdnError, type Place } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import { shellWord } from '../core/shell-word.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import { parseColumnName } from './columns.ts'
import { type CsvFile, type CsvRecord, openCsv } from './csv.ts'
import { withOneLineEnding } from './decode.ts'
import { HashTable } from './hash-table.ts'
import { addFieldName, ManifestError } from './manifest-error.ts'
import { beginsLikeAddress } from './names-in-rows.ts'
import type { ManifestOptions } from './options.ts'
import type { ManifestIssue } from './row.ts'

/** Columns of a receiver list. Only the first column is required. */
const PLAIN_COLUMNS = ['receiver', 'count', 'token_ids'] as const
const PRICES = ['price', 'currency'] as const
export type ListColumn = (typeof PLAIN_COLUMNS)[number] | (typeof PRICES)[number]

type Columns = Partial<Record<ListColumn, number>> & { receiver: number }

/** A receiver and its line in a list. */
export class ListLine {
  readonly line: number
  /** The address in the usual spelling of its blockchain. */
  readonly receiver: string
  /** The normalized ENS name that the list contains instead of the address, or null. */
  readonly name: string | null
  readonly #file: string
  readonly #columns: Columns
  readonly #cells: readonly string[]

  constructor(
    { line, cells }: { line: number; cells: readonly string[] },
    { file, columns, receiver, name }: { file: string; columns: Columns; receiver: string; name: string | null },
  ) {
    this.line = line
    this.receiver = receiver
    this.name = name
    this.#file = file
    this.#columns = columns
    this.#cells = cells
  }

  /** Returns the text of a column, or null if the list doesn't have the column. */
  text(column: ListColumn): string | null {
    const at = this.#columns[column]
    return at === undefined ? null : cellAt(this.#cells, at)
  }

  place(column: ListColumn): Place {
    return cellPlace(this.#file, this.line, column, this.#columns)
  }
}

const cellAt = (cells: readonly string[], at: number): string => unescapeCell((cells[at] ?? '').trim())

const cellPlace = (file: string, line: number, field: ListColumn, columns: Columns): Place => ({
  file,
  line,
  field,
  column: (columns[field] ?? 0) + 1,
})

export interface ListOptions {
  blockchain: Blockchain
  /** Whether a receiver may have several lines. Undefined if the command has no flag `--merge`. */
  merge?: boolean | undefined
  /** Whether the list may have the columns `price` and `currency`. */
  prices?: boolean
  /** Resolves names. Undefined if the command accepts only addresses. */
  names?: ListNames | undefined
}

export interface ListNames extends Pick<ManifestOptions, 'addressOf' | 'openNames' | 'ensNames'> {
  /** Returns whether `addressOf` resolves a cell. Default: whether the cell begins with `@`. */
  isName?: (cell: string) => boolean
}

/** Returns the key under which a receiver is counted. The key is independent of the spelling in the list. */
export const receiverKey = (receiver: string): string => (/^0x/i.test(receiver) ? receiver.toLowerCase() : receiver)

/**
 * Yields the lines of a receiver list, or their problems, in blocks. The list is a CSV file, or contains one address
 * per line.
 *
 * @throws ManifestError if the rest of the list can't be read
 */
export async function* readReceiverList(
  text: AsyncIterable<string>,
  file: string,
  { blockchain, merge, prices = false, names = {} }: ListOptions,
): AsyncGenerator<readonly (ListLine | { issue: ManifestIssue })[], void, undefined> {
  const csv = await openCsv(withOneLineEnding(text), file, (name) => columnOf(name, prices) !== null)
  const isWithoutHeader = isPlainList(csv, names)
  const columns = isWithoutHeader ? { receiver: 0 } : findColumns(csv, file, prices)
  const receivers = new ListedReceivers({ blockchain, merge, hasNames: names.ensNames !== undefined })

  const read = (record: CsvRecord): ListLine | { issue: ManifestIssue } => {
    if ('issue' in record) return record
    const { line, cells } = record
    const fail = (message: string, hint?: string) => ({
      issue: { place: cellPlace(file, line, 'receiver', columns), message, hint },
    })
    const resolved = resolveCell(cellAt(cells, columns.receiver), names)
    if (resolved instanceof GdnError) return fail(addFieldName('receiver', resolved), resolved.hint)
    const { name, address } = resolved
    const problem = address === '' ? 'is required' : addressProblem(address, blockchain)
    if (problem !== null) return fail(`receiver ${problem}`)
    const repeated = receivers.add({ address, name, line })
    if (repeated !== null) return fail(repeated.message, repeated.hint)
    return new ListLine(record, { file, columns, receiver: canonicalAddress(address, blockchain), name })
  }
  const readAll = async (records: readonly CsvRecord[]) => {
    const cells = records.flatMap((record) => ('cells' in record ? cellAt(record.cells, columns.receiver) : []))
    await openNamesInCells(cells, names, blockchain)
    return records.map(read)
  }

  if (isWithoutHeader) yield await readAll([{ ...csv.header, cells: csv.header.names }])
  for await (const records of csv.blocks()) yield await readAll(records)
}

const isName = (cell: string): boolean => cell.startsWith('@')

/** Resolves the names among cells, so that `addressOf` returns their addresses. */
async function openNamesInCells(cells: readonly string[], { openNames, ensNames }: ListNames, blockchain: Blockchain) {
  if (openNames !== undefined && cells.some(isName)) await openNames()
  if (ensNames === undefined) return
  const opened = new Set(cells.filter((cell) => !beginsLikeAddress(cell) && isEnsName(cell)))
  if (opened.size > 0) await ensNames.open(opened, blockchain)
}

/**
 * Returns the address for a cell, and the name if the cell is an ENS name. Returns an error for a name without an
 * address.
 */
function resolveCell(
  cell: string,
  { addressOf: resolve, ensNames, isName: isKnown = isName }: ListNames,
): { name: string | null; address: string } | GdnError {
  if (beginsLikeAddress(cell)) return { name: null, address: cell }
  try {
    if (resolve !== undefined && isKnown(cell)) return { name: null, address: resolve(cell) }
    return ensNames !== undefined && isEnsName(cell) ? ensNames.of(cell) : { name: null, address: cell }
  } catch (error) {
    if (error instanceof GdnError) return error
    throw error
  }
}

/** The receivers of a list. Each receiver has one line, unless `--merge` adds the counts of several lines. */
class ListedReceivers {
  readonly #lines: HashTable
  /** The first ENS name of each address. */
  readonly #names = new Map<string, string>()
  readonly #merge: boolean | undefined
  readonly #hasNames: boolean

  constructor({ blockchain, merge, hasNames }: Pick<ListOptions, 'blockchain' | 'merge'> & { hasNames: boolean }) {
    this.#lines = new HashTable({ foldHex: isEvm(blockchain) })
    this.#merge = merge
    this.#hasNames = hasNames
  }

  /** Adds a receiver. Returns a problem if an earlier line has the same receiver. */
  add({ address, name, line }: { address: string; name: string | null; line: number }): {
    message: string
    hint: string
  } | null {
    if (this.#merge === true && !this.#hasNames) return null
    const first = this.#lines.getOrAdd(address, line)
    const key = address.toLowerCase()
    const other = this.#names.size === 0 ? undefined : this.#names.get(key)
    if (name !== null && first === undefined) this.#names.set(key, name)
    if (first === undefined) return null
    if (other !== (name ?? undefined)) {
      const [current, earlier] = [name ?? address, other ?? address]
      return {
        message: `receiver ${quoted(current)} has the address ${address}, which is already on line ${first}${earlier === address ? '' : ` as ${quoted(earlier)}`}`,
        hint: 'Remove one of the lines.',
      }
    }
    if (this.#merge === true) return null
    const hint = `Remove one of the lines${this.#merge === undefined ? '' : ', or add --merge to add their counts'}.`
    return { message: `receiver is already on line ${first}`, hint }
  }
}

function columnOf(name: string, prices: boolean): ListColumn | null {
  const text = name.trim().toLowerCase()
  const match = [...PLAIN_COLUMNS, ...(prices ? PRICES : [])].find((column) => column === text)
  if (match !== undefined) return match
  const parsed = parseColumnName(name.trim(), {})
  return 'role' in parsed && parsed.role.kind === 'receiver' ? 'receiver' : null
}

/**
 * Returns whether a cell looks like an address, even if a digit is missing or wrong, or like a name such as `@alice`.
 */
const isLikeAddress = (cell: string): boolean => /^(?:0x[0-9a-f]*|@.*|[1-9A-HJ-NP-Za-km-z]{32,44})$/i.test(cell.trim())

/**
 * Returns whether the first line is an address or a name that the command accepts, which means that the list has no
 * header.
 */
const isPlainList = ({ header: { names } }: CsvFile, { isName: isKnown = isName, ensNames }: ListNames): boolean =>
  names.length === 1 &&
  names.every((cell) => isLikeAddress(cell) || isKnown(cell) || (ensNames !== undefined && isEnsName(cell.trim())))

/** Returns whether a header has the columns of a file for `gdn wallet add --from`. */
const isContactsFile = (names: readonly string[]): boolean => {
  const columnNames = new Set(names.map((name) => name.trim().toLowerCase()))
  return columnNames.has('name') && columnNames.has('address')
}

/**
 * Finds the columns of a list in its header.
 *
 * @throws ManifestError
 */
function findColumns({ header: { line, names } }: CsvFile, file: string, prices: boolean): Columns {
  const listError = (column: number | undefined, message: string, hint: string) =>
    new ManifestError({ place: { file, ...(column && { line, column }) }, message, hint })
  if (names.length === 0) throw listError(undefined, 'is empty', 'Add at least one receiver.')
  const address = names.findIndex(isLikeAddress)
  if (address !== -1) {
    throw listError(address + 1, 'has an address instead of a column name', 'Add the header receiver,count.')
  }
  const allowed = [...PLAIN_COLUMNS, ...(prices ? PRICES : [])]
  const hint = `Use the columns ${allowed.slice(0, -1).join(', ')} and ${allowed.at(-1)}, or one address per line without a header.`
  const ofContacts = isContactsFile(names)
    ? ` To use a file of contacts, run \`gdn wallet add --from ${shellWord(file)}\`, and then use a group such as @team in place of the file.`
    : ''
  const columns: Partial<Record<ListColumn, number>> = {}
  for (const [index, name] of names.entries()) {
    const column = columnOf(name, prices)
    if (column === null) throw listError(index + 1, `unknown column ${quoted(name)}`, hint + ofContacts)
    if (columns[column] !== undefined)
      throw listError(index + 1, `the column ${column} is repeated`, 'Remove one of the columns.')
    columns[column] = index
  }
  const { receiver } = columns
  if (receiver === undefined) throw listError(1, 'has no column receiver', hint)
  return { ...columns, receiver }
}
