import { GdnError } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'
import type { OpenKeyring } from './keyring.ts'
import type { UserConfig } from './schema.ts'
import { originOf, type Server } from './server.ts'

interface Known {
  env: NodeJS.ProcessEnv
  user: UserConfig
  dataDir: string
  openKeyring: OpenKeyring
}

/**
 * The key to send to a server. A saved key goes to the origin it was saved for and nowhere else. GDN_API_KEY goes
 * where the user's own word points: a flag, the environment, a profile. A project's file alone can't direct it:
 * whoever cloned a repository would hand it the key.
 */
export async function resolveApiKey(server: Server, { env, user, dataDir, openKeyring }: Known): Promise<Secret> {
  if (server.source === 'local') {
    const { localApiKey } = await import('./local-backend.ts')
    return await localApiKey(dataDir)
  }
  const variable = env.GDN_API_KEY
  if (variable !== undefined && variable !== '') {
    if (server.source !== 'project' || isOwn(server.origin, user)) return new Secret(variable)
    throw new GdnError('unauthorized', `GDN_API_KEY is not sent to ${server.origin}: only ${server.from} names it`, {
      hint: `if you trust it, say so yourself: --base-url ${server.baseUrl}, GDN_BASE_URL, or a profile with that base_url`,
    })
  }
  const { savedApiKey } = await import('./saved-keys.ts')
  const saved = await savedApiKey(env, server.origin, openKeyring)
  if (saved !== null) return saved
  throw new GdnError('unauthorized', `there is no API key for ${server.origin}`, {
    hint: `set GDN_API_KEY, or save one: gdn auth login --base-url ${server.baseUrl}`,
  })
}

/** Whether a profile of the user names that server. */
export function isOwn(origin: string, user: UserConfig): boolean {
  return Object.values(user.profiles ?? {}).some(
    (profile) => profile.base_url !== undefined && originOf(profile.base_url) === origin,
  )
}
