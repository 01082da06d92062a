import { GdnError } from '../../../core/errors.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: 60 * MINUTE, d: DAY }

/**
 * Returns when a key expires, in milliseconds since the epoch. Accepts a time from now (`30d`, `12h` or `90m`), a date
 * such as `2027-01-31` (the end of that day in UTC), or a time such as `2027-01-31T12:00:00Z`.
 */
export function parseExpiry(raw: string, flag: string, now: number): number {
  const at = fromNow(raw, now) ?? atDate(raw)
  if (at === null) {
    throw new GdnError(
      'usage',
      `must be a time such as 30d, 12h or 2027-01-31, not ${JSON.stringify(raw.slice(0, 60))}`,
      {
        place: { flag },
      },
    )
  }
  if (at <= now) throw new GdnError('usage', `${raw} is in the past`, { place: { flag } })
  return at
}

function fromNow(raw: string, now: number): number | null {
  const match = /^([1-9][0-9]{0,5})([mhd])$/.exec(raw)
  const unit = UNITS[match?.[2] ?? '']
  return match === null || unit === undefined ? null : now + Number(match[1]) * unit
}

function atDate(raw: string): number | null {
  const match = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2})?Z)?$/.exec(raw)
  if (match === null) return null
  const [, day = '', time] = match
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // JavaScript either rejects February 30 or reads it as a day in March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return null
  if (time === undefined) return midnight + DAY
  const at = Date.parse(raw)
  return Number.isNaN(at) ? null : at
}
