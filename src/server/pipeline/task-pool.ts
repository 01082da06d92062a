/**
 * Creates a pool for a step's background tasks, which continue between its turns. The step must not add more tasks than
 * `free()` returns.
 */
export function createTaskPool(maxConcurrent: number) {
  const tasks = new Set<Promise<void>>()
  const stopping = new AbortController()
  return {
    /** Signal that is aborted when the step stops. */
    signal: stopping.signal,

    /** Returns how many more tasks can start. */
    free: () => maxConcurrent - tasks.size,

    /** Adds a task. The task must handle its own errors. */
    add(task: Promise<void>, onEnd = () => {}): void {
      const ended = task.finally(() => {
        tasks.delete(ended)
        onEnd()
      })
      tasks.add(ended)
    },

    /** Aborts `signal` and resolves when no task is running. */
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.allSettled(tasks)
    },
  }
}
