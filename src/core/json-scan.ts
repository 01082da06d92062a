/**
 * A scanned JSON value, with the index after its last character, the number of members in all its objects, and its
 * nesting depth.
 */
export interface ScannedValue {
  end: number
  members: number
  depth: number
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]
const [OBJECT, OBJECT_END, LIST, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d]
const WHITE = /[\t\n\r ]*/y
const LITERAL = /[^\s,\]}:]*/y

/**
 * Finds the end of the JSON value that begins at `start`. Returns null if the text ends first. The scan only locates
 * values, so that the caller can pass them to JSON.parse one by one. JSON.parse reports errors inside a value.
 */
export function scanValue(text: string, start: number): ScannedValue | null {
  let depth = 0
  let deepest = 0
  let members = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    switch (code) {
      case QUOTE: {
        at = stringEnd(text, at)
        if (at === -1) return null
        if (depth === 0) return { end: at + 1, members, depth: deepest }
        break
      }
      case OBJECT:
      case LIST:
        depth++
        if (depth > deepest) deepest = depth
        break
      case OBJECT_END:
      case LIST_END:
        depth--
        if (depth <= 0) return { end: at + 1, members, depth: deepest }
        break
      case COLON:
        members++
        break
      default:
        if (depth === 0) {
          LITERAL.lastIndex = at
          LITERAL.exec(text)
          const end = Math.max(LITERAL.lastIndex, at + 1)
          return end < text.length ? { end, members, depth: deepest } : null
        }
    }
  }
  return null
}

/** Returns the index of the quote that closes the string beginning at `start`, or -1. */
export function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
  return -1
}

export function skipWhite(text: string, at: number): number {
  WHITE.lastIndex = at
  WHITE.exec(text)
  return WHITE.lastIndex
}

/**
 * Counts the members of all objects in a parsed value. If the JSON text of the value has more members, the text repeats
 * keys.
 */
export function countMembers(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return inner.reduce<number>((sum, member) => sum + countMembers(member), Array.isArray(value) ? 0 : inner.length)
}

/**
 * Returns the first key that is repeated within an object of valid JSON text, and its index. Returns null if no key is
 * repeated.
 */
export function repeatedKey(text: string): { key: string; index: number } | null {
  // One entry for each open object or list: the set of an object's keys so far, or null before the first key.
  const open: (Set<string> | null)[] = []
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === OBJECT || code === LIST) open.push(null)
    else if (code === OBJECT_END || code === LIST_END) open.pop()
    else if (code === QUOTE) {
      const index = at
      at = stringEnd(text, index)
      // Skip a string that no colon follows, because it is a value and not a key.
      if (text.charCodeAt(skipWhite(text, at + 1)) !== COLON) continue
      const spelled = text.slice(index + 1, at)
      const key = spelled.includes('\\') ? String(JSON.parse(`"${spelled}"`)) : spelled
      const keys = open.at(-1) ?? new Set<string>()
      if (keys.has(key)) return { key, index }
      open[open.length - 1] = keys.add(key)
    }
  }
  return null
}

/**
 * Returns the members of the object that begins at `start`, with the position of each value. The text must be valid
 * JSON.
 */
export function scanMembers(text: string, start: number): { key: string; start: number; end: number }[] {
  const members: { key: string; start: number; end: number }[] = []
  for (let at = skipWhite(text, start + 1); text[at] === '"'; ) {
    const keyEnd = stringEnd(text, at) + 1
    const valueStart = skipWhite(text, skipWhite(text, keyEnd) + 1)
    const value = scanValue(text, valueStart)
    if (value === null) break
    members.push({ key: String(JSON.parse(text.slice(at, keyEnd))), start: valueStart, end: value.end })
    const next = skipWhite(text, value.end)
    at = text[next] === ',' ? skipWhite(text, next + 1) : text.length
  }
  return members
}
