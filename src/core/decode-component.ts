/** Decodes a percent-encoded part of a URL. Returns null if its escape sequences are malformed. */
export function tryDecodeComponent(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

/** Decodes a percent-encoded part of a URL. Returns the part unchanged if its escape sequences are malformed. */
export const decodeComponent = (part: string): string => tryDecodeComponent(part) ?? part
