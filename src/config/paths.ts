import { tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { getuid, platform } from 'node:process'
import { homeDirectory } from '../core/home-directory.ts'

type Env = NodeJS.ProcessEnv

/** Returns an XDG base directory. Ignores relative paths, as the XDG specification requires. */
function xdg(env: Env, name: string, ...fallback: string[]): string {
  const value = env[name]
  if (value !== undefined && isAbsolute(value)) return value
  return join(homeDirectory(env), ...fallback)
}

/** Returns the path of the user's configuration: `GDN_CONFIG`, or else `$XDG_CONFIG_HOME/gdn/config.json`. */
export function userConfigFile(env: Env): string {
  const configuredPath = env.GDN_CONFIG
  return configuredPath !== undefined && configuredPath !== ''
    ? resolve(configuredPath)
    : join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'gdn', 'config.json')
}

/** Returns the path of the file with the saved API keys, next to the user's configuration. */
export function credentialsFile(env: Env): string {
  return join(userConfigFile(env), '..', 'credentials.json')
}

/** Returns the directory of the state database: the flag, `GDN_STATE_DIR`, or else `$XDG_STATE_HOME/gdn`. */
export function stateDirectory(env: Env, flag?: string): string {
  const configuredPath = flag ?? env.GDN_STATE_DIR
  return configuredPath !== undefined && configuredPath !== ''
    ? resolve(configuredPath)
    : join(xdg(env, 'XDG_STATE_HOME', '.local', 'state'), 'gdn')
}

/**
 * Returns the local backend's data directory: the directory that `gdn local exec` sets, or else
 * `$XDG_DATA_HOME/gdn/local`.
 */
export function localDataDirectory(env: Env): string {
  const { GDN_EXEC_DATA_DIR: temporary } = env
  if (temporary !== undefined && temporary !== '') return resolve(temporary)
  return join(xdg(env, 'XDG_DATA_HOME', '.local', 'share'), 'gdn', 'local')
}

/** Returns the folder of keystores: `$XDG_DATA_HOME/gdn/wallets`. */
export function walletsDirectory(env: Env): string {
  return join(xdg(env, 'XDG_DATA_HOME', '.local', 'share'), 'gdn', 'wallets')
}

/**
 * Returns the directories in which processes share a rate limit, in order of preference. The directories must be the
 * same for all processes of one user on one machine, regardless of their environment. A login session has an
 * XDG_RUNTIME_DIR that the user's cron jobs don't have, and each CI job may have its own TMPDIR, HOME and state
 * directory. Therefore, the machine's /tmp comes first. `GDN_PACE_DIR` sets another directory, such as a volume that
 * containers share.
 */
export function paceDirectories(env: Env): string[] {
  const configuredPath = env.GDN_PACE_DIR
  if (configuredPath !== undefined && configuredPath !== '') return [resolve(configuredPath)]
  const temp = platform === 'win32' ? tmpdir() : '/tmp'
  return [
    join(temp, `gdn-pace-${getuid?.() ?? 'user'}`),
    join(xdg(env, 'XDG_STATE_HOME', '.local', 'state'), 'gdn', 'pace'),
  ]
}
