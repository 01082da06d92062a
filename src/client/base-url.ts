import { GdnError } from '../core/errors.ts'
import { parseUrl } from '../core/parse-url.ts'

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Whether a URL points at this machine. */
export function isLoopback(url: URL): boolean {
  return LOOPBACK.test(url.hostname)
}

/**
 * The base URL of a server without a trailing slash, a path prefix kept. A key never travels in clear text over a
 * network: http is taken for loopback, without a key, or where `allowHttp` says so.
 */
export function parseBaseUrl(baseUrl: string, { hasKey, allowHttp }: { hasKey: boolean; allowHttp: boolean }): string {
  const invalid = (message: string, hint: string) => new GdnError('invalid_config', message, { hint })
  const url = parseUrl(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalid(`"${baseUrl}" is not the URL of a server`, 'give one that begins with https://')
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('the base URL holds a user name or password', 'leave them out; requests carry the API key instead')
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalid(`the base URL ${url.origin}${url.pathname} goes on with ? or #`, 'end it after the host or path')
  }
  if (url.protocol === 'http:' && hasKey && !allowHttp && !isLoopback(url)) {
    throw invalid(`the API key would travel to ${url.host} in clear text`, 'use https://')
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}
