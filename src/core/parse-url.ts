/**
 * Parses a URL. Returns null if the text isn't a valid URL. Doesn't use `URL.canParse`, because after many calls in
 * Node.js 20, it returns wrong results for URLs with Latin-1 letters.
 */
export function parseUrl(text: string, base?: URL): URL | null {
  // Skip the parser for empty text, because creating its error takes 0.1 ms, and each command reads variables that are
  // mostly unset.
  if (text === '' && base === undefined) return null
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

/** Removes the slashes at the end of a URL or path. */
export const trimSlashes = (url: string): string => url.replace(/\/+$/, '')

/** The pattern of an http or https URL for JSON Schema. */
export const WEB_URL_PATTERN = '^ *[hH][tT]{2}[pP][sS]?:'

/**
 * Returns whether a URL contains a user name or password, which would be stored, shown and sent in unexpected places.
 */
export function hasUserInfo({ username, password }: URL): boolean {
  return username !== '' || password !== ''
}

/** Returns whether requests to a URL stay on this machine and therefore need no encryption and no proxy. */
export const isOnLoopback = ({ hostname }: URL): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)

/**
 * Returns whether a URL leads to this machine, including names such as `gdn.localhost`, which browsers resolve to this
 * machine.
 */
export const isLoopbackUrl = (url: URL): boolean => isOnLoopback(url) || url.hostname.endsWith('.localhost')

/**
 * Returns why a text can't be the base URL of an API; null if it can. The URL must not contain a user name or password,
 * because messages contain the URL.
 */
export function apiAddressProblem(text: string): string | null {
  const url = parseUrl(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an http or https URL'
  if (hasUserInfo(url)) return 'must not have a user name or password, because messages show the URL'
  return url.search !== '' || url.hash !== '' ? 'must not have a query or a fragment' : null
}
