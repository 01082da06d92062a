const queue: (() => void)[] = []

function runNext(): void {
  queue.shift()?.()
  if (queue.length > 0) setImmediate(runNext)
}

/**
 * Resolves in a turn of the event loop in which no other caller resumes. Call this function before each piece of work
 * that takes milliseconds, so that the process can read requests and answer short ones between two pieces.
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    queue.push(resolve)
    if (queue.length === 1) setImmediate(runNext)
  })
}
