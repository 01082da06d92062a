import { canonicalJson } from '../../core/canonical-json.ts'

/** The record of an ID in a response. Null if the server has no record yet. */
export type SeenRecord = { id: string; metadata: unknown } | null

/**
 * Assigns the IDs of a response to the rows of its request. IDs may be in a different order from the rows. If an ID's
 * record has the content of another row, the ID belongs to that row. Equal rows are interchangeable.
 *
 * @returns the ID of each row, or null for a row whose content no record has. Returns null instead of a list if
 *   required records are missing
 */
export function matchIds(rows: readonly unknown[], records: readonly SeenRecord[]): (string | null)[] | null {
  const rowTexts = rows.map((metadata) => canonicalJson(metadata))
  const recordTexts = records.map((record) => (record === null ? null : canonicalJson(record.metadata)))
  const ids = rows.map((_, index) => (recordTexts[index] === rowTexts[index] ? (records[index]?.id ?? null) : null))
  if (ids.every((id) => id !== null)) return ids
  if (records.some((record) => record === null)) return null
  const strays = new Map<string, string[]>()
  for (const [index, record] of records.entries()) {
    const returned = recordTexts[index]
    if (record === null || returned === null || returned === undefined || ids[index] !== null) continue
    strays.set(returned, [...(strays.get(returned) ?? []), record.id])
  }
  return ids.map((id, index) => id ?? strays.get(rowTexts[index] ?? '')?.shift() ?? null)
}
