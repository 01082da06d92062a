import { homedir, tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { getuid, platform } from 'node:process'

type Env = NodeJS.ProcessEnv

/** A directory of the XDG base directory specification; relative values are ignored, as it demands. */
function xdg(env: Env, name: string, ...fallback: string[]): string {
  const value = env[name]
  if (value !== undefined && isAbsolute(value)) return value
  return join(env.HOME ?? homedir(), ...fallback)
}

/** The user's configuration: `GDN_CONFIG`, else `$XDG_CONFIG_HOME/gdn/config.json`. */
export function userConfigFile(env: Env): string {
  const named = env.GDN_CONFIG
  return named !== undefined && named !== ''
    ? resolve(named)
    : join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'gdn', 'config.json')
}

/** API keys, beside the user's configuration. */
export function credentialsFile(env: Env): string {
  return join(userConfigFile(env), '..', 'credentials.json')
}

/** Directory of the state database. */
export function stateDirectory(env: Env, flag?: string): string {
  const named = flag ?? env.GDN_STATE_DIR
  return named !== undefined && named !== ''
    ? resolve(named)
    : join(xdg(env, 'XDG_STATE_HOME', '.local', 'state'), 'gdn')
}

/** Where the local backend keeps everything: `$XDG_DATA_HOME/gdn/local`. */
export function localDataDirectory(env: Env): string {
  return join(xdg(env, 'XDG_DATA_HOME', '.local', 'share'), 'gdn', 'local')
}

/** Where wallets and the names of addresses are kept: `$XDG_DATA_HOME/gdn/wallets`. */
export function walletsDirectory(env: Env): string {
  return join(xdg(env, 'XDG_DATA_HOME', '.local', 'share'), 'gdn', 'wallets')
}

/**
 * Where processes agree on their pace, the best place first. It must be the same for all of one user on one machine,
 * whatever their environment: a session has an XDG_RUNTIME_DIR where its cron jobs have none, and every CI job may have
 * a TMPDIR, a HOME and a state directory of its own. So it is the machine's own /tmp. `GDN_PACE_DIR` names another
 * one, such as a volume that containers share.
 */
export function paceDirectories(env: Env): string[] {
  const named = env.GDN_PACE_DIR
  if (named !== undefined && named !== '') return [resolve(named)]
  const temp = platform === 'win32' ? tmpdir() : '/tmp'
  return [
    join(temp, `gdn-pace-${getuid?.() ?? 'user'}`),
    join(xdg(env, 'XDG_STATE_HOME', '.local', 'state'), 'gdn', 'pace'),
  ]
}
