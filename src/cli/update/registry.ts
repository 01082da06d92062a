import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { platform } from 'node:process'
import { promisify } from 'node:util'
import { childEnvironment } from '../../core/child-environment.ts'
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

/** npm is configured by variables of its own; those that hold a token are none of a registry's address. */
function npmEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const named = Object.entries(env).filter(([name]) =>
    /^npm_config_(?:registry|userconfig|globalconfig|prefix)$/i.test(name),
  )
  return { ...childEnvironment(env), ...Object.fromEntries(named) }
}
