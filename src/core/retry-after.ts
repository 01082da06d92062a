/** How long `Retry-After` asks to wait, in milliseconds: seconds or a date. Null where it doesn't say. */
export function parseRetryAfter(header: string | undefined, wallClock: number): number | null {
  const value = header?.trim()
  if (value === undefined || value === '') return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - wallClock)
}
