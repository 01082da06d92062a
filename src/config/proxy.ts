import { isLoopbackOrigin } from './server.ts'

/** Proxy URLs by request scheme, and the hosts that bypass the proxies. Values that aren't set are empty. */
export interface Proxies {
  httpProxy: string
  httpsProxy: string
  noProxy: string
}

/**
 * Reads the proxy variables, whose names may be in upper or lower case. Lower case takes precedence, as in curl.
 * Returns undefined if there is no proxy.
 */
export function readProxies(env: NodeJS.ProcessEnv): Proxies | undefined {
  const either = (name: string) => env[name.toLowerCase()] || env[name] || ''
  const [httpProxy, httpsProxy, noProxy] = [either('HTTP_PROXY'), either('HTTPS_PROXY'), either('NO_PROXY')]
  return httpProxy === '' && httpsProxy === '' ? undefined : { httpProxy, httpsProxy, noProxy }
}

/** Returns the proxies for requests to a URL, or undefined if the URL is on this machine. */
export const selectProxies = (url: string, env: NodeJS.ProcessEnv): Proxies | undefined =>
  isLoopbackOrigin(url) ? undefined : readProxies(env)
