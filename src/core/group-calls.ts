/**
 * Returns a function that adds an item to the next group, and resolves when `work` has processed that group. A group
 * contains the items from one turn of the event loop, or those added while `work` processed the previous group. If
 * `work` fails, all calls of the group reject.
 */
export function groupCalls<Item>(work: (items: readonly Item[]) => Promise<void>): (item: Item) => Promise<void> {
  let items: Item[] = []
  let next: Promise<void> | undefined
  let last: Promise<unknown> = Promise.resolve()

  const handle = async () => {
    await last
    await new Promise((resolve) => setImmediate(resolve))
    const group = items
    items = []
    next = undefined
    await work(group)
  }

  return (item) => {
    items.push(item)
    if (next === undefined) {
      next = handle()
      last = next.catch(() => {})
    }
    return next
  }
}
