import { flagError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { heading } from './heading.ts'
import type { DataRecord, View } from './view.ts'

/**
 * Resolves the fields in `--fields` to the API's names. A field can be a field of the record, the name or heading of a
 * table column, or a path such as `request_metadata.title` or `request_metadata.attribute[0]`.
 *
 * @throws GdnError `usage` if a field is unknown
 */
export function resolveFields(fieldNames: readonly string[], view: View): readonly string[] {
  const knownFields = [...view.fields, ...view.columns, ...(view.more ?? [])]
  return fieldNames.map((field) => {
    const [, name = field, path = ''] = /^([^.[]+)([.[].*)$/.exec(field) ?? []
    const match = knownFields.includes(name)
      ? name
      : [...view.columns, ...knownFields].find((column) => slug(column) === name.toLowerCase())
    if (match !== undefined) return match + path
    const names = [...new Set([...knownFields, ...view.columns.map(slug)])]
    const near = nearest(name, names)
    const guess = near === undefined ? '' : `Did you mean ${near}${path}?\n`
    throw flagError('--fields', `unknown field "${field}"`, `${guess}The fields are ${names.join(', ')}.`)
  })
}

/** Returns the heading of a column as a single word. */
const slug = (column: string): string => heading(column).replaceAll(' ', '_').toLowerCase()

/** Returns the selected fields of a record. Missing fields are undefined. */
export function selectRecordFields(record: DataRecord, fields: readonly string[]): DataRecord {
  return Object.fromEntries(fields.map((field) => [field, readPath(record, splitPath(field))]))
}

/** Splits a path into keys. For example, `a[0].b` becomes `a`, `0`, `b`. */
const splitPath = (field: string): string[] => field.replaceAll(/\[(\d+)\]/g, '.$1').split('.')

/** Returns the value at a path; undefined if there is none. */
function readPath(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined
  return readPath((value as DataRecord)[key], rest)
}

/**
 * Finds paths that no record contains. They are valid, because metadata can have any key, but they are probably
 * misspelled.
 */
export class PathCheck {
  /** Paths that weren't found yet, each with the most similar path in the last record. */
  readonly #nearestByPath = new Map<string, string | null>()

  constructor(fields: readonly string[]) {
    for (const field of fields) if (splitPath(field).length > 1) this.#nearestByPath.set(field, null)
  }

  checkRecord(record: DataRecord): void {
    for (const field of this.#nearestByPath.keys()) {
      const near = nearestPath(record, field)
      if (near === undefined) this.#nearestByPath.delete(field)
      else this.#nearestByPath.set(field, near)
    }
  }

  /** Returns a warning for each path that no record contains. */
  warnings(): string[] {
    return [...this.#nearestByPath].flatMap(([field, near]) =>
      near === null ? [] : [`--fields: no record has ${field}${near === '' ? '' : `. Did you mean ${near}?`}`],
    )
  }
}

/**
 * Checks a path against a record. Returns undefined if the record contains the path, or null at an earlier part of it.
 * Otherwise, returns the most similar path, or '' if there is none.
 */
function nearestPath(record: DataRecord, field: string): string | undefined {
  const keys = splitPath(field)
  let value: unknown = record
  for (const [index, key] of keys.entries()) {
    if (value === null || value === undefined) return undefined
    if (typeof value !== 'object') return ''
    if (!Object.hasOwn(value, key)) {
      // A table column isn't always a field of the record.
      if (index === 0) return undefined
      const near = Array.isArray(value) ? undefined : nearest(key, Object.keys(value))
      return near === undefined ? '' : [...keys.slice(0, index), near, ...keys.slice(index + 1)].join('.')
    }
    value = (value as DataRecord)[key]
  }
  return undefined
}
