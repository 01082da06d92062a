import { flagError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import type { DataRecord } from './cells.ts'
import { heading } from './heading.ts'
import type { View } from './view.ts'

/**
 * Returns the fields that `--fields` selects, as the API names them. A field is one of the record, a column of the
 * table, of any width, by its name or heading, or a path such as `request_metadata.title` or
 * `request_metadata.attribute[0]`.
 *
 * @throws GdnError `usage`
 */
export function fieldsOf(given: readonly string[], view: View): readonly string[] {
  const known = [...new Set([...view.fields, ...view.columns, ...(view.more ?? [])])]
  return given.map((field) => {
    const [, name = field, path = ''] = /^([^.[]+)([.[].*)$/.exec(field) ?? []
    const found = known.includes(name)
      ? name
      : [...view.columns, ...known].find((column) => slug(column) === name.toLowerCase())
    if (found !== undefined) return found + path
    const near = nearest(name, known)
    const guess = near === undefined ? '' : `Did you mean ${near}${path}?\n`
    throw flagError('--fields', `unknown field "${field}"`, `${guess}The fields are ${known.join(', ')}.`)
  })
}

/** The heading of a column as one word. */
const slug = (column: string): string => heading(column).replaceAll(' ', '_').toLowerCase()

/** Returns the selected fields of a record. A field without a value is undefined. */
export function selectFrom(record: DataRecord, fields: readonly string[]): DataRecord {
  return Object.fromEntries(fields.map((field) => [field, valueAt(record, keysOf(field))]))
}

/** Returns the keys of a path: `a[0].b` is `a.0.b`. */
const keysOf = (field: string): string[] => field.replaceAll(/\[(\d+)\]/g, '.$1').split('.')

/** Returns the value at a path through objects and, by position, lists. */
function valueAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined
  return valueAt((value as DataRecord)[key], rest)
}

/** Finds paths that no record has. They are valid, because metadata has any keys, but may be misspelled. */
export class PathCheck {
  /** The paths that no record has had, with the nearest path of the last one. */
  readonly #missing = new Map<string, string | null>()

  constructor(fields: readonly string[]) {
    for (const field of fields) if (keysOf(field).length > 1) this.#missing.set(field, null)
  }

  see(record: DataRecord): void {
    for (const field of this.#missing.keys()) {
      const near = nearestPath(record, field)
      if (near === undefined) this.#missing.delete(field)
      else this.#missing.set(field, near)
    }
  }

  /** Returns a warning for each path that no record has. */
  warnings(): string[] {
    return [...this.#missing].flatMap(([field, near]) =>
      near === null ? [] : [`--fields: no record has ${field}${near === '' ? '' : `. Did you mean ${near}?`}`],
    )
  }
}

/** Returns the nearest path of a record, or '', if it lacks a path; undefined if it has it, or has null on the way. */
function nearestPath(record: DataRecord, field: string): string | undefined {
  const keys = keysOf(field)
  let value: unknown = record
  for (const [index, key] of keys.entries()) {
    if (value === null || value === undefined) return undefined
    if (typeof value !== 'object') return ''
    if (!Object.hasOwn(value, key)) {
      // Columns of the table may be no fields of the record.
      if (index === 0) return undefined
      const near = Array.isArray(value) ? undefined : nearest(key, Object.keys(value))
      return near === undefined ? '' : [...keys.slice(0, index), near, ...keys.slice(index + 1)].join('.')
    }
    value = (value as DataRecord)[key]
  }
  return undefined
}
