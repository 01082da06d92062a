/** Creates a pool for the tasks of a step, which run while its turns go on: at most `atOnce` of them. */
export function createTaskPool(atOnce: number) {
  const tasks = new Set<Promise<void>>()
  const stopping = new AbortController()
  return {
    /** Aborted when the step stops. */
    signal: stopping.signal,

    /** Returns how many more tasks can start. */
    free: () => atOnce - tasks.size,

    /** Adds a task, which handles its own errors. */
    add(task: Promise<void>, onEnd = () => {}): void {
      const ended = task.finally(() => {
        tasks.delete(ended)
        onEnd()
      })
      tasks.add(ended)
    },

    /** Resolves when no task runs. */
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.allSettled(tasks)
    },
  }
}
