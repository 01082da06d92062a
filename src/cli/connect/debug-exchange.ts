import { HEADERS } from '../../api/headers.ts'
import type { Exchange } from '../../client/watch-transport.ts'
import { type Io, safe } from '../io/io.ts'

/** Headers that are omitted, because they don't help with debugging. */
const OMITTED_HEADERS = new Set([
  'connection',
  'keep-alive',
  'date',
  'content-length',
  'transfer-encoding',
  'accept',
  'host',
])

/** Returns a function that prints exchanges to stderr; undefined without `--debug`. */
export function debugExchanges(io: Io): ((exchange: Exchange) => void) | undefined {
  if (!io.settings.debug) return undefined
  return (exchange) => {
    for (const line of exchangeLines(exchange)) io.debug(safe(line))
  }
}

/** Formats an exchange. `>` marks sent lines, and `<` marks received lines. Secrets are already redacted. */
export function exchangeLines(exchange: Exchange): string[] {
  const { method, url, status, ms, requestHeaders, requestBody, responseHeaders, responseBody, error } = exchange
  const id = responseHeaders[HEADERS.requestId]
  const came =
    status === null
      ? `no response after ${ms} ms: ${error}`
      : `${status} in ${ms} ms${id === undefined ? '' : `, request ID ${id}`}`
  return [
    `> ${method} ${url}`,
    ...headerLines('>', requestHeaders),
    ...(requestBody === '' ? [] : [`> ${requestBody}`]),
    `< ${came}`,
    ...headerLines('<', responseHeaders),
    ...(responseBody === '' ? [] : [`< ${responseBody}`]),
  ]
}

const headerLines = (mark: string, headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .filter(([name]) => !OMITTED_HEADERS.has(name.toLowerCase()))
    .map(([name, value]) => `${mark} ${name}: ${value}`)
