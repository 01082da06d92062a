/**
 * Returns the result of work, or throws the signal's reason as soon as it is aborted. For work that can't be canceled:
 * it continues, and its result is ignored.
 */
export async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // After an abort, the result of the work is ignored.
  work.catch(() => {})
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
