/**
 * A URL, or null for text that is none. In place of `URL.canParse`, which in Node 20 takes valid URLs for invalid and
 * the reverse where they hold Latin-1 letters, once it was called often.
 */
export function parseUrl(text: string, base?: URL): URL | null {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

/** Credentials in an address: they would be kept, shown and sent where nobody expects them. */
export function hasUserInfo({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}
