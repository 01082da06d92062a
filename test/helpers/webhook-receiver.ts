import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedEvent {
  id: string
  type: string
  created_at: string
  // biome-ignore lint/suspicious/noExplicitAny: the tests assert the content of an event
  data: any
}

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
  event: ReceivedEvent
}

export interface Receiver {
  url: string
  received: Received[]
  /** Events by ID, each once. */
  events(): ReceivedEvent[]
  /** Maximum number of requests in flight. */
  most: number
  close(): Promise<void>
}

type Answer = (response: ServerResponse, received: Received, index: number) => void

/** A server that receives events. By default it returns 200 for each. */
export async function startReceiver(
  answer: Answer = (response) => void response.end('ok'),
  port = 0,
): Promise<Receiver> {
  const received: Received[] = []
  let running = 0
  const receiver: Receiver = {
    url: '',
    received,
    events: () => [...new Map(received.map(({ event }) => [event.id, event])).values()],
    most: 0,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const server = createServer(async (request, response) => {
    running += 1
    receiver.most = Math.max(receiver.most, running)
    response.on('close', () => {
      running -= 1
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString('utf8')
    const one = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body) }
    answer(response, one, received.push(one) - 1)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return receiver
}

/** Verifies a signature as documented for receivers. */
export function isSigned(
  secret: string,
  { headers, body }: Pick<Received, 'headers' | 'body'>,
  now = Date.now(),
): boolean {
  const parts = new Map(
    String(headers['gdn-signature'])
      .split(',')
      .map((part) => part.split('=', 2) as [string, string]),
  )
  const t = parts.get('t') ?? ''
  const given = Buffer.from(parts.get('v1') ?? '', 'hex')
  const expected = createHmac('sha256', secret).update(`${t}.${body}`).digest()
  return given.length === expected.length && timingSafeEqual(given, expected) && Math.abs(now / 1000 - Number(t)) <= 300
}
