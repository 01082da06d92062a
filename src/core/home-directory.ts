import { homedir, userInfo } from 'node:os'
import { isAbsolute } from 'node:path'
import { platform } from 'node:process'
import { GdnError } from './errors.ts'

/**
 * Returns the home directory of the user's account. Throws if the UID has no account, as in some containers. Doesn't
 * use `homedir()` on POSIX, because it returns HOME even if HOME is empty.
 */
const accountHome = () => (platform === 'win32' ? homedir() : userInfo().homedir)

/**
 * Returns HOME, or the home directory of the user's account. Ignores a relative HOME, like relative XDG variables,
 * because the location of keys and state would depend on the current directory.
 *
 * @throws GdnError `invalid_config` if there is no home directory
 */
export function homeDirectory({ HOME = '' }: NodeJS.ProcessEnv, ofAccount: () => string = accountHome): string {
  if (isAbsolute(HOME)) return HOME
  try {
    return ofAccount()
  } catch (cause) {
    const problem = HOME === '' ? 'is not set' : 'is not an absolute path'
    throw new GdnError('invalid_config', `${problem}, and this user has no account with a home directory`, {
      hint: 'Run `export HOME=<absolute path>` with a directory that you own.',
      place: { field: 'HOME' },
      cause,
    })
  }
}
