/** Keys that would change the prototype of an object in JavaScript. */
export const UNSAFE_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** Parses JSON. Returns undefined if the text isn't valid JSON or the bytes aren't valid UTF-8. */
export function parseJson(text: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof text === 'string' ? text : new TextDecoder('utf-8', { fatal: true }).decode(text))
  } catch {
    return undefined
  }
}

/** Returns whether a value is an object or a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object'

/** Returns whether a value is an object but not a list. */
export const isRecord = (value: unknown): value is Record<string, unknown> => isObject(value) && !Array.isArray(value)

/** Returns the value if it is an object or a list; otherwise null. */
export const asObject = (value: unknown): Record<string, unknown> | null => (isObject(value) ? value : null)

/** Parses a JSON object. Returns null for any other JSON and for invalid JSON. */
export function parseRecord(text: string): Record<string, unknown> | null {
  const json = parseJson(text)
  return isRecord(json) ? json : null
}
