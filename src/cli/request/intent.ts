import { isDeepStrictEqual } from 'node:util'
import { GdnError } from '../../core/errors.ts'
import { isRecord } from '../../core/json.ts'
import type { Intent } from '../deps.ts'
import { safe } from '../io/io.ts'

const MAX_VALUE_CHARACTERS = 80

interface Difference {
  path: string
  before: unknown
  after: unknown
}

interface RefusalOptions {
  isBegun: boolean
  hint: string
  without?: string | undefined
}

/**
 * Refuses an intent that differs from the one that was shown.
 *
 * @param isBegun whether parts of the intent may already be done. They may be missing from `currentIntent`.
 * @param hint how the user can continue
 * @param without the reason why a shown part may be missing from `currentIntent`
 * @throws GdnError `refused`. The error names the first difference.
 */
export function refuseChanged(
  shownIntent: Intent,
  currentIntent: Intent,
  { isBegun, hint, without }: RefusalOptions,
): void {
  // The shown intent was stored as JSON, which can't contain undefined fields.
  const present = JSON.parse(JSON.stringify(currentIntent)) as Intent
  const names = Object.keys({ ...present, ...(isBegun ? {} : shownIntent) })
  for (const name of names) {
    const difference = findDifference(shownIntent[name], present[name], '')
    if (difference !== null)
      throw new GdnError('refused', safe(`${name}: ${formatDifference(difference, without)}`), { hint })
  }
}

/** Returns the first difference, at the deepest path that both values have. */
function findDifference(before: unknown, after: unknown, path: string): Difference | null {
  if (isDeepStrictEqual(before, after)) return null
  if (isRecord(before) && isRecord(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const difference = findDifference(before[name], after[name], path === '' ? name : `${path}.${name}`)
      if (difference !== null) return difference
    }
  }
  return { path, before, after }
}

function formatDifference(
  { path, before, after }: Difference,
  without = 'no longer needs the change that was shown',
): string {
  if (path === '') return before === undefined ? 'would also change, but was not shown' : without
  const [old, present] = [formatValue(before), formatValue(after)]
  return old === null || present === null
    ? `${path} changed after it was shown`
    : `${path} changed from ${old} to ${present} after it was shown`
}

/** Formats a value for an error; null if the value is too long. */
function formatValue(value: unknown): string | null {
  const text =
    value === undefined || value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE_CHARACTERS ? null : text
}
