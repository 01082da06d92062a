/**
 * Returns the result of `work`, or throws the signal's reason as soon as the signal is aborted. Use this function for
 * work that can't be canceled. After an abort, the work continues, but its result is ignored.
 */
export async function rejectOnAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // If the work fails after an abort, don't report an unhandled rejection.
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
