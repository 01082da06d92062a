import { homedir, userInfo } from 'node:os'
import { isAbsolute } from 'node:path'
import { platform } from 'node:process'
import { GdnError } from './errors.ts'

/**
 * Returns the home directory of the user's account. A UID in a container may have no account. On POSIX, `homedir()`
 * can't be used, because it returns HOME even if HOME is empty.
 */
const accountHome = () => (platform === 'win32' ? homedir() : userInfo().homedir)

/**
 * Returns HOME, or the home directory of the user's account. A relative HOME is ignored, like relative XDG variables,
 * because keys and state would depend on the current directory.
 *
 * @throws GdnError `invalid_config` if there is none
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
