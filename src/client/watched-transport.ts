import { messageOf } from '../core/errors.ts'
import { describeExchange, type Exchange } from './exchange.ts'
import type { Transport, TransportResponse } from './transport.ts'

export type OnExchange = (exchange: Exchange) => void

/** Returns a transport that reports every exchange, with secrets redacted. Errors of the listener are ignored. */
export function watched(transport: Transport, onExchange: OnExchange): Transport {
  return {
    async request(request) {
      const start = performance.now()
      const tell = (outcome: { response: TransportResponse } | { error: string }) => {
        try {
          onExchange(describeExchange(request, outcome, Math.round(performance.now() - start)))
        } catch {
          // The listener failed, for example because a stream was closed.
        }
      }
      try {
        const response = await transport.request(request)
        tell({ response })
        return response
      } catch (error) {
        tell({ error: messageOf(error) })
        throw error
      }
    },
    onDisconnect: (listener) => transport.onDisconnect?.(listener),
    close: () => transport.close(),
  }
}
