import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** How often connections that became idle are looked for while the last requests end. */
const LOOK_EVERY_MS = 50

/** What keeps a server from losing a request when it stops. */
export interface Draining {
  /** From now on each answer closes its connection, so that those who hold some open go elsewhere. */
  begin(): void
  /** Takes no more connections; resolves when every request is answered, or the time is up. */
  finish(withinMs: number): Promise<void>
}

/**
 * Stops a server in two steps. While a load balancer hasn't noticed yet, requests are answered as ever; then nobody is
 * let in any more, what is under way ends, and streams of events, which never end by themselves, are ended.
 */
export function addDraining(app: FastifyInstance): Draining {
  const { server } = app
  const open = new Set<ServerResponse>()
  const streams = new Set<ServerResponse>()
  let begun = false
  server.on('request', (_request, response) => {
    open.add(response)
    response.once('close', () => {
      open.delete(response)
      streams.delete(response)
    })
  })
  const say = (reply: FastifyReply) => {
    if (begun) reply.header('connection', 'close')
  }
  app.addHook('onRequest', async (_request, reply) => say(reply))
  app.addHook('onSend', async (_request, reply) => {
    // A request that has come before is told with its answer.
    say(reply)
    // By what is answered: clients that ask for either take one that isn't a stream too.
    if (/^text\/event-stream\b/.test(String(reply.getHeader('content-type')))) streams.add(reply.raw)
  })

  return {
    begin() {
      begun = true
    },

    async finish(withinMs) {
      begun = true
      server.close()
      for (const stream of streams) stream.end()
      for (const late = performance.now() + withinMs; open.size > 0 && performance.now() < late; ) {
        await delay(LOOK_EVERY_MS)
        server.closeIdleConnections()
      }
      server.closeIdleConnections()
    },
  }
}
