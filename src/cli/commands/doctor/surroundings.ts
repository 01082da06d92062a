import { access, constants } from 'node:fs/promises'
import { OWN_VARIABLES } from '../../../config/environment.ts'
import { nearest } from '../../../core/nearest.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { proxyOf } from '../../connect/connect.ts'
import { isSet } from '../../io/io.ts'
import { type Finding, ok, warn } from './finding.ts'

const VARIABLES = OWN_VARIABLES.map(({ name }) => name)

/** The program that runs gdn. An old one doesn't get as far as here. */
export function checkNode(): Finding {
  return ok('Node.js', `${process.version} on ${process.platform} ${process.arch}`)
}

/** A variable that is misspelt is passed over in silence by every other command. */
export function checkEnvironment(env: NodeJS.ProcessEnv): Finding {
  const set = Object.keys(env).filter((name) => name.startsWith('GDN_') && env[name] !== '')
  for (const name of set) {
    if (VARIABLES.includes(name)) continue
    const near = nearest(name, VARIABLES)
    if (near !== undefined) return warn('environment', `${name} means nothing to gdn`, `did you mean ${near}?`)
  }
  const known = set.filter((name) => VARIABLES.includes(name))
  return ok('environment', known.length === 0 ? 'no variable of gdn is set' : `${known.join(', ')} set`)
}

/** Proxies and certificates: what stands between this machine and a server. */
export async function checkNetworkSettings(env: NodeJS.ProcessEnv): Promise<Finding> {
  const check = 'proxy and TLS'
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    return warn(
      check,
      'NODE_TLS_REJECT_UNAUTHORIZED=0: any server could pose as yours, and would be given the API key',
      'unset it; a private authority goes into NODE_EXTRA_CA_CERTS',
    )
  }
  const authority = env.NODE_EXTRA_CA_CERTS
  if (authority !== undefined && authority !== '' && !(await isReadable(authority))) {
    return warn(check, `NODE_EXTRA_CA_CERTS names ${authority}, which can't be read`, 'name a PEM file, or unset it')
  }
  const proxies = proxyOf(env) ?? {}
  for (const [name, proxy] of Object.entries({ HTTP_PROXY: proxies.httpProxy, HTTPS_PROXY: proxies.httpsProxy })) {
    if (proxy !== undefined && !isProxyUrl(proxy)) {
      return warn(check, `${name} is no URL of a proxy`, 'give one such as http://proxy.example.com:3128')
    }
  }
  const parts = [
    proxies.httpsProxy === undefined ? 'no proxy for https' : `https goes through ${hostOf(proxies.httpsProxy)}`,
    ...(isSet(authority) ? ['NODE_EXTRA_CA_CERTS is trusted too'] : []),
  ]
  return ok(check, parts.join('; '))
}

const isProxyUrl = (text: string) => /^https?:$/.test(parseUrl(text)?.protocol ?? '')

/** A proxy's URL may hold a password. */
const hostOf = (url: string) => new URL(url).host

async function isReadable(path: string): Promise<boolean> {
  return await access(path, constants.R_OK).then(
    () => true,
    () => false,
  )
}
