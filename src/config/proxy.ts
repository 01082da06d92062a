import { isLoopback } from './server.ts'

/** Proxies by scheme of the target, and hosts without a proxy. Empty text for none. */
export interface Proxies {
  httpProxy: string
  httpsProxy: string
  noProxy: string
}

/** Reads the proxy variables. Tools write them in either case. Lower case takes precedence, as in curl. */
export function proxyOf(env: NodeJS.ProcessEnv): Proxies | undefined {
  const either = (name: string) => env[name.toLowerCase()] || env[name] || ''
  const [httpProxy, httpsProxy, noProxy] = [either('HTTP_PROXY'), either('HTTPS_PROXY'), either('NO_PROXY')]
  return httpProxy === '' && httpsProxy === '' ? undefined : { httpProxy, httpsProxy, noProxy }
}

/** Returns the proxies for requests to a URL: none if it is on this machine. */
export const proxyFor = (url: string, env: NodeJS.ProcessEnv): Proxies | undefined =>
  isLoopback(url) ? undefined : proxyOf(env)
