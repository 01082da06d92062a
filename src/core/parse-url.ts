/**
 * Parses a URL, or returns null for invalid text. `URL.canParse` can't be used: in Node.js 20, it misjudges URLs with
 * Latin-1 letters after many calls.
 */
export function parseUrl(text: string, base?: URL): URL | null {
  // Creating the error takes 0.1 ms, and each command reads variables that are mostly unset.
  if (text === '' && base === undefined) return null
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

/** The pattern of an http or https URL for JSON Schema. */
export const WEB_URL_PATTERN = '^ *[hH][tT]{2}[pP][sS]?:'

/** Returns whether a URL has a user name or password, which would be stored, shown and sent in unexpected places. */
export function hasUserInfo({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}

/** Returns whether requests to a URL stay on this machine, so that they need no encryption. */
export const isOnLoopback = ({ hostname }: URL): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)

/**
 * Returns why a text can't be the base URL of an API; null if it can. The URL must not have a user name or password,
 * because messages show it.
 */
export function apiAddressProblem(text: string): string | null {
  const url = parseUrl(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an http or https URL'
  if (hasUserInfo(url)) return 'must not have a user name or password, because messages show the URL'
  return url.search !== '' || url.hash !== '' ? 'must not have a query or a fragment' : null
}
