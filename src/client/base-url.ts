import { GdnError } from '../core/errors.ts'
import { isLoopbackUrl, parseUrl, trimSlashes } from '../core/parse-url.ts'
import type { Secret } from '../core/secret.ts'

/**
 * Validates the base URL of a server, and returns it without a trailing slash. A path is permitted. HTTP is permitted
 * only if the server is on loopback, there is no key, or `allowHttp` is set, so that a key isn't sent over a network in
 * clear text.
 *
 * @throws GdnError `invalid_config`
 */
export function parseBaseUrl(baseUrl: string, { hasKey, allowHttp }: { hasKey: boolean; allowHttp: boolean }): string {
  const invalidUrlError = (message: string, hint: string) => new GdnError('invalid_config', message, { hint })
  const url = parseUrl(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalidUrlError(`"${baseUrl}" is not the URL of a server`, 'Use a URL that begins with https://.')
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidUrlError(
      'the base URL has a user name or password',
      'Remove the user name and password. Requests contain the API key instead.',
    )
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalidUrlError(
      `the base URL ${url.origin}${url.pathname} has a query or a fragment`,
      'Remove the query and the fragment.',
    )
  }
  if (trimSlashes(url.pathname).endsWith('/api/v1')) {
    throw invalidUrlError('the base URL ends with /api/v1', 'Remove /api/v1. gdn adds the path of each endpoint.')
  }
  if (url.protocol === 'http:' && hasKey && !allowHttp && !isLoopbackUrl(url)) {
    throw invalidUrlError(`the API key would be sent to ${url.host} in clear text`, 'Use https://.')
  }
  return url.origin + trimSlashes(url.pathname)
}

/**
 * Checks that a key is valid as a header value.
 *
 * @throws GdnError `invalid_config` if the key isn't valid as a header value
 */
export function checkKey(apiKey: Secret | null): void {
  if (apiKey === null || /^[\x21-\x7e]{1,4096}$/.test(apiKey.reveal())) return
  throw new GdnError('invalid_config', 'the API key is empty, too long, or has invalid characters', {
    hint: 'Copy the API key again, without spaces or line breaks.',
  })
}
