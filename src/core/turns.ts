const waiting: (() => void)[] = []

function next(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(next)
}

/**
 * Resolves in a turn of the event loop in which no other caller resumes. Call this function before each piece of work
 * that takes milliseconds, so that the process can read requests and answer short ones between two pieces.
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(next)
  })
}
