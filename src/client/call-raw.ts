import type { RawEndpoint, RawOptions } from './api-client.ts'
import { parseResponseJson } from './codec.ts'
import { retryRead } from './retry-read.ts'
import { type ClientServer, hintOf, postJson, readCreated, resolveTarget, sendOnce } from './send-once.ts'
import type { TransportResponse } from './transport.ts'

/** Sends a raw body. With an idempotency key, sends the body once. Without a key, retries after temporary failures. */
export async function callRaw(
  server: ClientServer,
  endpoint: RawEndpoint,
  body: Uint8Array,
  { idempotencyKey, signal, onResponse }: RawOptions,
): Promise<TransportResponse> {
  const isNamed = 'name' in endpoint
  const target = isNamed
    ? await resolveTarget(server, endpoint.name)
    : { name: null, url: server.baseUrl + endpoint.path }
  const shownName = isNamed ? endpoint.name : endpoint.path
  const check = async (response: TransportResponse) => {
    await parseResponseJson(shownName, target.url, response)
    return response
  }
  if (idempotencyKey !== null) {
    const result = await sendOnce(server, target, body, { idempotencyKey, signal })
    if (result.kind === 'answered') onResponse?.(result.response)
    return await readCreated(shownName, result, isNamed ? await hintOf(endpoint.name) : undefined, check)
  }
  const once = async () => {
    const response = await postJson(server, target, body, null, { signal })
    onResponse?.(response)
    return response
  }
  return await check(await retryRead(target.url, server.clock, signal, once))
}
