/** Parses JSON. Returns undefined for text that isn't JSON and for bytes that aren't UTF-8. */
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

/** Returns whether a value is an object, and not a list. */
export const isRecord = (value: unknown): value is Record<string, unknown> => isObject(value) && !Array.isArray(value)
