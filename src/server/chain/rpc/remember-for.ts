/**
 * Returns a function that caches the result of `ask` for `freshMs` milliseconds. Concurrent calls share one request. A
 * failed request isn't cached.
 *
 * @param now returns the milliseconds of any clock
 */
export function rememberFor<Value>(
  freshMs: number,
  ask: () => Promise<Value>,
  now: () => number = () => performance.now(),
): () => Promise<Value> {
  let last: { at: number; value: Promise<Value> } | null = null
  return () => {
    if (last === null || now() < last.at || now() - last.at >= freshMs) {
      const entry = { at: now(), value: ask() }
      last = entry
      entry.value.catch(() => {
        if (last === entry) last = null
      })
    }
    return last.value
  }
}
