import { isEnsName } from '../api/ens-name.ts'
import { findMisplacedType } from '../api/misspelled-key.ts'
import { type FieldIssue, formatPath } from '../api/validate.ts'
import { GdnError } from '../core/errors.ts'
import { type Column, IGNORED_MEANING, ROW_KEYS } from './columns.ts'
import { FileFields, withoutSamples } from './local-files.ts'
import { addFieldName, RowReport } from './manifest-error.ts'
import { beginsLikeAddress } from './names-in-rows.ts'
import type { ManifestOptions } from './options.ts'
import type { ManifestIssue, ManifestRow } from './row.ts'
import { ContractCheck, parseTrait, RowIds, TraitTypes } from './row-checks.ts'
import { type Cell, type ManifestTarget, TargetCheck } from './target.ts'

/** A built row, or the problems of a row. Local files aren't checked yet. */
export type BuiltRow =
  | { row: ManifestRow }
  | { issues: ManifestIssue[]; line: number; title: string | null; localFiles: ManifestRow['localFiles'] }

type Metadata = ManifestRow['metadata']
type LocalFiles = ManifestRow['localFiles']

export interface RowInput {
  line: number
  /** The columns in the order of the cells. The cells of an undefined column are ignored. */
  columns: readonly (Column | undefined)[]
  /** The values of the cells. An undefined, null or blank value counts as an empty cell. */
  cells: readonly unknown[]
  /** Whether all text is known to be well-formed and free of NUL characters. */
  isTrusted: boolean
}

/** The values of a row's cells. */
interface ReadCells extends Record<'receiver' | 'sender' | 'id' | 'contract_address' | 'blockchain', Cell | undefined> {
  metadata: Metadata
  hasTitle: boolean
  hasDescription: boolean
  localFiles: LocalFiles
  /**
   * Stays true while all text is well-formed and free of NUL characters. The schema then doesn't check the text again.
   */
  isTrusted: boolean
}

const NO_FILES: LocalFiles = []

/**
 * Builds rows from cells and checks each row against the API contract. Use one builder per manifest, because a builder
 * stores the IDs and addresses of earlier rows.
 */
export class RowBuilder {
  readonly #file: string
  readonly #options: ManifestOptions
  readonly #ids = new RowIds()
  readonly #files: FileFields
  readonly #target: TargetCheck
  readonly #contract = new ContractCheck()
  readonly #traits = new TraitTypes()
  readonly #missingColumns: ReadonlySet<string>
  /** The ENS name of the address that `#party` returned last. */
  #lastName: string | null = null
  #report: RowReport

  /**
   * @param folder the base folder of relative paths
   * @param missing required columns that the header lacks. They are reported once instead of for each row.
   */
  constructor(file: string, folder: string, options: ManifestOptions, missing: ReadonlySet<string> = new Set()) {
    this.#file = file
    this.#missingColumns = missing
    this.#files = new FileFields(folder, options)
    this.#options = options
    this.#report = new RowReport(file, missing)
    const { blockchain, contractAddress = null, mayLackBlockchain } = options
    this.#target = new TargetCheck({ blockchain, contractAddress }, mayLackBlockchain)
  }

  get target(): ManifestTarget {
    return this.#target.target
  }

  fromCells(input: RowInput): BuiltRow {
    const { line, columns, isTrusted: wasChecked } = input
    const report = this.#newReport(line)
    const cells = this.#readCells(input, report)
    const { metadata, hasTitle, hasDescription, isTrusted } = cells
    const isWhole = isTrusted && hasTitle && hasDescription
    const checked = isWhole
      ? this.#contract.checkTrusted(metadata)
      : this.#contract.check({
          ...metadata,
          title: hasTitle ? metadata.title : undefined,
          description: hasDescription ? metadata.description : undefined,
        })
    if (!checked.ok) this.#reportColumns(checked.issues, columns, metadata, report)
    // In a CSV file, the header has already set one type for each attribute.
    if (!wasChecked) this.#traits.check(line, metadata.attribute, columns, report)
    this.#target.check(cells.blockchain, cells.contract_address, report)
    const name = cells.id === undefined ? null : this.#ids.check(cells.id, line, isTrusted, report)
    return this.#finish(
      {
        line,
        id: name,
        receiver: cells.receiver,
        sender: cells.sender,
        title: hasTitle ? metadata.title : null,
        metadata: checked.ok ? checked.value : null,
        localFiles: cells.localFiles,
      },
      report,
    )
  }

  #readCells({ columns, cells, isTrusted: wasChecked }: RowInput, report: RowReport): ReadCells {
    // Create the object with all its properties, because spreading objects took half of the time per row.
    const read: ReadCells = {
      metadata: { title: '', description: '', file_fields: [] },
      hasTitle: false,
      hasDescription: false,
      localFiles: [],
      isTrusted: true,
      receiver: undefined,
      sender: undefined,
      id: undefined,
      contract_address: undefined,
      blockchain: undefined,
    }
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i]
      const cell = cells[i]
      if (column === undefined || column.role.kind === IGNORED_MEANING || cell === undefined || cell === null) continue
      const { role } = column
      const trait = role.kind === 'attr' ? role.trait : undefined
      const text = trait !== undefined && typeof cell === 'number' ? String(cell) : cell
      if (typeof text !== 'string') {
        const expectedKind = trait === undefined ? 'a string' : 'a number'
        report.add(column, `${column.name} must be ${expectedKind}, not ${describeType(cell)}`)
        read.isTrusted = false
        continue
      }
      // White space around a value is invisible in a spreadsheet, but would change the value.
      const value = text.trim()
      if (value === '') continue
      if (!wasChecked && (!value.isWellFormed() || value.includes('\0'))) read.isTrusted = false
      this.#take({ value, column }, read, report)
    }
    return read
  }

  /** Adds the value of a cell to the values that were read so far. */
  #take(cell: Cell, read: ReadCells, report: RowReport): void {
    const { metadata } = read
    const { value, column } = cell
    const { role } = column
    switch (role.kind) {
      case 'title':
        metadata.title = value
        read.hasTitle = true
        break
      case 'description':
        metadata.description = value
        read.hasDescription = true
        break
      case 'file':
        metadata.file_fields.push(this.#files.take({ key: role.key, url: value }, read.localFiles, column, report))
        break
      case 'attr':
        metadata.attribute ??= []
        metadata.attribute.push(
          role.trait === undefined
            ? { tag: role.key, value }
            : parseTrait(role.key, role.trait, value, (problem) => report.add(column, `${column.name} ${problem}`)),
        )
        break
      case 'extra':
        metadata[role.key] = value
        break
      case IGNORED_MEANING:
        break
      default:
        read[role.kind] = cell
    }
  }

  /** Returns an empty report. Rows without problems share one report, and each row with problems gets its own. */
  #newReport(line: number): RowReport {
    if (this.#report.issues.length > 0) this.#report = new RowReport(this.#file, this.#missingColumns)
    this.#report.line = line
    return this.#report
  }

  #reportColumns(
    issues: readonly FieldIssue[],
    columns: RowInput['columns'],
    metadata: Metadata,
    report: RowReport,
  ): void {
    for (const issue of issues) {
      const column = columnOf(issue, columns, metadata.file_fields, metadata.attribute)
      const name = column?.name ?? (issue.field === '' ? 'the row' : issue.field)
      // A value that isn't a string has already been reported.
      if (!report.has(name)) report.add(column ?? issue.field, `${name} ${issue.message}`)
    }
  }

  /** Builds a row from a metadata object of the API. The receiver comes from the flags or the request. */
  fromMetadata(line: number, value: Record<string, unknown>): BuiltRow {
    const report = this.#newReport(line)
    for (const name of ROW_KEYS) {
      if (!Object.hasOwn(value, name)) continue
      const message = `${name} would become public metadata, like every key except file_fields`
      report.add(name, message, 'Use rows with the columns of a manifest, or a complete request.')
    }
    const localFiles: LocalFiles = []
    const checked = this.#contract.check(this.#files.takeAll(value, localFiles, report))
    for (const { field, message } of checked.ok ? [] : checked.issues) {
      report.add(field, `${field === '' ? 'the metadata' : field} ${message}`)
    }
    if (checked.ok) this.#traits.check(line, checked.value.attribute, null, report)
    const misplaced = findMisplacedType(value)
    if (misplaced !== null) {
      const field = formatPath(misplaced.path)
      report.add(field, `${field} ${misplaced.message}`, misplaced.hint)
    }
    this.#target.check(undefined, undefined, report)
    const metadata = checked.ok ? checked.value : null
    const title = typeof value.title === 'string' ? value.title : null
    return this.#finish({ line, id: null, receiver: undefined, sender: undefined, title, metadata, localFiles }, report)
  }

  #finish(
    parts: {
      line: number
      id: string | null
      receiver: Cell | undefined
      sender: Cell | undefined
      title: string | null
      metadata: Metadata | null
      localFiles: LocalFiles
    },
    report: RowReport,
  ): BuiltRow {
    const { line, id, title, metadata, localFiles } = parts
    const receiver = this.#party('receiver', parts.receiver, report)
    const receiverName = this.#lastName
    const sender = this.#party('sender', parts.sender, report)
    const senderName = this.#lastName
    if (sender !== null && this.#options.dynamic === true) {
      report.add(parts.sender?.column ?? 'sender', "sender can't be used with --dynamic")
    }
    if (receiver === null && !report.has('receiver'))
      report.add(
        'receiver',
        'receiver is required',
        'Fill in the receiver, or add --receiver <address>. To mint a single row to a list of receivers, use `gdn batch mint --to <file>`.',
      )
    if (report.issues.length > 0 || receiver === null || metadata === null)
      return { issues: report.issues, line, title, localFiles: this.#options.localFiles ? localFiles : NO_FILES }
    const row: ManifestRow = {
      line,
      id,
      receiver,
      sender,
      metadata: withoutSamples(metadata, localFiles),
      localFiles,
    }
    if (receiverName !== null) row.receiverName = receiverName
    if (senderName !== null) row.senderName = senderName
    return { row }
  }

  /** Returns the address of a receiver or sender, and sets `#lastName` to its ENS name. */
  #party(kind: 'receiver' | 'sender', cell: Cell | undefined, report: RowReport): string | null {
    const typed = cell?.value ?? this.#options[kind] ?? null
    this.#lastName = null
    if (typed === null) return null
    const address = beginsLikeAddress(typed) ? typed : this.#addressOf(kind, typed, cell?.column ?? null, report)
    if (address !== null) this.#target.checkAddress(kind, address, cell?.column ?? null, report)
    return address
  }

  /**
   * Returns the address for a text, which may be a name. If the name has no address, returns null and reports the
   * problem.
   */
  #addressOf(kind: 'receiver' | 'sender', text: string, column: Column | null, report: RowReport): string | null {
    const { addressOf, ensNames } = this.#options
    try {
      if (text.startsWith('@') && addressOf !== undefined) return addressOf(text)
      if (ensNames === undefined || !isEnsName(text)) return text
      const { name, address } = ensNames.of(text)
      this.#lastName = name
      return address
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      report.add(column ?? kind, addFieldName(kind, error), error.hint)
      return null
    }
  }
}

/** Returns the column that caused a problem, because users don't see the request that is built from the columns. */
function columnOf(
  { path }: FieldIssue,
  columns: RowInput['columns'],
  fileFields: Metadata['file_fields'],
  attributes: Metadata['attribute'],
): Column | null {
  const [head, index] = path
  if (head === undefined) return null
  const isListed = typeof index === 'number'
  const file = head === 'file_fields' && isListed ? fileFields[index]?.key : undefined
  const tag = head === 'attribute' && isListed ? attributes?.[index]?.tag : undefined
  const match = columns.find((column) => {
    if (column === undefined) return false
    const { role } = column
    if (!('key' in role)) return role.kind === head
    return role.key === (role.kind === 'file' ? file : role.kind === 'attr' ? tag : head)
  })
  return match ?? null
}

function describeType(value: unknown): string {
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
