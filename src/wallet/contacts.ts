import { anyAddressProblem, checksumAddress } from '../api/address.ts'
import { groupDigits } from '../core/group-digits.ts'
import { nearest } from '../core/nearest.ts'
import { quoted } from '../core/quoted.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import { type CsvFile, openCsv } from '../manifest/csv.ts'
import { decodeText, withOneLineEnding } from '../manifest/decode.ts'
import { ManifestError } from '../manifest/manifest-error.ts'
import type { ManifestIssue } from '../manifest/row.ts'
import { type ManifestSource, NO_MANIFEST_HINT, openManifestSource } from '../manifest/source.ts'
import { nameProblem } from './names.ts'

/** A name and an address in a list, with their location. */
export interface Contact {
  name: string
  /** The address, with a checksum if it is an EVM address. */
  address: string
  /** The names of the contact's groups. */
  groups: string[]
  /** Returns the location of a cell. */
  place(column: Column): NonNullable<ManifestIssue['place']>
}

/** The valid contacts in a list, and all problems of the list. */
export interface Contacts {
  contacts: Contact[]
  issues: ManifestIssue[]
}

const COLUMNS = ['name', 'address', 'groups'] as const
type Column = (typeof COLUMNS)[number]
type Columns = { name: number; address: number; groups: number | undefined }
const COLUMNS_HINT = 'Use the columns name, address and groups.'
/** Maximum number of contacts. A longer file is most likely a receiver list. */
const MAX_CONTACTS = 100_000

/**
 * Reads the contacts of a CSV file with the columns `name`, `address` and, if contacts have groups, `groups`. Names are
 * converted to lower case. If the rest of the file can't be read, the last issue contains the reason.
 */
export async function readContacts(source: ManifestSource): Promise<Contacts> {
  const contacts: Contacts = { contacts: [], issues: [] }
  try {
    await addContacts(source, contacts)
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { hint, ...issue } = error.issue
    contacts.issues.push({ ...issue, hint: hint === NO_MANIFEST_HINT ? 'Check the path.' : hint })
  }
  return contacts
}

async function addContacts(source: ManifestSource, { contacts, issues }: Contacts): Promise<void> {
  const { name: file, bytes } = await openManifestSource(source)
  const text = withOneLineEnding(decodeText(bytes, file))
  const csv = await openCsv(text, file, (name) => parseColumn(name) !== undefined)
  const columns = findColumns(csv, file, issues)
  const lines = new Map<string, number>()
  let rows = 0
  for await (const records of csv.blocks()) {
    for (const record of records) {
      if (++rows > MAX_CONTACTS) {
        const message = `has more than ${groupDigits(MAX_CONTACTS)} contacts`
        throw new ManifestError({
          place: { file },
          message,
          hint: 'Save fewer contacts. You can use a list of receivers without saving their names.',
        })
      }
      if ('issue' in record) issues.push(record.issue)
      else {
        const contact = parseContact({ file, columns, ...record }, lines, issues)
        if (contact !== null) contacts.push(contact)
      }
    }
  }
  if (rows > 0) return
  throw new ManifestError({
    place: { file },
    message: 'has no contacts',
    hint: 'Add at least one line below the header.',
  })
}

interface Row {
  file: string
  columns: Columns
  line: number
  cells: readonly string[]
}

/** Returns the contact of a row, or null if the row has problems. `lines` contains the lines of earlier names. */
function parseContact({ file, columns, line, cells }: Row, lines: Map<string, number>, issues: ManifestIssue[]) {
  const before = issues.length
  const place = (column: Column) => ({ file, line, field: column, column: (columns[column] ?? 0) + 1 })
  const cellText = (column: Column) => unescapeCell((cells[columns[column] ?? cells.length] ?? '').trim())
  const add = (column: Column, message: string, hint?: string) => issues.push({ place: place(column), message, hint })
  const name = cellText('name').replace(/^@/, '').toLowerCase()
  const wrongName = name === '' ? 'is required' : nameProblem(name)
  if (wrongName !== null) add('name', `name ${wrongName}`, similarNameHint(name))
  const first = lines.get(name)
  if (wrongName === null && first !== undefined) {
    const hint = 'Choose another name for one of the contacts, or remove one of the lines.'
    add('name', `the name ${name} is already on line ${first}`, hint)
  } else if (wrongName === null) lines.set(name, line)
  const address = cellText('address')
  const wrong = address === '' ? 'is required' : anyAddressProblem(address)
  if (wrong !== null) add('address', `address ${wrong}`)
  const groups = new Set<string>()
  for (const typed of cellText('groups').split(/[\s,;]+/)) {
    const group = typed.replace(/^@/, '').toLowerCase()
    if (typed === '') continue
    const problem = nameProblem(group)
    if (problem !== null) add('groups', `groups ${quoted(typed)} ${problem}`, similarNameHint(group))
    groups.add(group)
  }
  return issues.length > before ? null : { name, address: checksumAddress(address), groups: [...groups], place }
}

const parseColumn = (name: string): Column | undefined => COLUMNS.find((column) => column === name.trim().toLowerCase())

/**
 * Finds the columns in the header, and reports unknown columns.
 *
 * @throws ManifestError if a required column is missing
 */
function findColumns({ header: { line, names } }: CsvFile, file: string, issues: ManifestIssue[]): Columns {
  const columns: Partial<Record<Column, number>> = {}
  for (const [index, name] of names.entries()) {
    const column = parseColumn(name)
    const place = { file, line, column: index + 1 }
    if (column === undefined) {
      const near = nearest(name.trim(), COLUMNS)
      const hint = near === undefined ? `${COLUMNS_HINT} Remove other columns.` : `Did you mean ${near}?`
      issues.push({ place, message: `unknown column ${quoted(name)}`, hint })
    } else if (columns[column] === undefined) columns[column] = index
    else issues.push({ place, message: `the column ${column} is repeated`, hint: 'Remove one of the columns.' })
  }
  const { name, address, groups } = columns
  if (name !== undefined && address !== undefined) return { name, address, groups }
  const missing = name === undefined ? 'name' : 'address'
  throw new ManifestError({ place: { file }, message: `has no column ${missing}`, hint: COLUMNS_HINT })
}

/** Returns a hint with a valid name that resembles the given one, or undefined if there is no such name. */
function similarNameHint(name: string): string | undefined {
  const similarName = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
  return nameProblem(similarName) === null ? `Use ${similarName}.` : undefined
}
