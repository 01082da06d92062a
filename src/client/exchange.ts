import { HEADERS } from '../api/headers.ts'
import type { Secret } from '../core/secret.ts'
import type { TransportAnswer, TransportRequest } from './transport.ts'

/** One exchange as `--debug` shows it: keys, signatures and private keys are blotted out. */
export interface Exchange {
  method: string
  url: string
  /** Null when no complete answer came; `error` says why. */
  status: number | null
  ms: number
  requestHeaders: Record<string, string>
  requestBody: string
  responseHeaders: Record<string, string>
  responseBody: string
  error: string | null
}

const REDACTED = '[redacted]'
const MAX_BODY = 16 * 1024

/** Blots out what must not be shown: the key wherever it stands, signatures of signed URLs, private keys. */
export function redact(text: string, apiKey: Secret | null): string {
  const blotted = text
    .replace(/("(?:private_key|signature|x-api-key)"\s*:\s*")(?:[^"\\]|\\.)*/gi, `$1${REDACTED}`)
    .replace(/\b(signature=)[^&"\s\\]*/gi, `$1${REDACTED}`)
  return apiKey === null ? blotted : blotted.replaceAll(apiKey.reveal(), REDACTED)
}

export function describeExchange(
  request: TransportRequest,
  outcome: { answer: TransportAnswer } | { error: string },
  ms: number,
  apiKey: Secret | null,
): Exchange {
  const answer = 'answer' in outcome ? outcome.answer : null
  return {
    method: request.method,
    url: redact(request.url, apiKey),
    status: answer?.status ?? null,
    ms,
    requestHeaders: redactHeaders(request.headers, apiKey),
    requestBody:
      request.stream === undefined
        ? bodyText(request.body, request.headers['content-type'], apiKey)
        : `<${request.stream.size} bytes>`,
    responseHeaders: redactHeaders(answer?.headers ?? {}, apiKey),
    responseBody: bodyText(answer?.body, answer?.headers['content-type'], apiKey),
    error: 'error' in outcome ? redact(outcome.error, apiKey) : null,
  }
}

function redactHeaders(headers: Readonly<Record<string, string>>, apiKey: Secret | null): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      name.toLowerCase() === HEADERS.apiKey ? REDACTED : redact(value, apiKey),
    ]),
  )
}

function bodyText(body: Uint8Array | undefined, type: string | undefined, apiKey: Secret | null): string {
  if (body === undefined || body.length === 0) return ''
  if (!/json|text|xml/i.test(type ?? '')) return `<${body.length} bytes>`
  // Redacted before it is cut: half of a secret would not be recognised.
  const text = redact(Buffer.from(body).toString('utf8'), apiKey)
  return text.length > MAX_BODY ? `${text.slice(0, MAX_BODY)}… (${body.length} bytes in all)` : text
}
