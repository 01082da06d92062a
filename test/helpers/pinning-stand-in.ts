import { createServer } from 'node:http'
import { listenLocally } from './http-server.ts'

interface Pin {
  requestid: string
  status: string
  created: string
  pin: { cid: string; origins?: string[] }
  delegates: string[]
  info?: { status_details: string }
}

export interface PinningStandIn {
  /** The base URL, to which /pins is added. */
  url: string
  pins: Pin[]
  seen: string[]
  /** Returns the status of a pin when it is queried. */
  next: (pin: Pin) => string
  /** Called after a pin was stored. Return true to close the connection without a response. */
  hangUp: () => boolean
  close(): Promise<void>
}

/** A service with the part of the IPFS Pinning Service API that gdn uses. */
export async function startPinningService(token: string): Promise<PinningStandIn> {
  const server = createServer(async (request, response) => {
    const { method, url = '' } = request
    standIn.seen.push(`${method} ${url}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const answer = (status: number, json: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    if (request.headers.authorization !== `Bearer ${token}`) {
      return void answer(401, { error: { reason: 'UNAUTHORIZED', details: 'Access token is missing or invalid' } })
    }
    const { pathname, searchParams } = new URL(url, 'http://service')
    const id = pathname.replace(/^\/psa\/pins\/?/, '')
    if (method === 'POST') {
      const pin = JSON.parse(Buffer.concat(chunks).toString())
      const created = { status: 'queued', created: '2026-01-01T00:00:00Z', delegates: [] }
      const pinRequest = { requestid: `request-${standIn.pins.length + 1}`, ...created, pin }
      standIn.pins.push(pinRequest)
      return standIn.hangUp() ? void response.destroy() : void answer(202, pinRequest)
    }
    if (id === '') {
      const statuses = (searchParams.get('status') ?? 'pinned').split(',')
      const results = standIn.pins.filter(
        ({ pin, status }) => pin.cid === searchParams.get('cid') && statuses.includes(status),
      )
      return void answer(200, { count: results.length, results })
    }
    const pin = standIn.pins.find(({ requestid }) => requestid === id)
    if (pin === undefined) return void answer(404, { error: { reason: 'NOT_FOUND' } })
    pin.status = standIn.next(pin)
    answer(200, pin)
  })
  const { url, close } = await listenLocally(server)
  const standIn: PinningStandIn = {
    url: `${url}/psa`,
    pins: [],
    seen: [],
    next: () => 'pinned',
    hangUp: () => false,
    close,
  }
  return standIn
}
