import { Transform } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { Refusal } from '../services/refusals.ts'
import { clientNetwork } from './connections.ts'

/** Limits, in bytes, for the request bodies in memory. */
export interface BodyMemory {
  total: number
  /**
   * Maximum per client address, or per /64 for IPv6. Behind a trusted proxy, the client address is the one that the
   * proxy forwards.
   */
  perAddress: number
}

const MIB = 1024 * 1024
export const DEFAULT_BODY_MEMORY: BodyMemory = { total: 128 * MIB, perAddress: 32 * MIB }

/** Size in bytes up to which bodies aren't counted, because the connection limits already bound their memory. */
const UNCOUNTED_BYTES = 64 * 1024

/**
 * Limits the memory of request bodies while they arrive and are processed. Only received bytes are counted, so a client
 * that sends a large Content-Length without the body doesn't block others. Forms aren't counted, because they are
 * streamed to storage.
 */
export function limitBodyMemory(app: FastifyInstance, { total, perAddress }: BodyMemory): void {
  const bytesOfClients = new Map<string, number>()
  let all = 0
  app.addHook('preParsing', async (request, reply, payload) => {
    const { 'content-length': length, 'content-type': type = '' } = request.headers
    if (type.startsWith('multipart/') || (length !== undefined && Number(length) <= UNCOUNTED_BYTES)) return payload
    const client = clientNetwork(request.ip)
    let requestBytes = 0
    reply.raw.once('close', () => {
      all -= requestBytes
      const stillHeld = (bytesOfClients.get(client) ?? 0) - requestBytes
      if (stillHeld > 0) bytesOfClients.set(client, stillHeld)
      else bytesOfClients.delete(client)
      // Read and discard the rest of a rejected body, so that it isn't buffered.
      payload.unpipe(counted)
      payload.resume()
      counted.destroy()
    })
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const ofClient = (bytesOfClients.get(client) ?? 0) + chunk.length
        if (ofClient > perAddress) return done(busyError(429, 'your IP address is sending'))
        if (all + chunk.length > total) return done(busyError(503, 'this server is receiving'))
        requestBytes += chunk.length
        all += chunk.length
        bytesOfClients.set(client, ofClient)
        done(null, chunk)
      },
    })
    payload.on('error', (error) => counted.destroy(error))
    // A route that doesn't read the body adds no error listener, and an unhandled error would terminate the process.
    counted.on('error', () => {})
    return payload.pipe(counted)
  })
}

const busyError = (status: 429 | 503, who: string) =>
  new Refusal(
    status,
    status === 429 ? ERROR_TITLES.tooManyRequests : ERROR_TITLES.unavailable,
    `${who} too many large requests at once; nothing was accepted`,
    { [HEADERS.retryAfter]: '1', [HEADERS.requestAccepted]: 'no', connection: 'close' },
  )
