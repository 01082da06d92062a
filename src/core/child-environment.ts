/**
 * What a program of ours needs of an environment: where things are, how to speak, whom to trust. Whatever else a user
 * or a CI has put there (tokens, passwords, keys) is none of its business.
 */
const NEEDED = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'TMPDIR',
  'TEMP',
  'TMP',
  'NO_COLOR',
  'FORCE_COLOR',
  'CI',
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_EXTRA_CA_CERTS',
  'NODE_COMPILE_CACHE',
  'NODE_DISABLE_COMPILE_CACHE',
  'NODE_V8_COVERAGE',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  // Windows; names there are of any case.
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  'USERPROFILE',
  'HOMEDRIVE',
  'HOMEPATH',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'NUMBER_OF_PROCESSORS',
  'PROCESSOR_ARCHITECTURE',
  'OS',
])

const NEEDED_KINDS = /^(?:LC_|XDG_|GDN_)/
/** Of ours, these hold a secret, or may. */
const SECRET = new Set(['GDN_API_KEY', 'GDN_RPC_URL', 'GDN_WALLET_URL', 'GDN_DATABASE_URL', 'GDN_DATABASE_DIRECT_URL'])

/** Addresses of proxies, which may hold a password: for a child that has to reach the network. */
const PROXIES = new Set(['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'])

/**
 * The environment for a program that gdn starts for itself: nothing secret, and nothing that it doesn't need.
 *
 * @param proxies whether it has to reach the network, as gdn would
 */
export function childEnvironment(env: NodeJS.ProcessEnv, { proxies = false } = {}): NodeJS.ProcessEnv {
  const isNeeded = (name: string): boolean => {
    const upper = name.toUpperCase()
    if (SECRET.has(upper)) return false
    return NEEDED.has(upper) || NEEDED_KINDS.test(upper) || (proxies && PROXIES.has(upper))
  }
  return Object.fromEntries(Object.entries(env).filter(([name]) => isNeeded(name)))
}
