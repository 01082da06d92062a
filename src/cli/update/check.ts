import { execFile } from 'node:child_process'
import { platform } from 'node:process'
import { promisify } from 'node:util'
import { createTransport } from '../../client/create-transport.ts'
import { readProxies } from '../../config/proxy.ts'
import { homeDirectory } from '../../core/home-directory.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { isOnLoopback, parseUrl } from '../../core/parse-url.ts'
import { VERSION } from '../version.ts'
import { readUpdateCache, writeUpdateCache } from './cache.ts'
import { type InstalledPackage, installedPackage } from './installed.ts'

const TIMEOUT_MS = 10_000
const NPM_TIMEOUT_MS = 30_000
const execFileAsync = promisify(execFile)

/**
 * Requests the latest version from the registry and stores it. Sends no credentials. First checks that the package in
 * the registry is this one, because another package there may have the same name.
 */
export async function checkForUpdate(
  env: NodeJS.ProcessEnv,
  installed: InstalledPackage | null = installedPackage(),
): Promise<void> {
  if (installed === null) return
  const registry = await npmRegistry(env)
  if (registry === null) return
  const proxy = isOnLoopback(registry) ? undefined : readProxies(env)
  const transport = await createTransport('single', { proxy })
  const manifest = async (version: string): Promise<Readonly<Record<string, unknown>> | null> => {
    const { status, body } = await transport.request({
      method: 'GET',
      url: new URL(`${installed.name}/${encodeURIComponent(version)}`, registry).href,
      headers: { accept: 'application/json', 'user-agent': `gdn/${VERSION}` },
      timeoutMs: TIMEOUT_MS,
    })
    const value = status === 200 ? parseJson(body) : null
    return isObject(value) ? value : null
  }
  try {
    const ownManifest = await manifest(installed.version)
    const isOurs =
      ownManifest !== null &&
      ownManifest.name === installed.name &&
      ownManifest.description === installed.description &&
      JSON.stringify(ownManifest.bin) === installed.bin
    const newest = isOurs ? await manifest('latest') : null
    const latest = typeof newest?.version === 'string' && newest.name === installed.name ? newest.version : null
    writeUpdateCache(env, { ...readUpdateCache(env), latest })
  } catch {
    // The registry is unreachable. The next check is in a day.
  } finally {
    await transport.close()
  }
}

/**
 * Returns the registry that npm uses for global installs; null without npm or without an HTTP URL. Runs npm in the home
 * folder, so that the .npmrc of a project has no effect.
 */
export async function npmRegistry(env: NodeJS.ProcessEnv): Promise<URL | null> {
  // On Windows, npm is a script, which only a shell can run.
  const options = {
    env: npmEnvironment(env),
    cwd: homeDirectory(env),
    timeout: NPM_TIMEOUT_MS,
    shell: platform === 'win32',
  }
  const { stdout } = await execFileAsync('npm', ['config', 'get', 'registry'], options).catch(() => ({ stdout: '' }))
  const registry = stdout.trim()
  return /^https?:\/\//.test(registry) ? parseUrl(registry.endsWith('/') ? registry : `${registry}/`) : null
}

/** Match variables that may contain a secret, because of their name or because their value is a URL with a password. */
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|^gdn_/i
const PASSWORD_URL_PATTERN = /:\/\/[^/\s]+@/

/**
 * Returns the environment for npm. A user's .npmrc may refer to any variable, so npm gets all variables except likely
 * secrets. The registry's URL doesn't depend on those.
 */
function npmEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isHarmless = ([name, value = '']: [string, string | undefined]) =>
    !SECRET_NAME.test(name) && !PASSWORD_URL_PATTERN.test(value)
  return Object.fromEntries(Object.entries(env).filter(isHarmless))
}
