import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import type { DataRecord } from './cells.ts'
import { heading } from './heading.ts'
import type { View } from './view.ts'

/**
 * Returns the fields that `--fields` selects, as the API names them. A field is one of the record, a column of the
 * table, of any width, by its name or heading, or a path such as `request_metadata.title`.
 *
 * @throws GdnError `usage`
 */
export function fieldsOf(given: readonly string[], view: View): readonly string[] {
  const known = [...new Set([...view.fields, ...view.columns, ...(view.more ?? [])])]
  return given.map((field) => {
    const dot = field.indexOf('.')
    const [name, path] = dot < 1 ? [field, ''] : [field.slice(0, dot), field.slice(dot)]
    const found = known.includes(name)
      ? name
      : [...view.columns, ...known].find((column) => slug(column) === name.toLowerCase())
    if (found !== undefined) return found + path
    const near = nearest(name, known)
    const guess = near === undefined ? '' : `Did you mean ${near}${path}?\n`
    throw new GdnError('usage', `unknown field "${field}"`, {
      place: { flag: '--fields' },
      hint: `${guess}The fields are ${known.join(', ')}.`,
    })
  })
}

/** The heading of a column as one word. */
const slug = (column: string): string => heading(column).replaceAll(' ', '_').toLowerCase()

/** Returns the selected fields of a record. A field without a value is undefined. */
export function selectFrom(record: DataRecord, fields: readonly string[]): DataRecord {
  return Object.fromEntries(fields.map((field) => [field, valueAt(record, field.split('.'))]))
}

/** Returns the value at a path through objects and, by position, lists. */
function valueAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined
  return valueAt((value as DataRecord)[key], rest)
}
