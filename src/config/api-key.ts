import { GdnError } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'
import type { OpenKeyring } from './keyring.ts'
import type { UserConfig } from './schema.ts'
import { parseServerOrigin, type Server } from './server.ts'

interface KeySources {
  env: NodeJS.ProcessEnv
  user: UserConfig
  dataDir: string
  openKeyring: OpenKeyring
}

/**
 * Returns the API key for a server. A saved key is sent only to the origin for which it was saved. GDN_API_KEY is sent
 * only to a server that the user specified with a flag, an environment variable or a profile. A project file isn't
 * enough, because a cloned repository could otherwise steal the key.
 *
 * @throws GdnError `unauthorized` if there is no key for the server
 */
export async function resolveApiKey(server: Server, { env, user, dataDir, openKeyring }: KeySources): Promise<Secret> {
  if (server.source === 'local') {
    const { readLocalApiKey } = await import('./local-backend.ts')
    return await readLocalApiKey(dataDir)
  }
  const variable = env.GDN_API_KEY
  if (variable !== undefined && variable !== '') {
    if (server.source !== 'project' || isOriginOfProfile(server.origin, user)) return new Secret(variable)
    throw new GdnError(
      'unauthorized',
      `GDN_API_KEY is not sent to ${server.origin}: only ${server.from} specifies this server`,
      {
        hint: `If you trust this server, add --base-url ${server.baseUrl}, or set GDN_BASE_URL or the base_url of a profile.`,
      },
    )
  }
  const { readSavedApiKey } = await import('./saved-keys.ts')
  const saved = await readSavedApiKey(env, server.origin, openKeyring)
  if (saved !== null) return saved
  const { isLocalBackend } = await import('./local-backend.ts')
  throw new GdnError('unauthorized', `there is no API key for ${server.origin}`, {
    hint: (await isLocalBackend(dataDir, server.origin))
      ? `This is the local backend. Use --local in place of ${server.from}.`
      : `Set GDN_API_KEY, or run \`gdn auth login --base-url ${server.baseUrl}\` to save one.`,
  })
}

/** Returns whether one of the user's profiles has this origin. */
export function isOriginOfProfile(origin: string, user: UserConfig): boolean {
  return Object.values(user.profiles ?? {}).some(
    (profile) => profile.base_url !== undefined && parseServerOrigin(profile.base_url) === origin,
  )
}
