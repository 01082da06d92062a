import { inspect } from 'node:util'
import { type ClientOptions, createClient } from '../../src/client/client.ts'
import { createLightTransport } from '../../src/client/light-transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { ENDPOINTS } from '../helpers/endpoints.ts'
import { type HttpServer, type Reply, startHttpServer } from '../helpers/http-server.ts'

export const KEY = 'k3y-of-the-client-tests'

/** Starts a server that responds as the script says. It is closed after the test. */
export async function serve(script: Parameters<typeof startHttpServer>[0]): Promise<HttpServer> {
  const server = await startHttpServer(script)
  whenTestDone(() => server.close())
  return server
}

/** Creates a client whose waits take no time, and records them. */
export function client(baseUrl: string, more: Partial<ClientOptions> = {}) {
  const waits: number[] = []
  let time = 0
  const clock = {
    now: () => time,
    async sleep(ms: number, signal?: AbortSignal) {
      signal?.throwIfAborted()
      waits.push(ms)
      time += ms
    },
    random: () => 0.5,
  }
  const made = createClient({
    baseUrl,
    apiKey: new Secret(KEY),
    transport: createLightTransport(),
    userAgent: 'gdn/test',
    timeoutMs: 60_000,
    clock,
    ...more,
  })
  whenTestDone(() => made.close())
  return Object.assign(made, { waits, clock })
}

/** The error that a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<GdnError> {
  const error: unknown = await promise.then(
    (value) => new Error(`resolved with ${inspect(value)}`),
    (reason: unknown) => reason,
  )
  if (!(error instanceof GdnError)) throw error
  return error
}

export const NFTS = { json: ENDPOINTS.getnfts.example.response }
export const CREATED = { json: ENDPOINTS.createnft.example.response }
export const IDS = { nft_gdn_ids: ['0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'] }
export const MINT = ENDPOINTS.createnft.example.request
export const YES = { 'idempotency-supported': 'yes' }
export const formA = (status: number, title: string, message: string, headers = {}): Reply => ({
  status,
  headers,
  json: { error: { title, message } },
})

/** The request with which a client checks whether the server honors Idempotency-Key. */
export const isProbe = ({ path }: { path: string }) => path.endsWith('getisgdnnft')
