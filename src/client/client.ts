import { randomUUID } from 'node:crypto'
import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import { findTypedTraitInRequest } from '../api/typed-trait.ts'
import type { ApiVersion } from '../api/versions.ts'
import { parseJson } from '../core/json.ts'
import type { ApiClient, CallOptions, PlainResponse, ResponseOf } from './api-client.ts'
import { checkKey, parseBaseUrl } from './base-url.ts'
import { decode, encode } from './codec.ts'
import { Dispatch, type DispatchOptions } from './dispatch.ts'
import { type RetryClock, SYSTEM_RETRY_CLOCK } from './retry-clock.ts'
import { retryRead } from './retry-read.ts'
import {
  type ClientServer,
  hintOf,
  postJson,
  readCreated,
  resolveEndpointUrl,
  resolveTarget,
  sendOnce,
} from './send-once.ts'
import type { TransportResponse } from './transport.ts'

export interface ClientOptions extends DispatchOptions {
  baseUrl: string
  /** Whether a key may be sent over HTTP to another machine. */
  allowHttp?: boolean
  clock?: RetryClock
  /** The API version that `call` uses to validate requests. Default: 1.1. */
  apiVersion?: ApiVersion
}

/**
 * Creates a client for a server.
 *
 * @throws GdnError `invalid_config` for an invalid base URL or key.
 * @example
 * const client = createClient({ baseUrl, apiKey, transport: await createTransport('single'), userAgent: 'gdn/1.0.0' })
 * const { nfts } = await client.call('getnfts', { nft_gdn_ids: ['…'] })
 */
export function createClient(options: ClientOptions): ApiClient {
  const { apiKey, transport, clock = SYSTEM_RETRY_CLOCK, apiVersion } = options
  const baseUrl = parseBaseUrl(options.baseUrl, { hasKey: apiKey !== null, allowHttp: options.allowHttp ?? false })
  checkKey(apiKey)
  const dispatch = new Dispatch(options)
  const { serverFeatures } = dispatch
  const server: ClientServer = { baseUrl, clock, dispatch, onlyWithoutValue: false }
  const client: ApiClient = {
    baseUrl,
    async call(name, request, callOptions = {}) {
      const body = await encode(name, request, apiVersion)
      const trait = findTypedTraitInRequest(request)
      if (trait !== undefined) {
        const { refuseTypedTrait } = await import('./learn-support.ts')
        await refuseTypedTrait(client, trait, callOptions)
      }
      return await callEndpoint(server, name, body, callOptions)
    },
    send: async (name, body, sendOptions) =>
      await sendOnce(server, await resolveTarget(server, name), body, sendOptions),
    decode: async (name, response) => await decode(name, await resolveEndpointUrl(server, name), response),
    async raw(endpoint, body, rawOptions) {
      const { callRaw } = await import('./call-raw.ts')
      return await callRaw(server, endpoint, body, rawOptions)
    },
    async upload(content, name, uploadOptions = {}) {
      const { upload } = await import('./upload.ts')
      return await upload(server, content, name, uploadOptions)
    },
    get: async (path, { signal } = {}) => await getPath(server, path, signal),
    supports: (capability) => serverFeatures.supports(capability),
    incarnation: () => serverFeatures.incarnation(),
    hasNoValue: (blockchain) => serverFeatures.hasNoValue(blockchain),
    onlyWithoutValue(only) {
      server.onlyWithoutValue = only
    },
    async learnCapabilities(learnOptions = {}) {
      const learned = serverFeatures.supports('idempotency')
      if (learned !== null && learnOptions.refresh !== true) return learned
      const { probeIdempotency } = await import('./learn-support.ts')
      return await probeIdempotency(server, await resolveEndpointUrl(server, 'getisgdnnft'), learnOptions)
    },
    observedRateLimit: (name) => serverFeatures.observedRateLimit(name),
    close: () => transport.close(),
  }
  return client
}

async function callEndpoint<Name extends EndpointName>(
  server: ClientServer,
  name: Name,
  body: Uint8Array,
  options: CallOptions,
): Promise<ResponseOf<Name>> {
  const { signal } = options
  const target = await resolveTarget(server, name)
  const read = (response: TransportResponse) => decode(name, target.url, response)
  if ((await loadEndpoint(name)).creates !== null) {
    const result = await sendOnce(server, target, body, { idempotencyKey: randomUUID(), signal })
    return await readCreated(name, result, await hintOf(name), read)
  }
  return await read(
    await retryRead(target.url, server.clock, signal, () => postJson(server, target, body, null, options)),
  )
}

async function getPath(server: ClientServer, path: string, signal: AbortSignal | undefined): Promise<PlainResponse> {
  const url = server.baseUrl + path
  const response = await retryRead(url, server.clock, signal, () => server.dispatch.get(url, signal))
  const text = Buffer.from(response.body).toString('utf8')
  return { status: response.status, headers: response.headers, json: parseJson(response.body), text }
}
