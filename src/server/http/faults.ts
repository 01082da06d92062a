import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type EndpointName, endpointAt } from '../../api/endpoints.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import type { InjectedFault } from '../faults/fault-for.ts'
import type { Faults } from '../faults/faults.ts'
import type { Log } from '../log.ts'
import { Refusal } from '../services/refusals.ts'

/** Name of the header that marks a response as injected. */
export const FAULT_HEADER = 'x-gdn-fault'

const MESSAGE = 'an injected fault: this server runs with --faults'

const TITLE_OF = {
  429: ERROR_TITLES.tooManyRequests,
  500: ERROR_TITLES.internal,
  503: ERROR_TITLES.unavailable,
} as const

function endpointOf({ routeOptions, method }: FastifyRequest): EndpointName | undefined {
  return method === 'POST' ? endpointAt(routeOptions.url ?? '') : undefined
}

/**
 * Injects faults into API requests according to the rules. Call this function after `addAuthentication`, because
 * requests that authentication rejects must not count.
 */
export function addFaults(app: FastifyInstance, faults: Faults, log: Log): void {
  const injectedFaults = new WeakMap<FastifyRequest, InjectedFault>()

  app.addHook('onRequest', async (request, reply) => {
    const endpoint = endpointOf(request)
    if (endpoint === undefined) return
    const injected = faults.next(endpoint, request.ownId)
    const { delayMs, verdict } = injected
    injectedFaults.set(request, injected)
    if (delayMs > 0) {
      reply.header(FAULT_HEADER, 'latency')
      await delay(delayMs)
    }
    if (verdict === null) return
    log.warn({ request: request.id, ...verdict, endpoint }, 'injected a fault')
    reply.header(FAULT_HEADER, verdict.fault)
    if (verdict.fault === 'cut' && verdict.when === 'before') {
      reply.hijack()
      request.raw.socket.destroy()
    }
    if (verdict.fault === 'status') {
      const { status, retry_after: wait = status === 429 ? 1 : undefined } = verdict
      throw new Refusal(
        status,
        TITLE_OF[status],
        MESSAGE,
        wait === undefined ? {} : { [HEADERS.retryAfter]: String(wait) },
      )
    }
  })

  app.addHook('onSend', async (request, reply) => {
    const verdict = injectedFaults.get(request)?.verdict
    const { socket } = request.raw
    // A fault after acceptance applies only to accepted requests. Any other request gets its normal response.
    if (verdict == null || reply.statusCode >= 300 || socket.destroyed) return
    if (verdict.fault === 'cut' && verdict.when === 'after') socket.destroy()
    if (verdict.fault === 'timeout') await once(socket, 'close')
  })

  app.addHook('onResponse', async ({ ownId }) => faults.end(ownId))
}
