import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { sleep } from '../../src/core/time.ts'
import { listenLocally } from './http-server.ts'

const FAULTS = ['refused', 'cut', 'limited', 'lost', 'silent', 'silent-after', 'late', 'twice'] as const
type Fault = (typeof FAULTS)[number]

export interface RpcFaultProxy {
  url: string
  /** Number of times each fault happened. */
  counts: Record<Fault | 'none', number>
  /** Stops all faults. */
  heal(): void
  close(): Promise<void>
}

/**
 * A proxy that disrupts a share of the requests to a JSON-RPC node: rejects (500) or cuts them, returns rate limit
 * errors, loses or withholds responses with or without forwarding the request, delays responses, or forwards requests
 * twice.
 */
export async function startRpcFaultProxy(
  target: string,
  options: {
    random: () => number
    share?: number
    /** Silence ends after this many milliseconds, like at a provider's load balancer. By default it never ends. */
    silentMs?: number
  },
): Promise<RpcFaultProxy> {
  const { random, silentMs } = options
  const beSilent = (response: ServerResponse) => {
    if (silentMs !== undefined) setTimeout(() => response.destroy(), silentMs).unref()
  }
  let share = options.share ?? 0.3
  const counts = Object.fromEntries(['none', ...FAULTS].map((name) => [name, 0])) as RpcFaultProxy['counts']

  const forward = async (body: string) => {
    const response = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return response.text()
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const fault = random() < share ? FAULTS[Math.floor(random() * FAULTS.length)] : undefined
    counts[fault ?? 'none'] += 1
    response.setHeader('content-type', 'application/json')
    switch (fault) {
      case 'refused':
        return response.writeHead(500).end('no')
      case 'cut':
        return response.destroy()
      case 'limited':
        return response.end(limitReached(body))
      case 'lost':
        await forward(body)
        return response.destroy()
      case 'silent':
        return beSilent(response)
      case 'silent-after':
        await forward(body)
        return beSilent(response)
      case 'late': {
        const text = await forward(body)
        await sleep(50 + random() * 400)
        return response.end(text)
      }
      case 'twice':
        await forward(body)
        return response.end(await forward(body))
      default:
        return response.end(await forward(body))
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    counts,
    heal() {
      share = 0
    },
    close,
  }
}

function limitReached(body: string): string {
  const calls = JSON.parse(body) as { id: number } | { id: number }[]
  const refuse = ({ id }: { id: number }) => ({
    jsonrpc: '2.0',
    id,
    error: { code: -32005, message: 'limit exceeded' },
  })
  return JSON.stringify(Array.isArray(calls) ? calls.map(refuse) : refuse(calls))
}
