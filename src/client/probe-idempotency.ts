import { GdnError, messageOf } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { describeAnswer, isForeignRefusal } from './answers.ts'
import type { LearnOptions } from './api-client.ts'
import { jsonOf } from './codec.ts'
import { postJson, type Server } from './send-once.ts'
import { type TransportAnswer, TransportError } from './transport.ts'

/** Every server has this endpoint. */
const ENDPOINT = 'getisgdnnft'

/**
 * A query without effect that shows what the server supports. Creating commands use it for nothing else, so it takes no
 * slot of another request in the rate limits.
 */
const NOBODYS_NFT = {
  receiver_wallet_address: '0x0000000000000000000000000000000000000001',
  blockchain: 'polygon',
  nft_gdn_ids: ['00000000-0000-0000-0000-000000000000'],
}

/**
 * Sends a harmless request to learn whether the server honors Idempotency-Key. A page as the response stops the
 * command: as the response to a creating request, it would leave the outcome unknown.
 */
export async function probeIdempotency(
  server: Server,
  url: string,
  { signal, refresh = false, onSilence }: LearnOptions,
): Promise<boolean | null> {
  const body = new TextEncoder().encode(JSON.stringify(NOBODYS_NFT))
  let answer: TransportAnswer
  try {
    answer = await postJson(server, { name: ENDPOINT, url }, body, null, { signal })
  } catch (error) {
    // Nothing is sent to another backend, or to one that could not be identified.
    if (!refresh && error instanceof TransportError && error.cause instanceof GdnError) throw error.cause
    const isPassing = error instanceof TransportError || (error instanceof GdnError && error.code === 'rate_limited')
    if (!isPassing) throw error
    onSilence?.(messageOf(error))
    return null
  }
  const json = parseJson(answer.body)
  // JSON of another form may concern this endpoint alone.
  const isForeign = isForeignRefusal(answer.status, json) && (json === undefined || answer.status === 401)
  const honored = isForeign ? null : server.dispatch.announced.learn(answer)
  if (isForeign && !refresh) await jsonOf(ENDPOINT, url, answer)
  if (honored === null) onSilence?.(`it returned ${describeAnswer(answer)}`)
  return honored
}
