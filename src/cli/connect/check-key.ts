import type { Permission } from '../../api/permissions.ts'
import type { ApiClient } from '../../client/api-client.ts'
import { QUERY_WITHOUT_EFFECT } from '../../client/learn-support.ts'
import { lacksEndpoint } from '../../client/responses.ts'
import { GdnError } from '../../core/errors.ts'

type Client = Pick<ApiClient, 'call' | 'send'>

/**
 * Checks a key with requests that have no effect.
 *
 * @throws GdnError `unauthorized`; `forbidden` if the key has none of the known permissions; `unreachable`;
 * `bad_answer`
 */
export async function verifyKey(client: Client, signal: AbortSignal): Promise<void> {
  const error = await checkReadPermission(client, signal)
  if (error === null) return
  const permissions = await probePermissions(client, signal)
  if (![...permissions.values()].includes(true)) throw error
}

/**
 * Returns an error if the key lacks the read permission; null otherwise. If a server rejects the content of the
 * request, it has accepted the key.
 */
async function checkReadPermission(client: Client, signal: AbortSignal): Promise<GdnError | null> {
  try {
    await client.call('getisgdnnft', QUERY_WITHOUT_EFFECT, { signal })
    return null
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    if (error.code === 'refused') return null
    if (error.code === 'forbidden') return error
    throw error
  }
}

/** An endpoint for each permission. Each endpoint rejects an empty request, so the request has no effect. */
const PERMISSION_PROBES = [
  ['nft:read', 'getisgdnnft'],
  ['nft:create', 'createnft'],
  ['nft:transfer', 'transfernft'],
  ['nft:update', 'updatednft'],
  ['nft:burn', 'burnnft'],
  ['collection:create', 'createcollection'],
  ['wallet:create', 'getpresignedurl'],
] as const satisfies readonly (readonly [Permission, string])[]

/**
 * Returns the permissions that a key seems to have. Every endpoint rejects the empty request. Servers check the
 * permission before the content, so the status shows whether the key has the permission. Null means that the status
 * doesn't show this.
 */
export async function probePermissions(client: Client, signal: AbortSignal): Promise<Map<Permission, boolean | null>> {
  const permissions = new Map<Permission, boolean | null>()
  const empty = new TextEncoder().encode('{}')
  for (const [permission, endpoint] of PERMISSION_PROBES) {
    const result = await client.send(endpoint, empty, { idempotencyKey: crypto.randomUUID(), signal })
    const status = result.kind === 'answered' ? result.status : 0
    // A server with another API version may not have the endpoint.
    if (lacksEndpoint(status)) continue
    permissions.set(permission, status === 403 ? false : status === 400 || status === 422 ? true : null)
  }
  return permissions
}
