import { execFile } from 'node:child_process'
import { platform } from 'node:process'
import { promisify } from 'node:util'
import { homeDirectory } from '../../core/home-directory.ts'
import { parseUrl } from '../../core/parse-url.ts'

const TIMEOUT_MS = 30_000
const run = promisify(execFile)

/**
 * Returns the registry of npm's global installs. npm runs in the home folder, so that a project's .npmrc has no effect.
 * Returns null without npm, or if the registry has no HTTP URL.
 */
export async function npmRegistry(env: NodeJS.ProcessEnv): Promise<URL | null> {
  // On Windows, npm is a script that only a shell can run.
  const options = {
    env: npmEnvironment(env),
    cwd: homeDirectory(env),
    timeout: TIMEOUT_MS,
    shell: platform === 'win32',
  }
  const { stdout } = await run('npm', ['config', 'get', 'registry'], options).catch(() => ({ stdout: '' }))
  const named = stdout.trim()
  return /^https?:\/\//.test(named) ? parseUrl(named.endsWith('/') ? named : `${named}/`) : null
}

/** Names of variables that may contain a secret, and values that do: a URL with a password. */
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|^gdn_/i
const WITH_PASSWORD = /:\/\/[^/\s]+@/

/** A user's .npmrc may use any variable, so npm gets all except likely secrets, which no registry URL needs. */
function npmEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isHarmless = ([name, value = '']: [string, string | undefined]) =>
    !SECRET_NAME.test(name) && !WITH_PASSWORD.test(value)
  return Object.fromEntries(Object.entries(env).filter(isHarmless))
}
