import type { Attribute } from '../api/traits.ts'
import { backoffMs } from '../core/backoff.ts'
import { GdnError, messageOf, type Place } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { quoted } from '../core/quoted.ts'
import type { ApiClient, LearnOptions } from './api-client.ts'
import { parseResponseJson } from './codec.ts'
import { describeResponse, isForeignRefusal } from './responses.ts'
import { type RetryClock, SYSTEM_RETRY_CLOCK } from './retry-clock.ts'
import { RETRY_BACKOFF } from './retry-read.ts'
import { type ClientServer, postJson } from './send-once.ts'
import { TransportError, type TransportResponse } from './transport.ts'

const MAX_ATTEMPTS = 6

/**
 * Asks a server which API extensions it supports, unless an earlier response reported them. If the server doesn't
 * respond, throws instead of assuming that the server supports none.
 *
 * @throws GdnError `unreachable`
 */
export async function learnSupport(
  client: Pick<ApiClient, 'learnCapabilities' | 'supports'>,
  signal: AbortSignal | undefined,
  clock: Pick<RetryClock, 'sleep' | 'random'> = SYSTEM_RETRY_CLOCK,
): Promise<void> {
  let reason = ''
  const onSilence = (why: string) => {
    reason = `: ${why}`
  }
  for (let attempt = 1; client.supports('references') === null; attempt++) {
    if ((await client.learnCapabilities({ signal, onSilence })) !== null) return
    if (attempt === MAX_ATTEMPTS) {
      const hint = 'Nothing was sent. Try again later.'
      throw new GdnError('unreachable', `the server does not respond${reason}`, { hint })
    }
    await clock.sleep(backoffMs(attempt, RETRY_BACKOFF, clock.random), signal)
  }
}

/**
 * The endpoint that is queried. Every server has this endpoint. Creating commands send no other requests to it, so the
 * query doesn't affect the rate limit of their requests.
 */
const PROBE_ENDPOINT = 'getisgdnnft'

/** A query of `getisgdnnft` for an NFT that doesn't exist. Every server can answer it. */
export const QUERY_WITHOUT_EFFECT = {
  receiver_wallet_address: '0x0000000000000000000000000000000000000001',
  blockchain: 'polygon',
  nft_gdn_ids: ['00000000-0000-0000-0000-000000000000'],
}

/**
 * Sends a query without effect to learn whether the server honors Idempotency-Key. Returns null if the server doesn't
 * respond. Throws if the response is a web page, because the same response to a creating request would leave the
 * outcome unknown.
 */
export async function probeIdempotency(
  server: ClientServer,
  url: string,
  { signal, refresh = false, onSilence }: LearnOptions,
): Promise<boolean | null> {
  const body = new TextEncoder().encode(JSON.stringify(QUERY_WITHOUT_EFFECT))
  let response: TransportResponse
  try {
    response = await postJson(server, { name: PROBE_ENDPOINT, url }, body, null, { signal })
  } catch (error) {
    // The backend has changed or couldn't be identified, so nothing may be sent.
    if (!refresh && error instanceof TransportError && error.cause instanceof GdnError) throw error.cause
    const isTemporary = error instanceof TransportError || (error instanceof GdnError && error.code === 'rate_limited')
    if (!isTemporary) throw error
    onSilence?.(messageOf(error))
    return null
  }
  const json = parseJson(response.body)
  const { status } = response
  // Web servers that don't support POST return 501.
  const isPage = json === undefined && (status < 400 || status === 501)
  // Other JSON responses don't count, because they may be specific to this endpoint.
  const isForeign = isPage || (isForeignRefusal(status, json) && (json === undefined || status === 401))
  const honored = isForeign ? null : server.dispatch.serverFeatures.learn(response)
  if (isForeign && !refresh) await parseResponseJson(PROBE_ENDPOINT, url, response)
  if (honored === null) onSilence?.(`it returned ${describeResponse(response)}`)
  return honored
}

/**
 * Refuses a typed trait unless the server publishes trait types, because other servers may silently drop the type.
 *
 * @param trait the typed trait. If it is undefined, the server isn't queried
 * @throws GdnError `refused`, or `unreachable` if the server doesn't respond
 */
export async function refuseTypedTrait(
  client: Pick<ApiClient, 'learnCapabilities' | 'supports'>,
  trait: Attribute | undefined,
  { place, signal }: { place?: Place | undefined; signal?: AbortSignal | undefined },
): Promise<void> {
  if (trait === undefined) return
  if (client.supports('traits') === null) await learnSupport(client, signal)
  if (client.supports('traits') !== true) throw noTypedTraitsError(trait, place)
}

export const noTypedTraitsError = ({ tag, display_type }: Attribute, place?: Place): GdnError =>
  new GdnError('refused', `the server doesn't support typed traits: ${quoted(tag)} has the type ${display_type}`, {
    place,
    hint: 'Nothing was sent. Use a gdn backend that supports typed traits, or remove the type of the trait.',
  })
