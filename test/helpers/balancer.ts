import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { sleep } from '../../src/core/time.ts'
import { listenLocally } from './http-server.ts'

const LOOK_EVERY_MS = 100
const LOOK_WITHIN_MS = 2000
/** Number of consecutive failed checks that take a process out. One success puts it back. */
const FALL = 2
/** How long a request waits for an available process. */
const QUEUE_MS = 10_000

export interface Balancer {
  url: string
  /** Requests without an available process, redispatched after a failed connection, and broken ones. */
  readonly counts: { unserved: number; redispatched: number; broken: number }
  close(): Promise<void>
}

interface Target {
  failures: number
  up: boolean
  inFlight: number
}

/**
 * A load balancer like one in production: checks /readyz, and sends each request to the process with the fewest
 * requests. It redispatches a request only if not a single byte was sent. The client has to repeat requests that break
 * later.
 *
 * @param places where processes listen now, as a service manager would return them
 */
export async function startBalancer(places: () => readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const counts = { unserved: 0, redispatched: 0, broken: 0 }
  const targets = new Map<string, Target>()
  let closed = false

  const look = async (url: string, target: Target) => {
    const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(LOOK_WITHIN_MS) }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.ok
      },
      () => false,
    )
    target.failures = ready ? 0 : target.failures + 1
    if (ready) target.up = true
    else if (target.failures >= FALL) target.up = false
  }
  /**
   * Checks each process independently, so that a slow response does not delay noticing that another one is stopping.
   */
  const watch = async (url: string, target: Target) => {
    while (!closed && targets.get(url) === target) {
      await look(url, target)
      await sleep(LOOK_EVERY_MS)
    }
  }
  const watching: Promise<void>[] = []
  const discovering = (async () => {
    while (!closed) {
      const there = new Set(places())
      for (const url of targets.keys()) if (!there.has(url)) targets.delete(url)
      for (const url of there) {
        if (targets.has(url)) continue
        const target = { failures: 0, up: false, inFlight: 0 }
        targets.set(url, target)
        watching.push(watch(url, target))
      }
      await sleep(LOOK_EVERY_MS)
    }
  })()

  const choose = async (tried: ReadonlySet<string>): Promise<[string, Target] | null> => {
    for (const late = Date.now() + QUEUE_MS; Date.now() < late; await sleep(20)) {
      const up = [...targets].filter(([url, target]) => target.up && !tried.has(url))
      up.sort(([, one], [, other]) => one.inFlight - other.inFlight)
      if (up[0] !== undefined) return up[0]
    }
    return null
  }

  const give = (url: string, incoming: IncomingMessage, body: Buffer, response: ServerResponse) =>
    new Promise<'given' | 'unreached'>((resolve) => {
      let reached = false
      const { connection: _, ...headers } = incoming.headers
      const forwarded = request(url + (incoming.url ?? ''), { method: incoming.method, headers, agent }, (answer) => {
        const { connection: _, 'keep-alive': __, ...kept } = answer.headers
        response.writeHead(answer.statusCode ?? 502, kept)
        pipeline(answer, response)
          .catch(() => {
            counts.broken += 1
            response.destroy()
          })
          .finally(() => resolve('given'))
      })
      forwarded.on('socket', (socket) => {
        const connected = () => {
          reached = true
        }
        if (socket.connecting) socket.once('connect', connected)
        else connected()
      })
      forwarded.on('error', () => {
        if (!reached) return resolve('unreached')
        if (!response.headersSent) {
          counts.broken += 1
          response.writeHead(502).end()
        }
        resolve('given')
      })
      forwarded.end(body)
    })

  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const tried = new Set<string>()
    for (;;) {
      const chosen = await choose(tried)
      if (chosen === null) {
        counts.unserved += 1
        return void response.writeHead(503, { 'retry-after': '1' }).end()
      }
      const [url, target] = chosen
      target.inFlight += 1
      const outcome = await give(url, incoming, Buffer.concat(chunks), response)
      target.inFlight -= 1
      if (outcome === 'given') return
      counts.redispatched += 1
      tried.add(url)
    }
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy())
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    counts,
    async close() {
      closed = true
      agent.destroy()
      await close()
      await discovering
      await Promise.all(watching)
    },
  }
}
