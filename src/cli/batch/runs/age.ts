const AGE_UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const

/** Formats an age coarsely, such as `5 min ago`. Returns `now` for less than a minute, and an empty string for NaN. */
export function formatAge(ms: number): string {
  for (const [unit, name] of AGE_UNITS) if (ms >= unit) return `${Math.floor(ms / unit)} ${name} ago`
  return Number.isNaN(ms) ? '' : 'now'
}
