import { lstatSync, mkdirSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

type Env = NodeJS.ProcessEnv

/** The `node:module` module. Node.js 22.8 and later have `enableCompileCache`. */
type NodeModule = typeof import('node:module') & { enableCompileCache?: (folder: string) => unknown }

/**
 * Lets Node.js cache this program's compiled code for later commands, in `<user cache>/gdn/compile`. By default,
 * Node.js would use the system's temporary folder, where another user can create the cache first. Cached code runs with
 * the user's permissions.
 */
export function cacheCompiledCode(env: Env): void {
  const { enableCompileCache } = process.getBuiltinModule('node:module') as NodeModule
  if (enableCompileCache === undefined || env.NODE_DISABLE_COMPILE_CACHE) return
  const folder = compileCacheFolder(env)
  if (folder !== null) enableCompileCache(folder)
}

/**
 * Returns the folder of the cache, and creates it if necessary. Returns null if it can't be created, belongs to another
 * user, or is accessible to others.
 */
export function compileCacheFolder(
  env: Env,
  { platform, uid }: { platform: NodeJS.Platform; uid: number } = { platform: process.platform, uid: getUid() },
): string | null {
  const home = env.HOME && join(env.HOME, '.cache')
  const places = [platform === 'win32' ? env.LOCALAPPDATA : env.XDG_CACHE_HOME, home]
  const cache = places.find((path) => path !== undefined && isAbsolute(path))
  if (cache === undefined) return null
  const folder = join(cache, 'gdn', 'compile')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const stats = lstatSync(folder)
    // On Windows, the folder's access control list makes it private.
    const isOwn = platform === 'win32' || (stats.uid === uid && (stats.mode & 0o077) === 0)
    return stats.isDirectory() && isOwn ? folder : null
  } catch {
    return null
  }
}

const getUid = () => process.getuid?.() ?? 0
