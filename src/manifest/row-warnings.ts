import type { Place } from '../core/errors.ts'
import { isInQuotes } from '../core/quotation-marks.ts'
import { quoted } from '../core/quoted.ts'
import { type Column, mapFlag } from './columns.ts'
import type { ManifestOptions } from './options.ts'
import type { ManifestIssue, ManifestRow } from './row.ts'
import { looksLikeImage } from './suggest-columns.ts'

const MAX_FILE_WARNINGS = 1000
/** Metadata keys in which marketplaces look for the image if it isn't a file. */
const IMAGE_KEYS = ['image', 'image_data', 'image_url']

interface AffectedRows {
  rows: number
  /** The line of the first affected row. */
  first: number
}

/** Collects warnings about rows of a manifest that are valid but probably not intended. */
export class RowWarnings {
  /** The name of the manifest in messages. */
  readonly file: string
  #rowCount = 0
  #invalidCount = 0
  #withoutId: AffectedRows = { rows: 0, first: 0 }
  #withoutImage: AffectedRows = { rows: 0, first: 0 }
  /** The column of the first row without an image whose text looks like an image; null if there is none. */
  #imageColumn: string | null = null
  #hasImageColumn = false
  #quotedRows: AffectedRows = { rows: 0, first: 0 }
  #escapedCells: { cells: number; first: Place } | null = null
  #files: ManifestIssue[] = []
  #spellings = new Spellings()

  readonly #forMarketplace: boolean

  /** @param forMarketplace whether the rules of one marketplace replace the general warnings about marketplaces */
  constructor(file: string, { forMarketplace = false } = {}) {
    this.file = file
    this.#forMarketplace = forMarketplace
  }

  /** Resets the warnings before the manifest is read. Returns the options for reading it. */
  begin(): {
    [Name in 'onRow' | 'onInvalidRow' | 'onFileWarning' | 'onUnescaped']: NonNullable<ManifestOptions[Name]>
  } {
    this.#rowCount = 0
    this.#invalidCount = 0
    this.#withoutId = { rows: 0, first: 0 }
    this.#withoutImage = { rows: 0, first: 0 }
    this.#imageColumn = null
    this.#hasImageColumn = false
    this.#quotedRows = { rows: 0, first: 0 }
    this.#escapedCells = null
    this.#files = []
    this.#spellings = new Spellings()
    return {
      onRow: (row, columns) => {
        this.#rowCount++
        // Don't count a metadata object, because it can't have an ID.
        if (row.id === null && columns !== null) countAffected(this.#withoutId, row)
        if (!this.#forMarketplace && !hasImage(row)) {
          countAffected(this.#withoutImage, row)
          if (this.#withoutImage.rows === 1) {
            this.#imageColumn = imageColumnOf(row, columns)
            this.#hasImageColumn = columns?.some((column) => column?.name === 'image') ?? false
          }
        }
        if (isInQuotes(row.metadata.title)) countAffected(this.#quotedRows, row)
        if (!this.#forMarketplace) this.#spellings.add(row)
      },
      onInvalidRow: () => {
        this.#invalidCount++
      },
      onFileWarning: (warning, isMarketplaceWarning) => {
        if (isMarketplaceWarning && this.#forMarketplace) return
        if (this.#files.length < MAX_FILE_WARNINGS) this.#files.push(warning)
      },
      onUnescaped: (place) => {
        if (this.#escapedCells === null) this.#escapedCells = { cells: 1, first: place }
        else this.#escapedCells.cells++
      },
    }
  }

  get all(): ManifestIssue[] {
    const column = /\.(?:json|jsonl|ndjson)$/i.test(this.file) ? 'field' : 'column'
    const fillImage = `Enter a URL or path in the ${column} "image" of each row.`
    return [
      ...this.#about(this.#withoutId, {
        what: 'an ID',
        why: "rows without one can't be edited after they are minted",
        hint: `Add a ${column} "id" with a different value in each row, such as 1, 2, 3, or use --map <${column}>=id to read another ${column} as id. Mint with --dynamic.`,
        fill: `Enter a different value in the ${column} "id" of each row, such as 1, 2, 3, and mint with --dynamic.`,
      }),
      ...this.#about(this.#withoutImage, {
        what: 'an image',
        why: 'marketplaces show no image',
        hint: this.#imageHint(column, fillImage),
        fill: fillImage,
      }),
      ...this.#aboutQuotes(this.#quotedRows),
      ...this.#aboutEscaped(),
      ...this.#spellings.warnings(this.file),
      ...this.#files,
    ]
  }

  #imageHint(column: string, fill: string): string {
    if (this.#imageColumn !== null) {
      return `The ${column} ${quoted(this.#imageColumn)} seems to contain images: add ${mapFlag(this.#imageColumn, 'image')}.`
    }
    if (this.#hasImageColumn) return fill
    return `Add a ${column} "image", or use --map <${column}>=image to read another ${column} as image.`
  }

  /** @param fill the hint if other rows have a value */
  #about(
    { rows, first }: AffectedRows,
    { what, why, hint, fill }: Record<'what' | 'why' | 'hint' | 'fill', string>,
  ): ManifestIssue[] {
    if (rows === 0) return []
    const isAll = rows === this.#rowCount
    const place = { file: this.file, line: isAll ? undefined : first }
    // Rows with errors aren't checked, so the message counts only valid rows.
    const valid = this.#invalidCount > 0 ? 'valid ' : ''
    const who = isAll
      ? `no ${valid}row has ${what}`
      : `${rows} of ${this.#rowCount} ${valid}rows ${rows === 1 ? 'has' : 'have'} no ${what.replace(/^an /, '')}`
    return [{ place, message: `${who}: ${why}`, hint: isAll ? hint : fill }]
  }

  #aboutQuotes({ rows, first: line }: AffectedRows): ManifestIssue[] {
    if (rows === 0) return []
    const whose = rows === 1 ? 'the title is' : `the titles of ${rows} rows are`
    return [
      {
        place: { file: this.file, line, field: 'title' },
        message: `${whose} in quotes, which become part of the NFT`,
        hint: 'Remove the quotes, unless they are part of the title.',
      },
    ]
  }

  #aboutEscaped(): ManifestIssue[] {
    if (this.#escapedCells === null) return []
    const { cells, first: place } = this.#escapedCells
    const message =
      cells === 1
        ? "has a ' before a formula: gdn removes the '"
        : `${cells} cells have a ' before a formula: gdn removes the '`
    return [{ place, message, hint: "To keep the ', write it twice." }]
  }
}

/** Maximum number of spellings to compare, and of warnings about them. */
const MAX_SPELLINGS = 100_000
const MAX_SPELLING_WARNINGS = 20

/** Finds traits and values that differ only in case. Marketplaces show them as different traits or values. */
class Spellings {
  readonly #firstSpellings = new Map<string, { text: string; line: number }>()
  readonly #warnings = new Map<string, ManifestIssue>()

  add({ line, metadata }: ManifestRow): void {
    for (const { tag, value } of metadata.attribute ?? []) {
      const isSameTag = this.#compare('trait', tag, { line, tag })
      if (isSameTag && typeof value === 'string') this.#compare('value', value, { line, tag })
    }
  }

  /** Returns whether a text has the same spelling as its first occurrence. */
  #compare(kind: 'trait' | 'value', text: string, { line, tag }: { line: number; tag: string }): boolean {
    const key = kind === 'trait' ? tag.toLowerCase() : `${tag}\0${text.toLowerCase()}`
    const first = this.#firstSpellings.get(key)
    if (first === undefined && this.#firstSpellings.size < MAX_SPELLINGS) this.#firstSpellings.set(key, { text, line })
    if (first === undefined || first.text === text) return true
    const of = kind === 'trait' ? '' : ` of ${quoted(tag)}`
    const where = first.line === line ? '' : ` on line ${first.line}`
    const message = `the ${kind} ${quoted(text)}${of} differs only in case from ${quoted(first.text)}${where}`
    const spelling = `${key}\0${text}`
    if (!this.#warnings.has(spelling) && this.#warnings.size < MAX_SPELLING_WARNINGS) {
      this.#warnings.set(spelling, {
        place: { line },
        message,
        hint: 'Use one spelling. Otherwise, marketplaces show both.',
      })
    }
    return false
  }

  warnings(file: string): ManifestIssue[] {
    return [...this.#warnings.values()].map(({ place, ...rest }) => ({ place: { file, ...place }, ...rest }))
  }
}

function countAffected(missing: AffectedRows, { line }: ManifestRow): void {
  if (missing.rows++ === 0) missing.first = line
}

/**
 * Returns the name of the attribute or extra column whose value in the row looks like the URL or path of an image, or
 * null.
 */
function imageColumnOf({ metadata }: ManifestRow, columns: readonly (Column | undefined)[] | null): string | null {
  for (const column of columns ?? []) {
    if (column?.role.kind !== 'attr' && column?.role.kind !== 'extra') continue
    const { kind, key } = column.role
    const value = kind === 'extra' ? metadata[key] : metadata.attribute?.find(({ tag }) => tag === key)?.value
    if (typeof value === 'string' && looksLikeImage(value)) return column.name
  }
  return null
}

const hasImage = ({ metadata }: ManifestRow): boolean =>
  metadata.file_fields.some(({ key }) => IMAGE_KEYS.includes(key)) ||
  IMAGE_KEYS.some((key) => typeof metadata[key] === 'string')
