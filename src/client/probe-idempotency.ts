import { GdnError, messageOf } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { LearnOptions } from './api-client.ts'
import { jsonOf } from './codec.ts'
import { describeResponse, isForeignRefusal } from './responses.ts'
import { type ClientServer, postJson } from './send-once.ts'
import { TransportError, type TransportResponse } from './transport.ts'

/**
 * The endpoint that is queried. Every server has it. Creating commands don't use it otherwise, so the query doesn't
 * affect the rate limit of their requests.
 */
const ENDPOINT = 'getisgdnnft'

/** A query without effect for an NFT that doesn't exist. */
const NOBODYS_NFT = {
  receiver_wallet_address: '0x0000000000000000000000000000000000000001',
  blockchain: 'polygon',
  nft_gdn_ids: ['00000000-0000-0000-0000-000000000000'],
}

/**
 * Sends a query without effect to learn whether the server honors Idempotency-Key. Returns null if the server doesn't
 * respond. Throws if a web page is returned, because as the response to a creating request, it would leave the outcome
 * unknown.
 */
export async function probeIdempotency(
  server: ClientServer,
  url: string,
  { signal, refresh = false, onSilence }: LearnOptions,
): Promise<boolean | null> {
  const body = new TextEncoder().encode(JSON.stringify(NOBODYS_NFT))
  let response: TransportResponse
  try {
    response = await postJson(server, { name: ENDPOINT, url }, body, null, { signal })
  } catch (error) {
    // The backend isn't the expected one or couldn't be identified, so nothing may be sent.
    if (!refresh && error instanceof TransportError && error.cause instanceof GdnError) throw error.cause
    const isPassing = error instanceof TransportError || (error instanceof GdnError && error.code === 'rate_limited')
    if (!isPassing) throw error
    onSilence?.(messageOf(error))
    return null
  }
  const json = parseJson(response.body)
  const { status } = response
  // Web servers that don't support POST return 501.
  const isPage = json === undefined && (status < 400 || status === 501)
  // Other JSON may be specific to this endpoint.
  const isForeign = isPage || (isForeignRefusal(status, json) && (json === undefined || status === 401))
  const honored = isForeign ? null : server.dispatch.announced.learn(response)
  if (isForeign && !refresh) await jsonOf(ENDPOINT, url, response)
  if (honored === null) onSilence?.(`it returned ${describeResponse(response)}`)
  return honored
}
