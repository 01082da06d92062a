import { canonicalJson } from '../core/canonical-json.ts'

/** What is known of the ids of one answer: `null` where a record isn't there yet. */
export type Seen = { id: string; metadata: unknown } | null

/**
 * Which id is which row's. The order of an answer is only assumed to be that of the request: an id whose record says
 * what another row of the request says, is that row's. Equal rows are interchangeable.
 *
 * @returns the id of each row, null where no record says what the row says; or null while records are missing without
 *   which that can't be told
 */
export function matchIds(rows: readonly unknown[], seen: readonly Seen[]): (string | null)[] | null {
  const wanted = rows.map((metadata) => canonicalJson(metadata))
  const found = seen.map((record) => (record === null ? null : canonicalJson(record.metadata)))
  const ids = rows.map((_, index) => (found[index] === wanted[index] ? (seen[index]?.id ?? null) : null))
  if (ids.every((id) => id !== null)) return ids
  if (seen.some((record) => record === null)) return null
  const strays = new Map<string, string[]>()
  for (const [index, record] of seen.entries()) {
    const said = found[index]
    if (record === null || said === null || said === undefined || ids[index] !== null) continue
    strays.set(said, [...(strays.get(said) ?? []), record.id])
  }
  return ids.map((id, index) => id ?? strays.get(wanted[index] ?? '')?.shift() ?? null)
}
