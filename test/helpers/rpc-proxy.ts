import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { sleep } from '../../src/core/time.ts'
import { listenLocally } from './http-server.ts'

export interface ProxiedCall {
  id: number
  method: string
  // biome-ignore lint/suspicious/noExplicitAny: the test knows the parameters of a method
  params: any[]
}

export interface RpcProxy {
  url: string
  /** Received calls in order, with those of batches listed separately. */
  calls: ProxiedCall[]
  /** Arrival times of HTTP requests. */
  requests: number[]
  count(method: string): number
  close(): Promise<void>
}

type Answer = { result: unknown } | { error: { code: number; message: string } }

export interface RpcProxyOptions {
  /** Returns the response of a call instead of the node's, or undefined to forward it. */
  answer?: (call: ProxiedCall) => Answer | undefined | Promise<Answer | undefined>
  /** Returns additional milliseconds before a response. */
  delayMs?: () => number
  /** False for a node without batches, which receives single calls. */
  batches?: boolean
  /** Returns a response before the request is parsed, or undefined. */
  refuse?: () => { status: number; headers?: Record<string, string>; body?: string } | undefined
}

/** A proxy to a JSON-RPC node that forwards all calls that the test doesn't handle. */
export async function startRpcProxy(target: string, options: RpcProxyOptions = {}): Promise<RpcProxy> {
  const calls: ProxiedCall[] = []
  const requests: number[] = []

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(performance.now())
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const refused = options.refuse?.()
    if (refused !== undefined) {
      response.writeHead(refused.status, refused.headers ?? {}).end(refused.body ?? 'no')
      return
    }
    const body = JSON.parse(Buffer.concat(chunks).toString()) as ProxiedCall | ProxiedCall[]
    const batch = Array.isArray(body) ? body : [body]
    calls.push(...batch)
    const delay = options.delayMs?.() ?? 0
    if (delay > 0) await sleep(delay)
    const own = new Map<number, Answer | undefined>()
    for (const call of batch) own.set(call.id, await options.answer?.(call))
    const others = batch.filter(({ id }) => own.get(id) === undefined)
    const answered = new Map<number, object>()
    if (others.length > 0) {
      const forwarded = await fetch(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(options.batches === false ? others[0] : others),
      })
      for (const answer of [await forwarded.json()].flat() as { id: number }[]) answered.set(answer.id, answer)
    }
    const answers = batch.map(({ id }) => answered.get(id) ?? { jsonrpc: '2.0', id, ...own.get(id) })
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    calls,
    requests,
    count: (method) => calls.filter((call) => call.method === method).length,
    close,
  }
}

/** Answers the first reads of a block's state as an embedded chain does after it has mined another block. */
export function pruningFirst(reads: number): NonNullable<RpcProxyOptions['answer']> {
  let left = reads
  return ({ method, params }) => {
    const block = { eth_call: params[1], eth_getCode: params[1], eth_getStorageAt: params[2] }[method]
    if (!/^0x/.test(String(block)) || left-- <= 0) return undefined
    const message = `BlockOutOfRangeError: block height is ${Number(block) + 1} but requested was ${Number(block)}`
    return { error: { code: -32_602, message } }
  }
}
