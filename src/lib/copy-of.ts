/**
 * Copies a request when a function is called, so that the caller may change and reuse its object while the call runs.
 * Fields that are undefined are left out, as in JSON.
 */
export function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as Value
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(fields.map(([key, field]) => [key, copyOf(field)])) as Value
}
