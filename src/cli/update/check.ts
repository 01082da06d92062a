import { createTransport } from '../../client/create-transport.ts'
import { proxyOf } from '../../config/proxy.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { VERSION } from '../version.ts'
import { readUpdateCache, writeUpdateCache } from './cache.ts'
import { type Installed, installedPackage } from './installed.ts'
import { npmRegistry } from './registry.ts'

const TIMEOUT_MS = 10_000

/**
 * Asks the registry for the latest version and stores it. The registry's package with our name and version must be this
 * package, because the name may belong to someone else there. Sends no credentials.
 */
export async function checkForUpdate(
  env: NodeJS.ProcessEnv,
  installed: Installed | null = installedPackage(),
): Promise<void> {
  if (installed === null) return
  const registry = await npmRegistry(env)
  if (registry === null) return
  const isNear = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(registry.hostname)
  const proxy = isNear ? undefined : proxyOf(env)
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
    const own = await manifest(installed.version)
    const isOurs =
      own !== null &&
      own.name === installed.name &&
      own.description === installed.description &&
      JSON.stringify(own.bin) === installed.bin
    const newest = isOurs ? await manifest('latest') : null
    const latest = typeof newest?.version === 'string' && newest.name === installed.name ? newest.version : null
    writeUpdateCache(env, { ...readUpdateCache(env), latest })
  } catch {
    // The registry is unreachable. The next check is a day later.
  } finally {
    await transport.close()
  }
}
