/** Matches a UTC time of the API (`2026-01-31 12:00:00`) or of a local record (`2026-01-31T12:00:00.000Z`). */
const INSTANT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d+)?)Z?$/

const twoDigits = (number: number) => String(number).padStart(2, '0')

/** Formats a time in the local time zone, which TZ overrides, and appends the short name of the zone. */
export function formatLocalTime(ms: number, to: 'minute' | 'second' = 'second'): string {
  const at = new Date(ms)
  const day = [String(at.getFullYear()).padStart(4, '0'), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join(
    '-',
  )
  const seconds = to === 'second' ? `:${twoDigits(at.getSeconds())}` : ''
  return `${day} ${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}${seconds} ${formatTimeZone(at)}`
}

/** Converts a UTC time to the format of `formatLocalTime`. Returns any other text unchanged. */
export function formatTextAsLocalTime(text: string, to?: 'minute' | 'second'): string {
  const [, day, time] = INSTANT.exec(text) ?? []
  const ms = Date.parse(`${day}T${time}Z`)
  return Number.isNaN(ms) ? text : formatLocalTime(ms, to)
}

/**
 * Returns the short name of the time zone. Each locale names only some zones and formats others as GMT+2, so this
 * function tries several locales. An unknown or empty TZ means UTC, which ICU calls GMT+0.
 */
function formatTimeZone(at: Date): string {
  const names = ['en-US', 'en-GB', 'en-AU'].map((locale) => {
    const parts = new Intl.DateTimeFormat(locale, { timeZoneName: 'short' }).formatToParts(at)
    return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  })
  const name = names.find((candidate) => !/^GMT.|^UTC./.test(candidate)) ?? names[0] ?? ''
  return name === 'GMT+0' ? 'UTC' : name
}
