export function shuffleItems<Item>(items: Iterable<Item>): Item[] {
  return [...items]
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
