import { fileUrlProblem } from '../api/file-url.ts'
import { MAX_METADATA_ITEMS, nftMetadataSchema } from '../api/metadata.ts'
import { textSchema } from '../api/text.ts'
import { type Attribute, parseTraitValue, type TraitType } from '../api/traits.ts'
import { type Validated, validate } from '../api/validate.ts'
import { quoted } from '../core/quoted.ts'
import { type Column, type ColumnTrait, MAX_ID, SHORTENED_ID } from './columns.ts'
import { HashTable } from './hash-table.ts'
import type { RowReport } from './manifest-error.ts'
import type { ManifestRow } from './row.ts'
import type { Cell } from './target.ts'

/** The IDs of a manifest's rows. Each ID identifies one row, so IDs must be unique. */
export class RowIds {
  readonly #lines = new HashTable()

  /** @param trusted whether the text is known to be well-formed and free of NUL characters */
  check({ value, column }: Cell, line: number, trusted: boolean, report: RowReport): string {
    const problem =
      value.length > MAX_ID ? `must have at most ${MAX_ID} characters` : trusted ? null : textProblem(value)
    if (problem !== null) report.add(column, `id ${problem}`)
    else if (SHORTENED_ID.test(value)) {
      const message = `id "${value}" is a number that a spreadsheet shortened, so its last digits are lost`
      report.add(column, message, 'Format the column as text, and enter the IDs again.')
    }
    const first = this.#lines.getOrAdd(value, line)
    if (first !== undefined) {
      report.add(column, `id "${value}" is already used on line ${first}`, 'Give each row its own ID.')
    }
    return value
  }
}

function textProblem(value: string): string | null {
  const checked = validate(textSchema, value)
  return checked.ok ? null : (checked.issues[0]?.message ?? null)
}

/** Returns the typed trait of a cell. Calls `onProblem` for an invalid value. */
export function parseTrait(
  tag: string,
  { type, max }: ColumnTrait,
  value: string,
  onProblem: (problem: string) => void,
): Attribute {
  const parsed = parseTraitValue(type, max, value)
  if ('problem' in parsed) onProblem(parsed.problem)
  const trait: Attribute = { tag, value: 'text' in parsed ? parsed.text : value, display_type: type }
  if (max !== undefined) trait.max_value = max
  return trait
}

const asKind = (type: TraitType | undefined) => (type === undefined ? 'text' : `a trait of the type ${type}`)

/** Checks that each attribute of a JSON manifest has the same type in all rows. */
export class TraitTypes {
  /** The type of each tag, and the line on which the tag first occurs. */
  readonly #types = new Map<string, { type: TraitType | undefined; line: number }>()

  /** @param columns null if the row is a metadata object */
  check(
    line: number,
    attributes: readonly Attribute[] | undefined,
    columns: readonly (Column | undefined)[] | null,
    report: RowReport,
  ): void {
    for (const [index, { tag, display_type: type }] of (attributes ?? []).entries()) {
      const first = this.#types.get(tag)
      if (first === undefined) this.#types.set(tag, { type, line })
      else if (first.type !== type) {
        const column = columns?.find((candidate) => candidate?.role.kind === 'attr' && candidate.role.key === tag)
        const name = column?.name ?? `attribute[${index}]`
        const message = `${name} is ${asKind(type)}, but line ${first.line} has ${quoted(tag)} as ${asKind(first.type)}`
        report.add(column ?? name, message, 'Use the same type in all rows.')
      }
    }
  }
}

type Metadata = ManifestRow['metadata']

const MAX_PLAIN_URL = 2048
const ORIGIN = /^https?:\/\/[\w.-]+(?::\d+)?\//i

/**
 * Checks metadata against the API contract. Accepts most valid metadata of CSV rows without the schema, because the
 * schema costs more than reading the row.
 */
export class ContractCheck {
  /**
   * `https://host/` of the last valid URL. Another URL with this prefix is also valid, unless its path contains white
   * space or a backslash.
   */
  #goodPrefix: string | null = null

  check(metadata: unknown): Validated<Metadata> {
    return validate(nftMetadataSchema, metadata)
  }

  /**
   * Checks metadata whose keys were checked with the header, and whose text is well-formed and free of NUL characters.
   * Checks only the number of items, the required values and the URLs. Anything unusual is left to the schema.
   */
  checkTrusted(metadata: Metadata): Validated<Metadata> {
    return this.#isPlainlyGood(metadata) ? { ok: true, value: metadata } : this.check(metadata)
  }

  #isPlainlyGood(metadata: Metadata): boolean {
    const { title, description, file_fields, attribute } = metadata
    if (title === '' || typeof title !== 'string' || typeof description !== 'string') return false
    // Each member counts as one item. For `file_fields`, each file counts instead, and `attribute` doesn't count.
    let items = file_fields.length - (attribute === undefined ? 1 : 2)
    for (const _ in metadata) items++
    if (items > MAX_METADATA_ITEMS) return false
    for (const { url } of file_fields) if (!this.#isGoodUrl(url)) return false
    return true
  }

  #isGoodUrl(url: string): boolean {
    const prefix = this.#goodPrefix
    if (prefix !== null && url.startsWith(prefix) && url.length <= MAX_PLAIN_URL && !/[\s\\]/.test(url)) return true
    if (fileUrlProblem(url) !== null) return false
    this.#goodPrefix = ORIGIN.exec(url)?.[0] ?? prefix
    return true
  }
}
