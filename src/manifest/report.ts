import type { Place } from '../core/errors.ts'
import type { Column } from './columns.ts'
import type { ManifestIssue } from './row.ts'

const MAX_ISSUES_PER_ROW = 20

/**
 * Returns the message for a name such as `@alice` that has no address. Most such messages continue the name of the
 * field.
 */
export const nameMessage = (field: string, { message }: { message: string }): string =>
  message.startsWith('@') ? `${field} ${message}` : message

/** Collects the problems of one row. Each has a column, or a field without a column. */
export class RowReport {
  readonly issues: ManifestIssue[] = []
  /** The line on which the row begins. */
  line = 1
  readonly #file: string
  readonly #kinds: Set<string>

  /** @param reported columns whose problems were already reported */
  constructor(file: string, reported: ReadonlySet<string>) {
    this.#file = file
    this.#kinds = new Set(reported)
  }

  /** Returns whether this column or field, or a column with this meaning, has a problem. */
  has(name: string): boolean {
    return this.#kinds.has(name) || this.issues.some(({ place }) => place.field === name)
  }

  placeOf(at: Column | string | null): Place {
    const place: Place = { file: this.#file, line: this.line }
    if (typeof at === 'string') {
      if (at !== '') place.field = at
    } else if (at !== null) {
      if (at.position !== undefined) place.column = at.position
      place.field = at.name
    }
    return place
  }

  add(at: Column | string | null, message: string, hint?: string): void {
    if (this.issues.length >= MAX_ISSUES_PER_ROW) return
    if (at !== null && typeof at !== 'string') this.#kinds.add(at.role.kind)
    this.issues.push({ place: this.placeOf(at), message, hint })
  }
}
