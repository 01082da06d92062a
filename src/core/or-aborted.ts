/**
 * Returns the result of work, or throws the signal's reason as soon as the signal is aborted. Use it for work that
 * can't be canceled: after an abort, the work continues and its result is ignored.
 */
export async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // Handle a failure after an abort, so that it doesn't become an unhandled rejection.
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
