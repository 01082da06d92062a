import { ENDPOINT_NAMES, loadEndpoint } from '../../api/endpoints.ts'
import type { RawEndpoint } from '../../client/api-client.ts'
import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { hidePrivateKey } from '../../core/quoted.ts'

/** Endpoints that `gdn api` accepts by name: all endpoints that accept JSON. */
export const JSON_ENDPOINTS = ENDPOINT_NAMES.filter((name) => name !== 'files')

/** Returns an endpoint by name or path. Accepts unknown paths below /api/, because a server may have more endpoints. */
export function findEndpoint(nameOrPath: string): RawEndpoint {
  refuseWalletEndpoints(nameOrPath)
  const path = nameOrPath.startsWith('api/') ? `/${nameOrPath}` : nameOrPath
  const name = path.replace(/^\/api\/v1\//, '').replace(/\/$/, '')
  const endpoint = JSON_ENDPOINTS.find((candidate) => candidate === name)
  if (endpoint !== undefined) return { name: endpoint }
  if (name === 'files') {
    throw new GdnError('usage', 'files accepts a file, not JSON', {
      place: { flag: '<endpoint>' },
      hint: 'Run `gdn nft mint --image <path>` to upload a file and mint with it.',
    })
  }
  if (/^\/api\/[\w./~-]*$/.test(path) && !/(^|\/)\.{1,2}(\/|$)/.test(path)) return { path: path as `/${string}` }
  const near = nearest(name, JSON_ENDPOINTS)
  throw new GdnError('usage', `unknown endpoint "${hidePrivateKey(nameOrPath)}"`, {
    place: { flag: '<endpoint>' },
    hint:
      near === undefined
        ? `The endpoints are ${JSON_ENDPOINTS.join(', ')}. For any other endpoint, use its path, such as /api/….`
        : `Did you mean ${near}?`,
  })
}

/**
 * Refuses URLs. Also refuses wallet generation, because the response contains a private key that must not be printed.
 */
function refuseWalletEndpoints(nameOrPath: string): void {
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(nameOrPath)
  if (/wallet|signature=/i.test(nameOrPath)) {
    throw new GdnError('usage', "can't generate a wallet: the response would contain its private key", {
      place: { flag: '<endpoint>' },
      hint: 'Run `gdn wallet generate` to save the key in a keystore.',
    })
  }
  if (!isUrl) return
  throw new GdnError('usage', 'a URL is not an endpoint', {
    place: { flag: '<endpoint>' },
    hint: 'Use an endpoint such as getnfts. To select the server, add --base-url <url>.',
  })
}

/** Returns whether a request may change something. Returns true for paths that aren't in the API contract. */
export async function mayHaveEffect(endpoint: RawEndpoint): Promise<boolean> {
  return 'path' in endpoint || (await loadEndpoint(endpoint.name)).creates !== null
}
