import { anyAddressProblem, checksumAddress } from '../api/address.ts'
import { GdnError } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import { type CsvFile, openCsv } from '../manifest/csv.ts'
import { decodeText } from '../manifest/decode.ts'
import { withOneLineEnding } from '../manifest/line-ending.ts'
import { ManifestError } from '../manifest/manifest-error.ts'
import type { ManifestIssue } from '../manifest/row.ts'
import { type ManifestSource, NO_MANIFEST_HINT, openManifestSource } from '../manifest/source.ts'
import { nameProblem } from './names.ts'

/** A name and an address of a list, with its line. */
export interface Contact {
  name: string
  /** With a checksum, if it is an EVM address. */
  address: string
  line: number
}

const COLUMNS = ['name', 'address'] as const
type Column = (typeof COLUMNS)[number]
const HINT = 'Use the columns name and address.'
/** Maximum number of contacts. A longer file is most likely a list of receivers. */
const MAX_CONTACTS = 100_000

/**
 * Reads the contacts of a CSV file with the columns `name` and `address`. Names are converted to lower case.
 *
 * @throws GdnError `invalid_input` for the first problem, such as a repeated name
 */
export async function readContacts(source: ManifestSource): Promise<Contact[]> {
  try {
    return await read(source)
  } catch (error) {
    throw error instanceof ManifestError ? inputError(error.issue) : error
  }
}

async function read(source: ManifestSource): Promise<Contact[]> {
  const { name: file, bytes } = await openManifestSource(source)
  const text = withOneLineEnding(decodeText(bytes, file))
  const csv = await openCsv(text, file, (name) => columnOf(name) !== undefined)
  const columns = columnsOf(csv, file)
  const contacts = new Map<string, Contact>()
  for await (const records of csv.blocks()) {
    for (const record of records) {
      if ('issue' in record) throw inputError(record.issue)
      const { line, cells } = record
      const place = (column: Column) => ({ file, line, field: column, column: columns[column] + 1 })
      const textOf = (column: Column) => unescapeCell((cells[columns[column]] ?? '').trim())
      const name = textOf('name').replace(/^@/, '').toLowerCase()
      const address = textOf('address')
      const wrongName = name === '' ? 'is required' : nameProblem(name)
      if (wrongName !== null) throw inputError({ place: place('name'), message: `name ${wrongName}`, ...usable(name) })
      const wrong = address === '' ? 'is required' : anyAddressProblem(address)
      if (wrong !== null) throw inputError({ place: place('address'), message: `address ${wrong}` })
      const first = contacts.get(name)
      if (first !== undefined) {
        const hint = 'Choose another name for one of them, or remove one of the lines.'
        throw inputError({ place: place('name'), message: `the name ${name} is already on line ${first.line}`, hint })
      }
      contacts.set(name, { name, address: checksumAddress(address), line })
      if (contacts.size > MAX_CONTACTS) {
        const message = `has more than ${MAX_CONTACTS.toLocaleString('en')} contacts`
        throw inputError({ place: { file }, message, hint: 'A list of receivers needs no names.' })
      }
    }
  }
  if (contacts.size > 0) return [...contacts.values()]
  throw inputError({ place: { file }, message: 'has no contacts', hint: 'Add at least one line below the header.' })
}

const columnOf = (name: string): Column | undefined => COLUMNS.find((column) => column === name.trim().toLowerCase())

function columnsOf({ header: { line, names } }: CsvFile, file: string): Record<Column, number> {
  const found: Partial<Record<Column, number>> = {}
  for (const [index, name] of names.entries()) {
    const column = columnOf(name)
    const place = { file, line, column: index + 1 }
    if (column === undefined) throw inputError({ place, message: `unknown column ${quoted(name)}`, hint: HINT })
    if (found[column] !== undefined) {
      throw inputError({ place, message: `the column ${column} is repeated`, hint: 'Remove one of them.' })
    }
    found[column] = index
  }
  const { name, address } = found
  if (name !== undefined && address !== undefined) return { name, address }
  const missing = name === undefined ? 'name' : 'address'
  throw inputError({ place: { file }, message: `has no column ${missing}`, hint: HINT })
}

/** Returns a hint with a valid name that is like a given one; none if there is no such name. */
function usable(name: string): { hint?: string } {
  const like = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
  return nameProblem(like) === null ? { hint: `Use ${like}.` } : {}
}

const inputError = ({ place, message, hint }: ManifestIssue) =>
  new GdnError('invalid_input', message, { place, hint: hint === NO_MANIFEST_HINT ? 'Check the path.' : hint })
