import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { platform } from 'node:process'
import { promisify } from 'node:util'
import { parseUrl } from '../../core/parse-url.ts'

const TIMEOUT_MS = 30_000
const run = promisify(execFile)

/**
 * The registry that npm installs from globally, by npm's own word: a project's .npmrc has no say in it, so npm is asked
 * from the home folder. Null where there is no npm, or it names something that isn't asked by HTTP.
 */
export async function npmRegistry(env: NodeJS.ProcessEnv): Promise<URL | null> {
  // On Windows npm is a script, which only a shell runs.
  const options = {
    env: npmEnvironment(env),
    cwd: env.HOME ?? homedir(),
    timeout: TIMEOUT_MS,
    shell: platform === 'win32',
  }
  const { stdout } = await run('npm', ['config', 'get', 'registry'], options).catch(() => ({ stdout: '' }))
  const named = stdout.trim()
  return /^https?:\/\//.test(named) ? parseUrl(named.endsWith('/') ? named : `${named}/`) : null
}

/** Names of variables that hold a secret, and values that do: an address with a password. */
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|^gdn_/i
const WITH_PASSWORD = /:\/\/[^/\s]+@/

/** A user's .npmrc may name any variable, so npm gets all but those that seem to be secret: none makes an address. */
function npmEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isHarmless = ([name, value = '']: [string, string | undefined]) =>
    !SECRET_NAME.test(name) && !WITH_PASSWORD.test(value)
  return Object.fromEntries(Object.entries(env).filter(isHarmless))
}
