/** Whether `a` is newer than `b`, for releases; whatever else a registry says is newer than nothing. */
export function isNewer(a: string, b: string): boolean {
  const [left, right] = [numbers(a), numbers(b)]
  if (left === null || right === null) return false
  for (const [i, number] of left.entries()) {
    const other = right[i] ?? 0
    if (number !== other) return number > other
  }
  return false
}

function numbers(version: string): number[] | null {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(version)
  return match === null ? null : match.slice(1).map(Number)
}
