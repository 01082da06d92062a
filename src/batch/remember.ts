/** Reads by number, and remembers the last few that were read: rows of one request mostly come by together. */
export function remember<Value>(most: number, read: (n: number) => Promise<Value>): (n: number) => Promise<Value> {
  const kept = new Map<number, Value>()
  return async (n) => {
    const known = kept.get(n)
    if (known !== undefined) return known
    const value = await read(n)
    const oldest = kept.keys().next()
    if (kept.size >= most && oldest.done === false) kept.delete(oldest.value)
    kept.set(n, value)
    return value
  }
}
