import { isOriginOfProfile } from '../../../config/api-key.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Deps } from '../../deps.ts'

/**
 * Returns the server to save a key for. Rejects a server that only the project's file specifies. Otherwise, a cloned
 * repository could send the key to the repository's author.
 */
export async function serverForKey({ env }: Deps, settings: Settings): Promise<Server> {
  if (settings.profile === 'local' && settings.baseUrl === null) {
    throw new GdnError('usage', 'the local backend has its own key, which gdn reads automatically', {
      place: { flag: '--local' },
      hint: 'Nothing needs to be saved. Add --local to a command to use the local backend.',
    })
  }
  if (settings.baseUrl === null) {
    throw new GdnError('usage', 'a key is saved for one server, and no server is specified', {
      place: { flag: '--base-url' },
      hint: 'Add --base-url <url>, or run `gdn config set base_url <url>` first.',
    })
  }
  const server = await settings.server()
  if (server.source !== 'project' || isOriginOfProfile(server.origin, await readUserConfig(env))) return server
  throw new GdnError('usage', `the server ${server.origin} is set only by ${server.from}`, {
    place: { flag: '--base-url' },
    hint: `If the key is for that server, add --base-url ${server.baseUrl}.`,
  })
}
