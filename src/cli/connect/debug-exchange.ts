import { HEADERS } from '../../api/headers.ts'
import type { Exchange } from '../../client/exchange.ts'
import { type Io, safe } from '../io/io.ts'

/** Headers that say nothing about what happened. */
const DULL = new Set(['connection', 'keep-alive', 'date', 'content-length', 'transfer-encoding', 'accept', 'host'])

/** Tells of an exchange with `--debug`, on stderr; undefined where nobody wants to know. */
export function debugExchanges(io: Io): ((exchange: Exchange) => void) | undefined {
  if (!io.settings.debug) return undefined
  return (exchange) => {
    for (const line of exchangeLines(exchange)) io.debug(safe(line))
  }
}

/** `>` is what was sent, `<` what came back; the secrets are out of it already. */
export function exchangeLines(exchange: Exchange): string[] {
  const { method, url, status, ms, requestHeaders, requestBody, responseHeaders, responseBody, error } = exchange
  const id = responseHeaders[HEADERS.requestId]
  const came =
    status === null
      ? `no answer after ${ms} ms: ${error}`
      : `${status} in ${ms} ms${id === undefined ? '' : `, request id ${id}`}`
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
    .filter(([name]) => !DULL.has(name.toLowerCase()))
    .map(([name, value]) => `${mark} ${name}: ${value}`)
