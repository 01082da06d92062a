/**
 * Returns canonical JSON (RFC 8785): keys sorted by code units, no white space. Two values are equal exactly if these
 * strings are. Accepts what JSON accepts; `undefined` members are omitted, as by JSON.stringify.
 *
 * @example
 * canonicalJson({ b: [1], a: 'x' }) // '{"a":"x","b":[1]}'
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  // Not an object with sorted keys, because JavaScript enumerates keys such as "10" before all others, and after "9".
  const members: string[] = []
  for (const [key, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`)
  }
  return `{${members.join(',')}}`
}
