/**
 * Returns canonical JSON (RFC 8785), which has no white space and whose keys are sorted by code units. Two values are
 * equal if and only if their canonical JSON is equal. Like JSON.stringify, the function omits `undefined` members.
 *
 * @example
 * canonicalJson({ b: [1], a: 'x' }) // '{"a":"x","b":[1]}'
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  // Don't build an object with sorted keys, because JavaScript enumerates keys such as "9" and "10" first, in numeric
  // order.
  const members: string[] = []
  for (const [key, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`)
  }
  return `{${members.join(',')}}`
}
