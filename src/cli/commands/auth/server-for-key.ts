import { isOwn } from '../../../config/api-key.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Deps } from '../../deps.ts'

/**
 * The server that a key is to be saved for. A project's file alone doesn't name it: whoever cloned a repository would
 * give the key to its author.
 */
export async function serverForKey({ env }: Deps, settings: Settings): Promise<Server> {
  if (settings.profile === 'local' && settings.baseUrl === null) {
    throw new GdnError('usage', 'the local backend has a key of its own, which gdn finds by itself', {
      place: { flag: '--local' },
      hint: 'nothing needs to be saved for it: add --local to a command',
    })
  }
  if (settings.baseUrl === null) {
    throw new GdnError('usage', 'a key is saved for one server, and none is named', {
      place: { flag: '--base-url' },
      hint: 'add --base-url <url>, or set base_url first',
    })
  }
  const server = await settings.server()
  if (server.source !== 'project' || isOwn(server.origin, await readUserConfig(env))) return server
  throw new GdnError('usage', `only ${server.from} names ${server.origin}`, {
    place: { flag: '--base-url' },
    hint: `if the key is for that server, say so yourself: --base-url ${server.baseUrl}`,
  })
}
