import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'
import { HEADERS } from '../../src/api/headers.ts'
import { OWNER } from '../helpers/addresses.ts'
import { listenLocally } from '../helpers/http-server.ts'

export interface Call {
  path: string
  headers: NodeJS.Dict<string | string[]>
  body: unknown
}

export interface Reply {
  status?: number
  headers?: Record<string, string>
  body: unknown
}

export type Handler = (body: never, call: Call) => Reply

/** What the APIs of a test announce in responses that don't say otherwise: embedded chains. */
let announced: string | null = '*'
/** Handles the requests of a test that create something before the handlers do. */
let creating: ((call: Call) => Reply | null) | null = null

/**
 * Makes the APIs of this test announce other blockchains whose coins have no value; null for none.
 *
 * @param onCreating gets each request that creates something, and may respond to it
 */
export function announce(names: string | null, onCreating: (call: Call) => Reply | null = () => null): void {
  announced = names
  creating = onCreating
  onTestFinished(() => {
    announced = '*'
    creating = null
  })
}

export interface FakeApi {
  url: string
  calls: Call[]
  /** Bodies sent to one endpoint. */
  bodies(name: string): unknown[]
}

/**
 * An API on loopback whose responses the test defines by endpoint. An endpoint without a handler returns 404.
 * The test fails if a handler is never used. `*` handles all other requests, and may stay unused. Its blockchains are
 * embedded chains, see `announce`.
 */
export async function fakeApi(handlers: Record<string, Handler>): Promise<FakeApi> {
  const calls: Call[] = []
  const used = new Set<string>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const name = (request.url ?? '').replace(/^\/api\/v1\//, '')
    const raw = Buffer.concat(chunks)
    const isJson = request.headers['content-type'] === 'application/json'
    const body: unknown = isJson ? JSON.parse(raw.toString('utf8')) : raw.toString('latin1')
    const call = { path: request.url ?? '', headers: request.headers, body }
    calls.push(call)
    const handler = handlers[name] ?? handlers['*']
    const own = request.headers['idempotency-key'] === undefined ? null : (creating?.(call) ?? null)
    const reply: Reply =
      own ??
      (handler === undefined
        ? { status: 404, body: { error: { title: 'Not Found', message: `there is no ${name} here` } } }
        : handler(body as never, call))
    used.add(name in handlers ? name : '*')
    response.writeHead(reply.status ?? 200, {
      'content-type': 'application/json',
      ...(announced === null ? {} : { [HEADERS.blockchainsWithoutValue]: announced }),
      ...reply.headers,
    })
    response.end(JSON.stringify(reply.body))
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(async () => {
    await close()
    const unused = Object.keys(handlers).filter((name) => name !== '*' && !used.has(name))
    if (unused.length > 0) throw new Error(`nobody asked for ${unused.join(', ')}`)
  })
  return {
    url,
    calls,
    bodies: (name) => calls.filter(({ path }) => path.endsWith(`/${name}`)).map(({ body }) => body),
  }
}

export { OWNER }
export const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
export const DATE = '2026-01-31 12:00:00'

export function nft(id: string, more: Record<string, unknown> = {}) {
  return {
    nft_gdn_id: id,
    token_id: '1',
    contract_address: CONTRACT,
    receiver_wallet_address: OWNER,
    status: 'deployed',
    request_metadata: { title: 'Dawn', description: '', file_fields: [] },
    metadata_url: 'ipfs://bafy/0.json',
    ...more,
  }
}

/** A getnfts that returns the requested ones of these records. */
export const knows =
  (...records: ReturnType<typeof nft>[]) =>
  ({ nft_gdn_ids }: { nft_gdn_ids: string[] }) => ({
    body: { requests: { nft_gdn_ids }, nfts: records.filter(({ nft_gdn_id }) => nft_gdn_ids.includes(nft_gdn_id)) },
  })
