const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const

/** Formats an age coarsely: `5 min ago`, `3 d ago`, or `now` if the clock was set back. */
export function age(ms: number): string {
  for (const [unit, name] of UNITS) if (ms >= unit) return `${Math.floor(ms / unit)} ${name} ago`
  return Number.isNaN(ms) ? '' : 'now'
}
