/** Of a database that is reached by a network each answer takes its time; one in the process answers at once anyway. */
const AT_ONCE = 8

/** Does the work for each item, for several at once. All of it is over when this resolves, or rejects with the first failure. */
export async function someAtOnce<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values()
  const failures: unknown[] = []
  const one = async () => {
    for (const item of left) await work(item).catch((error) => failures.push(error))
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, one))
  if (failures.length > 0) throw failures[0]
}
