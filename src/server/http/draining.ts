import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Interval in milliseconds between checks for idle connections while the last requests are in flight. */
const CHECK_INTERVAL_MS = 50

/** The functions that stop a server without losing requests. */
export interface Draining {
  /** Signal that is aborted when the drain begins. */
  readonly beginSignal: AbortSignal
  /**
   * Begins the drain. From then on, every response closes its connection, so that clients connect to another process.
   */
  begin(): void
  /** Stops accepting connections. Resolves when every request has its response, or after the timeout. */
  finish(withinMs: number): Promise<void>
}

/**
 * Adds a two-step stop to a server. First, requests are served as usual, because a load balancer may not have detected
 * the stop yet. Then no new connection is accepted, requests in flight finish, and event streams are closed, because
 * they never end by themselves.
 */
export function addDraining(app: FastifyInstance): Draining {
  const { server } = app
  const openResponses = new Set<ServerResponse>()
  const streams = new Set<ServerResponse>()
  const drain = new AbortController()
  const beginSignal = drain.signal
  server.on('request', (_request, response) => {
    openResponses.add(response)
    response.once('close', () => {
      openResponses.delete(response)
      streams.delete(response)
    })
  })
  const sendConnectionClose = (reply: FastifyReply) => {
    if (beginSignal.aborted) reply.header('connection', 'close')
  }
  app.addHook('onRequest', async (_request, reply) => sendConnectionClose(reply))
  app.addHook('onSend', async (_request, reply) => {
    // Set the header again for a request that arrived before the drain began.
    sendConnectionClose(reply)
    // Check the type of the response, because a client that accepts streams may get an error response instead.
    if (/^text\/event-stream\b/.test(String(reply.getHeader('content-type')))) streams.add(reply.raw)
  })

  return {
    beginSignal,
    begin: () => drain.abort(),

    async finish(withinMs) {
      drain.abort()
      server.close()
      for (const stream of streams) stream.end()
      for (const late = performance.now() + withinMs; openResponses.size > 0 && performance.now() < late; ) {
        await delay(CHECK_INTERVAL_MS)
        server.closeIdleConnections()
      }
      server.closeIdleConnections()
    },
  }
}
