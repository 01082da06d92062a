/** Reads the proxy variables. Tools write them in either case. Lower case takes precedence, as in curl. */
export function proxyOf(
  env: NodeJS.ProcessEnv,
): { httpProxy?: string; httpsProxy?: string; noProxy?: string } | undefined {
  const either = (name: string) => env[name.toLowerCase()] || env[name] || undefined
  const httpProxy = either('HTTP_PROXY')
  const httpsProxy = either('HTTPS_PROXY')
  const noProxy = either('NO_PROXY')
  if (httpProxy === undefined && httpsProxy === undefined) return undefined
  return {
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
    ...(noProxy === undefined ? {} : { noProxy }),
  }
}
