/** Decodes a percent-encoded part of a URL. Returns the part unchanged if its escape sequences are malformed. */
export function decodeComponent(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
