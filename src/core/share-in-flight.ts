/** Wraps a function so that it runs once at a time. Concurrent callers share the result of the call in flight. */
export function shareInFlight<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let inFlight: Promise<Result> | undefined
  return () => {
    inFlight ??= work().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
