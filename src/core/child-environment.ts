/**
 * The variables that a child process of gdn needs, for paths, locale and trusted certificates. Other variables may
 * contain tokens, passwords and keys, so they are passed on only if they are in `NEEDED_PREFIXES` or `PROXIES`.
 */
const NEEDED_VARIABLES = new Set([
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
  // Windows variables. On Windows, the names of variables are case-insensitive.
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

const NEEDED_PREFIXES = /^(?:LC_|XDG_|GDN_)/
/** gdn's variables that are or may contain secrets. */
const SECRET_VARIABLES = new Set([
  'GDN_API_KEY',
  'GDN_RPC_URL',
  'GDN_FORK_URL',
  'GDN_ENS_RPC_URL',
  'GDN_WALLET_URL',
  'GDN_DATABASE_URL',
  'GDN_DATABASE_DIRECT_URL',
])

/** Proxy variables. They may contain a password, so they are passed only to child processes that use the network. */
const PROXIES = new Set(['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'])

/**
 * Returns the environment for a program that gdn starts. It contains only the variables that the program needs, and
 * none of gdn's secrets.
 *
 * @param proxies whether to include the proxy variables, for a program that uses the network
 */
export function childEnvironment(env: NodeJS.ProcessEnv, { proxies = false } = {}): NodeJS.ProcessEnv {
  const isNeeded = (name: string): boolean => {
    const upper = name.toUpperCase()
    if (SECRET_VARIABLES.has(upper)) return false
    return NEEDED_VARIABLES.has(upper) || NEEDED_PREFIXES.test(upper) || (proxies && PROXIES.has(upper))
  }
  return Object.fromEntries(Object.entries(env).filter(([name]) => isNeeded(name)))
}
