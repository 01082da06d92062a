import { evmAddressProblem, fastKeccakLoaded } from '../../api/address.ts'
import { GdnError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { type CsvFile, openCsv } from '../../manifest/csv.ts'
import { decodeText } from '../../manifest/decode.ts'
import { HashTable } from '../../manifest/hash-table.ts'
import { ManifestError } from '../../manifest/manifest-error.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import { type ManifestSource, NO_MANIFEST_HINT, openManifestSource } from '../../manifest/source.ts'
import { isUint256, parseUint } from './uint256.ts'

/** A line of a list of receivers. Values are null if the list doesn't have their column, or the cell is empty. */
export interface Receiver {
  /** The EVM address in lower case. */
  address: string
  line: number
  count: bigint | null
  /** Price in the smallest unit of the currency. */
  price: bigint | null
  /** The address of the currency in lower case. */
  currency: string | null
}

/** All columns of a list. Token IDs are ignored. */
const COLUMNS = ['receiver', 'count', 'token_ids', 'price', 'currency'] as const
type Column = (typeof COLUMNS)[number]
const PRICES: readonly string[] = ['price', 'currency']

interface ListOptions {
  /** Whether the columns `price` and `currency` are allowed. */
  prices: boolean
  signal: AbortSignal
}

/**
 * Reads a list of receivers: CSV with the column `receiver`, or one address per line.
 *
 * @throws GdnError `invalid_input` for the first problem, such as an invalid address or a repeated one
 */
export async function readReceivers(source: ManifestSource, options: ListOptions): Promise<Receiver[]> {
  try {
    return await read(source, options)
  } catch (error) {
    throw error instanceof ManifestError ? inputError(error.issue) : error
  }
}

async function read(source: ManifestSource, { prices, signal }: ListOptions): Promise<Receiver[]> {
  const { name: file, bytes } = await openManifestSource(source)
  const isColumn = (name: string) => (COLUMNS as readonly string[]).includes(name)
  const csv = await openCsv(decodeText(bytes, file), file, isColumn)
  const positions = findColumns(csv, file, prices)
  const receivers: Receiver[] = []
  const lines = new HashTable({ foldHex: true })
  const add = (cells: readonly string[], line: number) => {
    const receiver = parseRow(cells, positions, { file, line })
    const earlier = lines.getOrAdd(receiver.address, line)
    if (earlier !== undefined) {
      const place = { file, line, column: positions.receiver + 1 }
      const message = `${receiver.address} is repeated: it is already on line ${earlier}`
      throw inputError({ place, message, hint: 'Remove one of the two lines.' })
    }
    receivers.push(receiver)
  }
  if (isPlain(csv)) add(csv.header.names, csv.header.line)
  for await (const block of csv.blocks()) {
    signal.throwIfAborted()
    for (const record of block) {
      if ('issue' in record) throw inputError(record.issue)
      add(record.cells, record.line)
    }
    await fastKeccakLoaded()
  }
  if (receivers.length === 0) throw inputError({ place: { file }, message: 'has no addresses', hint: LIST_HINT })
  return receivers
}

const LIST_HINT = 'Write one address per line, or CSV with the header receiver,count.'

/** Whether the first line is an address, so that the list has no header. */
const isPlain = ({ header: { names } }: CsvFile) => names.length === 1 && /^0x/i.test(names[0] ?? '')

type Positions = Partial<Record<Column, number>> & { receiver: number }

function findColumns(csv: CsvFile, file: string, prices: boolean): Positions {
  const { names, line } = csv.header
  if (isPlain(csv)) return { receiver: 0 }
  const found: Partial<Record<string, number>> = {}
  for (const [index, name] of names.entries()) {
    const place = { file, line, column: index + 1 }
    if (/^0x/i.test(name)) {
      const hint = `Add a header above the line, such as ${COLUMNS.slice(0, names.length).join()}.`
      throw inputError({ place, message: 'the list has several columns, but no header', hint })
    }
    if (!(COLUMNS as readonly string[]).includes(name)) {
      const hint = `The columns are ${COLUMNS.join(', ')}.`
      throw inputError({ place, message: `unknown column ${quoted(name)}`, hint })
    }
    if (found[name] !== undefined) {
      throw inputError({ place, message: `the column ${name} is repeated`, hint: 'Remove one of the two columns.' })
    }
    if (!prices && PRICES.includes(name)) {
      const hint = 'Remove the column, or use --format thirdweb.'
      throw inputError({ place, message: `the column ${name} is only for the format thirdweb`, hint })
    }
    found[name] = index
  }
  const { receiver } = found
  if (receiver === undefined) {
    throw inputError({
      place: { file },
      message: names.length === 0 ? 'is empty' : 'has no column receiver',
      hint: LIST_HINT,
    })
  }
  return { ...found, receiver }
}

function parseRow(
  cells: readonly string[],
  positions: Positions,
  { file, line }: { file: string; line: number },
): Receiver {
  const textOf = (column: Column) => {
    const position = positions[column]
    return position === undefined ? '' : (cells[position] ?? '').trim()
  }
  const fail = (column: Column, message: string, hint?: string) =>
    inputError({ place: { file, line, column: (positions[column] ?? 0) + 1 }, message, hint })
  const addressIn = (column: Column) => {
    const text = textOf(column)
    const problem = evmAddressProblem(text)
    if (problem !== null) throw fail(column, text === '' ? `${column} is missing` : `${quoted(text)} ${problem}`)
    return text.toLowerCase()
  }
  const address = addressIn('receiver')
  const count = positions.count === undefined ? null : parseUint(textOf('count'))
  if (positions.count !== undefined && (count === null || count === 0n || !isUint256(count))) {
    throw fail('count', `count must be a whole number of at least 1, not ${quoted(textOf('count'))}`)
  }
  const price = textOf('price') === '' ? null : parseUint(textOf('price'))
  if (textOf('price') !== '' && (price === null || !isUint256(price))) {
    const hint = 'Write it in the smallest unit of the currency, such as 10000000000000000 for 0.01 ETH.'
    throw fail('price', `price must be a whole number, not ${quoted(textOf('price'))}`, hint)
  }
  const currency = textOf('currency') === '' ? null : addressIn('currency')
  if (currency !== null && price === null) {
    throw fail('currency', 'a currency without a price has no effect', 'Add a price, or clear the currency.')
  }
  return { address, line, count, price, currency }
}

const inputError = ({ place, message, hint }: ManifestIssue) =>
  new GdnError('invalid_input', message, { place, hint: hint === NO_MANIFEST_HINT ? 'Check the path.' : hint })
