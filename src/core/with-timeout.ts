/**
 * Returns the result of a promise, or null if it isn't settled after `ms` milliseconds. The work of the promise then
 * continues, but its result is ignored.
 */
export async function withTimeout<Value>(promise: Promise<Value>, ms: number): Promise<Value | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null)
  })
  promise.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
