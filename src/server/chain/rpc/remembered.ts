/**
 * Caches a result for this many milliseconds, with one shared request. A failed request is retried.
 *
 * @param now milliseconds of any clock
 */
export function remembered<Value>(
  freshMs: number,
  ask: () => Promise<Value>,
  now: () => number = () => performance.now(),
): () => Promise<Value> {
  let last: { at: number; answer: Promise<Value> } | null = null
  return () => {
    if (last === null || now() < last.at || now() - last.at >= freshMs) {
      const asked = { at: now(), answer: ask() }
      last = asked
      asked.answer.catch(() => {
        if (last === asked) last = null
      })
    }
    return last.answer
  }
}
