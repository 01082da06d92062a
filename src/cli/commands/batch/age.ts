const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const

/** How long ago, coarsely: `5 min ago`, `3 d ago`. A clock that was set back makes it `now`. */
export function age(ms: number): string {
  for (const [unit, name] of UNITS) if (ms >= unit) return `${Math.floor(ms / unit)} ${name} ago`
  return Number.isNaN(ms) ? '' : 'now'
}
