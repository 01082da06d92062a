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

/**
 * What keeps a text from being the address of an API, to which paths are appended; null where nothing does.
 * The address is shown in messages, so it holds no user name or password.
 */
export function apiAddressProblem(text: string): string | null {
  const url = parseUrl(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an http or https URL'
  if (hasUserInfo(url)) return 'must not hold a name or a password: others may read it in messages'
  return url.search !== '' || url.hash !== '' ? 'must be without ? and #' : null
}
