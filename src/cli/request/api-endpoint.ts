import { ENDPOINT_NAMES, loadEndpoint } from '../../api/endpoints.ts'
import type { RawEndpoint } from '../../client/api-client.ts'
import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'

/** Names that `gdn api` takes: every endpoint that takes JSON. */
export const JSON_ENDPOINTS = ENDPOINT_NAMES.filter((name) => name !== 'files')

/** The endpoint that a word means: its name, its path, or another path of the API, which the server knows alone. */
export function endpointNamed(word: string): RawEndpoint {
  refuseWallets(word)
  const path = word.startsWith('api/') ? `/${word}` : word
  const name = path.replace(/^\/api\/v1\//, '').replace(/\/$/, '')
  const known = JSON_ENDPOINTS.find((one) => one === name)
  if (known !== undefined) return { name: known }
  if (name === 'files') {
    throw new GdnError('usage', 'files takes a file, no JSON', {
      place: { flag: '<endpoint>' },
      hint: 'gdn nft mint --image <path> uploads one and mints with it',
    })
  }
  if (/^\/api\/[\w./~-]*$/.test(path) && !/(^|\/)\.{1,2}(\/|$)/.test(path)) return { path: path as `/${string}` }
  const near = nearest(name, JSON_ENDPOINTS)
  throw new GdnError('usage', `there is no endpoint "${word}"`, {
    place: { flag: '<endpoint>' },
    hint:
      near === undefined
        ? `endpoints are ${JSON_ENDPOINTS.join(', ')}; another is named by its path: /api/…`
        : `did you mean ${near}?`,
  })
}

/** A POST to a signed URL answers with a private key, which would be lost in a terminal: it goes by a command of its own. */
function refuseWallets(word: string): void {
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(word)
  if (/wallet|signature=/i.test(word)) {
    throw new GdnError('usage', 'a wallet is not made this way: the answer would hold its private key, once', {
      place: { flag: '<endpoint>' },
      hint: 'gdn wallet generate keeps it in a keystore',
    })
  }
  if (!isUrl) return
  throw new GdnError('usage', 'name the endpoint, not a URL', {
    place: { flag: '<endpoint>' },
    hint: 'such as getnfts; --base-url names the server',
  })
}

/** Whether asking it may change anything; of a path that the contract doesn't know nobody can tell. */
export async function mayHaveEffect(endpoint: RawEndpoint): Promise<boolean> {
  return 'path' in endpoint || (await loadEndpoint(endpoint.name)).creates !== null
}
