import { access, constants } from 'node:fs/promises'
import { ENVIRONMENT_VARIABLES } from '../../../config/environment.ts'
import { readProxies } from '../../../config/proxy.ts'
import { nearest } from '../../../core/nearest.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { isSet } from '../../io/io.ts'
import { type Finding, ok, warn } from './finding.ts'

const VARIABLE_NAMES = ENVIRONMENT_VARIABLES.map(({ name }) => name)

/** Reports the version of Node.js. The status is always ok, because gdn doesn't start on an unsupported version. */
export function checkNode(): Finding {
  return ok('Node.js', `${process.version} on ${process.platform} ${process.arch}`)
}

/** Reports a misspelled environment variable, which all other commands silently ignore. */
export function checkEnvironment(env: NodeJS.ProcessEnv): Finding {
  const set = Object.keys(env).filter((name) => name.startsWith('GDN_') && env[name] !== '')
  for (const name of set) {
    if (VARIABLE_NAMES.includes(name)) continue
    const near = nearest(name, VARIABLE_NAMES)
    if (near !== undefined)
      return warn('environment', `${name} is not a gdn environment variable`, `Did you mean ${near}?`)
  }
  const knownNames = set.filter((name) => VARIABLE_NAMES.includes(name))
  return ok(
    'environment',
    knownNames.length === 0 ? 'no gdn environment variable is set' : `set: ${knownNames.join(', ')}`,
  )
}

/** Checks the proxy and certificate settings. */
export async function checkNetworkSettings(env: NodeJS.ProcessEnv): Promise<Finding> {
  const check = 'proxy and TLS'
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    return warn(
      check,
      'NODE_TLS_REJECT_UNAUTHORIZED=0: any server can impersonate yours and receive the API key',
      'Unset the variable. Use NODE_EXTRA_CA_CERTS for a private certificate authority.',
    )
  }
  const authority = env.NODE_EXTRA_CA_CERTS
  if (authority !== undefined && authority !== '' && !(await isReadable(authority))) {
    return warn(
      check,
      `the file in NODE_EXTRA_CA_CERTS can't be read: ${authority}`,
      'Set the variable to the path of a PEM file, or unset it.',
    )
  }
  const { httpProxy = '', httpsProxy = '' } = readProxies(env) ?? {}
  for (const [name, proxy] of Object.entries({ HTTP_PROXY: httpProxy, HTTPS_PROXY: httpsProxy })) {
    if (proxy !== '' && !isProxyUrl(proxy)) {
      return warn(check, `${name} is not the URL of a proxy`, 'Use a URL such as http://proxy.example.com:3128.')
    }
  }
  const parts = [
    httpsProxy === '' ? 'no proxy for https' : `proxy for https: ${toHost(httpsProxy)}`,
    ...(isSet(authority) ? ['the certificates in NODE_EXTRA_CA_CERTS are trusted too'] : []),
  ]
  return ok(check, parts.join('; '))
}

const isProxyUrl = (text: string) => /^https?:$/.test(parseUrl(text)?.protocol ?? '')

/** Returns only the host of a proxy URL, because the URL may contain a password. */
const toHost = (url: string) => new URL(url).host

async function isReadable(path: string): Promise<boolean> {
  return await access(path, constants.R_OK).then(
    () => true,
    () => false,
  )
}
