import { flagError } from '../../../../core/errors.ts'
import { quoted } from '../../../../core/quoted.ts'
import type { Parse } from '../../../command.ts'

/** Parses a time such as `2026-11-01T00:00Z`, or a date, which begins at midnight in UTC, to milliseconds. */
export const blockTime: Parse<number> = (raw, flag) => {
  const match = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2})?Z)?$/.exec(raw)
  const midnight = Date.parse(`${match?.[1]}T00:00:00Z`)
  const at = raw.includes('T') ? Date.parse(raw) : midnight
  // JavaScript either rejects February 30 or reads it as a day in March.
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(match?.[1] ?? '-')
  if (isDay && !Number.isNaN(at)) return at
  throw flagError(flag, `must be a time in UTC such as 2026-11-01T00:00Z, not ${quoted(raw)}`)
}
