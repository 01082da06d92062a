/** A map with at most `most` entries. When the map is full, a new entry replaces the least recently used entry. */
export class BoundedMap<Value, Key = string> {
  readonly #entries = new Map<Key, Value>()
  readonly #maxSize: number

  constructor(most: number) {
    this.#maxSize = most
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxSize) return
      this.#entries.delete(oldest)
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
