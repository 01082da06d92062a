import { randomUUID } from 'node:crypto'
import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import type { ApiVersion } from '../api/versions.ts'
import { GdnError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { lacksEndpoint, statusOf } from './answers.ts'
import type { ApiClient, PlainAnswer, RawEndpoint, RawOptions, ResponseOf, UploadOptions } from './api-client.ts'
import { checkKey, parseBaseUrl } from './base-url.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
import { decode, encode, jsonOf } from './codec.ts'
import { Dispatch, type DispatchOptions } from './dispatch.ts'
import { persist } from './persist.ts'
import { probeIdempotency } from './probe-idempotency.ts'
import { postJson, readCreated, type Server, sendOnce, type Target } from './send-once.ts'
import type { TransportAnswer } from './transport.ts'

/** The slowest upload speed that the timeout allows for. */
const UPLOAD_BYTES_PER_MS = 32

export interface ClientOptions extends DispatchOptions {
  baseUrl: string
  /** Allows sending a key over http to a host that isn't this machine. */
  allowHttp?: boolean
  clock?: Clock
  /** Version of the API that `call` checks requests by; 1.1 by default. */
  apiVersion?: ApiVersion
}

/**
 * Creates the client of a server.
 *
 * @throws GdnError `invalid_config` for an invalid base URL or key.
 * @example
 * const client = createClient({ baseUrl, apiKey, transport: await createTransport('single'), userAgent: 'gdn/1.0.0' })
 * const { nfts } = await client.call('getnfts', { nft_gdn_ids: ['…'] })
 */
export function createClient(options: ClientOptions): ApiClient {
  const { apiKey, transport, clock = SYSTEM_CLOCK, apiVersion } = options
  const baseUrl = parseBaseUrl(options.baseUrl, { hasKey: apiKey !== null, allowHttp: options.allowHttp ?? false })
  checkKey(apiKey)
  const dispatch = new Dispatch(options)
  const { announced } = dispatch
  const server: Server = { baseUrl, clock, dispatch, onlyWithoutValue: false }
  return {
    baseUrl,
    async call(name, request, { signal } = {}) {
      return await callEndpoint(server, name, await encode(name, request, apiVersion), signal)
    },
    send: async (name, body, sendOptions) => await sendOnce(server, await targetOf(server, name), body, sendOptions),
    decode: async (name, answer) => await decode(name, await urlOf(server, name), answer),
    raw: async (endpoint, body, rawOptions) => await callRaw(server, endpoint, body, rawOptions),
    upload: async (content, name, uploadOptions = {}) => await upload(server, content, name, uploadOptions),
    get: async (path, { signal } = {}) => await getPath(server, path, signal),
    supports: (capability) => announced.supports(capability),
    incarnation: () => announced.incarnation(),
    hasNoValue: (blockchain) => announced.hasNoValue(blockchain),
    onlyWithoutValue(only) {
      server.onlyWithoutValue = only
    },
    async learnIdempotency(learnOptions = {}) {
      const learned = announced.supports('idempotency')
      if (learned !== null && learnOptions.refresh !== true) return learned
      return await probeIdempotency(server, await urlOf(server, 'getisgdnnft'), learnOptions)
    },
    observedRateLimit: (name) => announced.observedRateLimit(name),
    close: () => transport.close(),
  }
}

const urlOf = async ({ baseUrl }: Server, name: EndpointName): Promise<string> =>
  baseUrl + (await loadEndpoint(name)).path

const targetOf = async (server: Server, name: EndpointName): Promise<Target> => ({
  name,
  url: await urlOf(server, name),
})

const hintOf = async (name: EndpointName): Promise<string | undefined> =>
  (await loadEndpoint(name)).creates?.hints.request

async function callEndpoint<Name extends EndpointName>(
  server: Server,
  name: Name,
  body: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<ResponseOf<Name>> {
  const target = await targetOf(server, name)
  const read = (answer: TransportAnswer) => decode(name, target.url, answer)
  if ((await loadEndpoint(name)).creates !== null) {
    const result = await sendOnce(server, target, body, { idempotencyKey: randomUUID(), signal })
    return await readCreated(name, result, await hintOf(name), read)
  }
  return await read(
    await persist(target.url, server.clock, signal, () => postJson(server, target, body, null, { signal })),
  )
}

/** Sends a raw body once with its key, or without a key with retries. */
async function callRaw(
  server: Server,
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
  return await check(await persist(target.url, server.clock, signal, once))
}

async function upload(
  server: Server,
  content: string | Uint8Array,
  name: string,
  { signal, sha256 }: UploadOptions,
): Promise<{ url: string }> {
  const { multipartFile } = await import('./multipart.ts')
  const { contentType, body } = await multipartFile(content, name, sha256)
  const target = await targetOf(server, 'files')
  const headers = { 'content-type': contentType }
  const extraMs = Math.ceil(body.size / UPLOAD_BYTES_PER_MS)
  const once = () => server.dispatch.post({ ...target, content: { stream: body }, headers, signal, extraMs })
  try {
    return await decode('files', target.url, await persist(target.url, server.clock, signal, once))
  } catch (error) {
    if (!lacksEndpoint(error)) throw error
    throw new GdnError(
      'refused',
      `${server.baseUrl} accepts no uploads, so ${name} can't be used as a file of an NFT`,
      {
        hint: 'Put the file where the server can fetch it, and use its http(s) or ipfs URL.',
        details: { status: statusOf(error) },
        cause: error,
      },
    )
  }
}

async function getPath(server: Server, path: string, signal: AbortSignal | undefined): Promise<PlainAnswer> {
  const url = server.baseUrl + path
  const answer = await persist(url, server.clock, signal, () => server.dispatch.get(url, signal))
  const text = Buffer.from(answer.body).toString('utf8')
  return { status: answer.status, headers: answer.headers, json: parseJson(answer.body), text }
}
