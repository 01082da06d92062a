import type { RawEndpoint, RawOptions } from './api-client.ts'
import { jsonOf } from './codec.ts'
import { retryRead } from './retry-read.ts'
import { type ClientServer, hintOf, postJson, readCreated, sendOnce, targetOf } from './send-once.ts'
import type { TransportAnswer } from './transport.ts'

/** Sends a raw body. With an idempotency key, sends it once. Without one, retries temporary failures. */
export async function callRaw(
  server: ClientServer,
  endpoint: RawEndpoint,
  body: Uint8Array,
  { idempotencyKey, signal, onAnswer }: RawOptions,
): Promise<TransportAnswer> {
  const isNamed = 'name' in endpoint
  const target = isNamed ? await targetOf(server, endpoint.name) : { name: null, url: server.baseUrl + endpoint.path }
  const shownName = isNamed ? endpoint.name : endpoint.path
  const check = async (answer: TransportAnswer) => {
    await jsonOf(shownName, target.url, answer)
    return answer
  }
  if (idempotencyKey !== null) {
    const result = await sendOnce(server, target, body, { idempotencyKey, signal })
    if (result.kind === 'answered') onAnswer?.(result.answer)
    return await readCreated(shownName, result, isNamed ? await hintOf(endpoint.name) : undefined, check)
  }
  const once = async () => {
    const answer = await postJson(server, target, body, null, { signal })
    onAnswer?.(answer)
    return answer
  }
  return await check(await retryRead(target.url, server.clock, signal, once))
}
