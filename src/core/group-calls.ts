/**
 * Returns a function that adds an item to the next group, and resolves when `work` has handled that group. A group
 * contains the items that were added until the end of a turn of the event loop, or while `work` handled the previous
 * group. If `work` fails, the calls for all items of the group reject.
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
