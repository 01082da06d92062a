/**
 * Returns canonical JSON (RFC 8785): keys sorted by code units, no white space. Two values are equal if and only if
 * their canonical JSON is equal. Like JSON.stringify, it omits `undefined` members.
 *
 * @example
 * canonicalJson({ b: [1], a: 'x' }) // '{"a":"x","b":[1]}'
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  // An object with sorted keys wouldn't work: JavaScript enumerates keys such as "9" and "10" first, in numeric order.
  const members: string[] = []
  for (const [key, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`)
  }
  return `{${members.join(',')}}`
}
