/** What a row is known by: `id:` and its id, or `row:` and its content with the number of the copy. */
export type RowKey = string

/** The key of a row with this id, or, without one, of the so-manieth of this content: `…`, `…#2`, `…#3`. */
export function rowKey(id: string | null, content: string, copy = 1): RowKey {
  if (id !== null) return `id:${id}`
  return copy === 1 ? `row:${content}` : `row:${content}#${copy}`
}

/** Whether the key says the content: a row of another content has another one. */
export function isContentKey(key: RowKey): boolean {
  return key.startsWith('row:')
}

/** The key as people and results see it. */
export function shownKey(key: RowKey): string {
  return key.slice(key.indexOf(':') + 1)
}
