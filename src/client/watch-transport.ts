import { messageOf } from '../core/errors.ts'
import { redactHeaders, redactText } from '../core/redact.ts'
import { shorten } from '../core/shorten.ts'
import type { Transport, TransportRequest, TransportResponse } from './transport.ts'

export type OnExchange = (exchange: Exchange) => void

/** Returns a transport that reports every exchange, with secrets redacted. Errors of the listener are ignored. */
export function watchTransport(transport: Transport, onExchange: OnExchange): Transport {
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

/** An HTTP exchange as `--debug` shows it. Keys, signatures and private keys are redacted. */
export interface Exchange {
  method: string
  url: string
  /** Status of the response. Null if there was no complete response. In that case, `error` contains the reason. */
  status: number | null
  ms: number
  requestHeaders: Record<string, string>
  requestBody: string
  responseHeaders: Record<string, string>
  responseBody: string
  error: string | null
}

const MAX_BODY_BYTES = 16 * 1024

function describeExchange(
  request: TransportRequest,
  outcome: { response: TransportResponse } | { error: string },
  ms: number,
): Exchange {
  const response = 'response' in outcome ? outcome.response : null
  return {
    method: request.method,
    url: redactText(request.url),
    status: response?.status ?? null,
    ms,
    requestHeaders: redactHeaders(request.headers),
    requestBody:
      request.stream === undefined
        ? bodyText(request.body, request.headers['content-type'])
        : `<${request.stream.size} bytes>`,
    responseHeaders: redactHeaders(response?.headers ?? {}),
    responseBody: bodyText(response?.body, response?.headers['content-type']),
    error: 'error' in outcome ? redactText(outcome.error) : null,
  }
}

function bodyText(body: Uint8Array | undefined, type: string | undefined): string {
  if (body === undefined || body.length === 0) return ''
  if (!/json|text|xml/i.test(type ?? '')) return `<${body.length} bytes>`
  // Redact before truncating, because a truncated secret would not be recognized.
  const text = redactText(Buffer.from(body).toString('utf8'))
  return shorten(text, MAX_BODY_BYTES, `… (${body.length} bytes in all)`)
}
