/** Wraps a function so that only one call is in flight at a time. Concurrent callers share the result of that call. */
export function shareInFlight<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let inFlight: Promise<Result> | undefined
  return () => {
    inFlight ??= work().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
