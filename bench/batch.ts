import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { HEADERS } from '../src/api/headers.ts'
import { runBatch } from '../src/batch/run.ts'
import type { BatchClient, BatchDeps, ReadEndpoint } from '../src/batch/types.ts'
import type { ResponseOf } from '../src/client/api-client.ts'
import { createClient } from '../src/client/client.ts'
import { createTransport } from '../src/client/create-transport.ts'
import { createPacer } from '../src/client/pacer.ts'
import { Secret } from '../src/core/secret.ts'
import type { ManifestItem } from '../src/manifest/read.ts'
import { withFolder } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { SimulatedClock } from './simulated-clock.ts'

const ROWS = 10_000
const CHUNK = 50
const PER_SECOND = 2
const ROUND_TRIP_MS = 150
const CONTRACT = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
/** Number of rows of the part in real time; 200 with `--long`. */
const REAL_REQUESTS = process.argv.includes('--long') ? 200 : 60

/** Duration of a batch at two requests a second, compared with the fastest possible client. */
export async function measure(): Promise<Figure[]> {
  return [...report(await simulated(CHUNK)), ...report(await simulated(1)), ...report(await inRealTime(REAL_REQUESTS))]
}

/**
 * The minimum duration: two requests may be in flight or answered within any second. Each pair takes a second and a
 * round trip, and the last one only its round trip.
 */
const ideal = (requests: number): number =>
  (Math.ceil(requests / PER_SECOND) - 1) * (1000 + ROUND_TRIP_MS) + ROUND_TRIP_MS

async function simulated(chunk: number): Promise<Figure[]> {
  const clock = new SimulatedClock()
  const service = new Service(clock.now)
  const client: BatchClient = {
    async send(_endpoint, body) {
      await clock.sleep(ROUND_TRIP_MS / 2)
      const answer = service.take(Buffer.from(body).toString('utf8'))
      await clock.sleep(ROUND_TRIP_MS / 2)
      return { kind: 'answered', headers: {}, ...answer }
    },
    async call<Name extends ReadEndpoint>(endpoint: Name) {
      await clock.sleep(ROUND_TRIP_MS)
      return (endpoint === 'getnftgdnids' ? { nft_gdn_ids: [] } : { nfts: [] }) as unknown as ResponseOf<Name>
    },
    upload: () => Promise.reject(new Error('no files here')),
    supports: () => false,
    learnCapabilities: () => Promise.resolve(false),
  }
  const pacer = createPacer({ rate: null, observed: () => null, now: clock.now, sleep: clock.sleep })
  const requests = ROWS / chunk
  await clock.passDuring(mint(rows(ROWS, chunk), { client, pacer, now: clock.now, sleep: clock.sleep }))
  return figures(`10,000 rows, ${chunk} per request, simulated`, requests, service)
}

async function inRealTime(requests: number): Promise<Figure[]> {
  const service = new Service(() => performance.now())
  const server = createServer((request, response) => void answerHttp(service, request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({
    baseUrl,
    apiKey: new Secret('bench'),
    transport: await createTransport('bulk'),
    userAgent: 'gdn-bench',
  })
  const pacer = createPacer({ rate: null, observed: (endpoint) => client.observedRateLimit(endpoint) })
  try {
    await mint(rows(requests * CHUNK, CHUNK), { client, pacer })
    return figures(`${requests} requests, real time on loopback`, requests, service)
  } finally {
    await client.close()
    server.close()
    server.closeAllConnections()
  }
}

function mint(items: () => AsyncIterable<ManifestItem>, deps: Omit<BatchDeps, 'readManifest'>): Promise<void> {
  return withFolder(async (stateDir) => {
    const { counts } = await runBatch(
      {
        stateDir,
        origin: 'https://nft.example',
        blockchain: 'polygon',
        contractAddress: CONTRACT,
        manifestPath: '/drop.csv',
        chunkSize: CHUNK,
        inFlight: 8,
        wait: false,
        lookup: false,
      },
      { ...deps, readManifest: items },
    )
    if (counts.pending + counts.unknown + counts.failed > 0) throw new Error(JSON.stringify(counts))
  })
}

/** Rows in groups of this size with the same receiver. */
function rows(count: number, perReceiver: number): () => AsyncIterable<ManifestItem> {
  return async function* () {
    for (let index = 0; index < count; index++) {
      const receiver = `0x${(Math.floor(index / perReceiver) + 1).toString(16).padStart(40, '0')}`
      const metadata = { title: `Number ${index}`, description: 'One of many', file_fields: [] }
      yield { row: { line: index + 2, id: null, receiver, sender: null, metadata, localFiles: [] } }
    }
  }
}

/** Accepts two requests within any second from the arrival of the first, by its own clock, and rejects a third. */
class Service {
  refused = 0
  first = 0
  last = 0
  readonly #now: () => number
  readonly #arrivals: number[] = []
  #ids = 0

  constructor(now: () => number) {
    this.#now = now
  }

  take(body: string): { status: number; json: unknown } {
    const now = this.#now()
    const before = this.#arrivals.at(-PER_SECOND)
    if (this.#arrivals.length === 0) this.first = now
    this.#arrivals.push(now)
    this.last = now
    if (before !== undefined && now - before < 1000) {
      this.refused++
      return { status: 429, json: { message: 'Too Many Requests' } }
    }
    const { metadata, ...sent } = JSON.parse(body) as { metadata: unknown[] }
    const nfts = metadata.map(() => ({ nft_gdn_ids: `nft-${++this.#ids}`, accepted_date: '2026-01-31 12:00:00' }))
    return { status: 200, json: { message: 'accepted', requests: { ...sent, metadata }, nfts } }
  }
}

async function answerHttp(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += piece
  const isMint = request.url?.includes('createnft') === true
  const { status, json } = isMint ? service.take(body) : { status: 200, json: { nfts: [] } }
  await pause(ROUND_TRIP_MS)
  const headers = { 'content-type': 'application/json', [HEADERS.rateLimitPolicy]: '"default";q=2;w=1' }
  response.writeHead(status, headers).end(JSON.stringify(json))
}

/** Returns the time from the arrival of the first request to that of the last, and the last one's round trip. */
function figures(what: string, requests: number, { first, last, refused }: Service): Figure[] {
  return [
    {
      what,
      unit: 'ms',
      samples: [last - first + ROUND_TRIP_MS],
      against: { what: 'the ideal', samples: [ideal(requests)] },
      budget: { atMost: 1.02 },
    },
    { what: 'responses with 429', unit: 'requests', samples: [refused], budget: { atMost: 0 } },
  ]
}
