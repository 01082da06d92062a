import { decodeBody, limitBody } from '../files/body.ts'
import {
  checkResponse,
  createFileRequester,
  discardBody,
  type FetcherOptions,
  readHeader,
  startTimeLimit,
} from '../files/exchange.ts'
import { FetchFailure } from '../files/failure.ts'
import { checkTarget } from '../files/target.ts'

/** Maximum size of a response in bytes. Enough for proofs of a rollup's state. */
const MAX_RESPONSE_BYTES = 2 * 1024 * 1024
export const GATEWAY_TIMEOUT_MS = 10_000

export interface GatewayRequest {
  /** The address of the contract that requests the lookup, in lower case. */
  sender: string
  /** The call data for the gateway, in hexadecimal. */
  data: string
}

/** Sends lookups to the gateways that ENS names refer to (CCIP-Read, ERC-3668). */
export interface GatewayClient {
  /**
   * Sends a lookup to the gateway at a URL. The URL comes from a contract and isn't trusted, so it is checked like the
   * URL of a file.
   *
   * @returns the response in hexadecimal. The contract verifies it.
   * @throws FetchFailure; the signal's reason once the signal is aborted
   */
  lookUp(template: string, question: GatewayRequest, signal: AbortSignal): Promise<`0x${string}`>
  close(): Promise<void>
}

export type GatewayOptions = Pick<FetcherOptions, 'isTrusted' | 'lookup' | 'userAgent' | 'timeoutMs'>

export function createGatewayClient(options: GatewayOptions): GatewayClient {
  const { timeoutMs = GATEWAY_TIMEOUT_MS, isTrusted } = options
  const requester = createFileRequester({ ...options, timeoutMs, allowPrivate: false })
  return {
    async lookUp(template, { sender, data }, signal) {
      // According to ERC-3668, a URL template with {data} is requested with GET, and any other template with POST.
      const url = template.replaceAll('{sender}', sender).replaceAll('{data}', data)
      const post = template.includes('{data}') ? undefined : JSON.stringify({ data, sender })
      // Omit the data from the label, because the data may be long.
      const label = gatewayOrigin(template)
      const mayBePrivate = (target: URL) => isTrusted?.(target) ?? false
      // Check the URL without the data first, so that the error message is short.
      checkTarget(template.replaceAll('{sender}', sender).replaceAll('{data}', '0x'), mayBePrivate)
      const { url: checked } = checkTarget(url, mayBePrivate)
      const first = { url: checked, label }
      const timeLimit = startTimeLimit(timeoutMs, signal)
      let response: Awaited<ReturnType<typeof requester.follow>>['response'] | undefined
      try {
        const headers: Record<string, string> = { accept: 'application/json' }
        if (post !== undefined) headers['content-type'] = 'application/json'
        const followed = await requester.follow(first, timeLimit, headers, post)
        response = followed.response
        const rules = { maxBytes: MAX_RESPONSE_BYTES, allowHtml: false }
        checkResponse(response, label, rules)
        const contentEncoding = readHeader(response, 'content-encoding') ?? ''
        const body = decodeBody(response.body, { contentEncoding, label, maxBytes: MAX_RESPONSE_BYTES })
        const text = await timeLimit.runLimited(first, async () => {
          const pieces: Uint8Array[] = []
          for await (const piece of limitBody(body, MAX_RESPONSE_BYTES, label)) pieces.push(piece)
          return Buffer.concat(pieces).toString('utf8')
        })
        return parseHexResponse(text, label)
      } catch (error) {
        discardBody(response)
        throw error
      } finally {
        timeLimit.stop()
      }
    },
    close: () => requester.close(),
  }
}

/**
 * Returns the hexadecimal data in a response, which is the member `data` of a JSON object, a JSON string, or the whole
 * text.
 */
function parseHexResponse(text: string, label: string): `0x${string}` {
  const value = parseData(text)
  if (typeof value === 'string' && /^0x(?:[0-9a-f]{2})*$/i.test(value)) return value as `0x${string}`
  throw new FetchFailure(`${label} returned a response that is not hexadecimal data`, { isLasting: true })
}

function parseData(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && 'data' in value ? value.data : value
  } catch {
    return text.trim()
  }
}

/** Returns the origin of a gateway's URL. Messages show only the origin. */
export function gatewayOrigin(template: string): string {
  try {
    const { origin, protocol, host } = new URL(template.replaceAll('{', '').replaceAll('}', ''))
    return origin === 'null' ? `${protocol}//${host}` : origin
  } catch {
    return 'its gateway'
  }
}
