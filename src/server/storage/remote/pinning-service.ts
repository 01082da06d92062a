import { GdnError } from '../../../core/errors.ts'
import { isObject, parseJson } from '../../../core/json.ts'
import { redactText } from '../../../core/redact.ts'
import type { Secret } from '../../../core/secret.ts'
import { StorageUnavailableError } from '../adapter.ts'
import { openStorageClient, type StorageRequest } from './storage-client.ts'

export interface PinRequest {
  /** The ID that the service assigned to the request. */
  id: string
  status: 'queued' | 'pinning' | 'pinned' | 'failed'
  /** The service's reason for a failure. */
  details: string | null
}

/** A service that keeps content available on the IPFS network (IPFS Pinning Service API). */
export interface PinningService {
  readonly name: string
  /** Asks the service to pin a CID. Look up the CID first, because a repeated request may create a second pin. */
  pin(cid: string, origins: readonly string[]): Promise<PinRequest>
  /** Returns the existing or pending pin of a CID; null if there is none. */
  find(cid: string): Promise<PinRequest | null>
  /** Returns the status of a request; null if the service doesn't have it. */
  status(id: string): Promise<PinRequest | null>
  problem(): string | null
  close(): Promise<void>
}

export interface PinningServiceOptions {
  endpoint: string
  token: () => Secret
  userAgent: string
}

const STATUSES = ['queued', 'pinning', 'pinned', 'failed'] as const

export function openPinningService({ endpoint, token, userAgent }: PinningServiceOptions): PinningService {
  const name = `the pinning service ${new URL(endpoint).host}`
  const client = openStorageClient(name, userAgent)
  const headers = () => ({ authorization: `Bearer ${token().reveal()}` })

  const get = (path: string) => client.ask(async () => ({ method: 'GET', url: endpoint + path, headers: headers() }))

  /** Returns the result of `read` for a response. If `read` returns undefined, the response is invalid. */
  const parseResponse = <Found>(status: number, body: Buffer, read: (json: unknown) => Found | undefined): Found => {
    const json = parseJson(body.toString('utf8'))
    const result = status === 200 || status === 202 ? read(json) : undefined
    if (result !== undefined) return result
    const details = { status }
    if (status === 401 || status === 403) {
      throw new GdnError('forbidden', `${name} rejected the token (${status})`, {
        hint: 'Check pinning.token_file.',
        details,
      })
    }
    const reason = parseReason(json)
    if (reason !== null) throw new StorageUnavailableError(`${name} rejected the request: ${reason}`, { details })
    throw new GdnError('bad_answer', `${name} did not respond like an IPFS Pinning Service API (${status})`, {
      hint: 'Check pinning.endpoint. gdn appends /pins to the URL.',
      details,
    })
  }

  return {
    name,

    async pin(cid, origins) {
      const text = Buffer.from(JSON.stringify({ cid, ...(origins.length === 0 ? {} : { origins }) }))
      const request: StorageRequest = {
        method: 'POST',
        url: `${endpoint}/pins`,
        headers: { ...headers(), 'content-type': 'application/json' },
        body: {
          size: text.length,
          async *open() {
            yield text
          },
        },
      }
      // Send this request only once. After a lost response, the pin must be looked up first.
      const response = await client.askOnce(request)
      return parseResponse(response.status, response.body, (json) => parsePin(json) ?? undefined)
    },

    async find(cid) {
      const { status, body } = await get(`/pins?cid=${cid}&status=queued,pinning,pinned&limit=1`)
      return parseResponse(status, body, (json) => {
        const results = isObject(json) ? json.results : undefined
        return Array.isArray(results) ? parsePin(results[0]) : undefined
      })
    },

    async status(id) {
      const { status, body } = await get(`/pins/${encodeURIComponent(id)}`)
      return status === 404 ? null : parseResponse(status, body, (json) => parsePin(json) ?? undefined)
    },

    problem: client.problem,
    close: client.close,
  }
}

function parsePin(json: unknown): PinRequest | null {
  if (!isObject(json) || typeof json.requestid !== 'string' || json.requestid.length > 255) return null
  const status = STATUSES.find((each) => each === json.status)
  if (status === undefined) return null
  const details = isObject(json.info) ? json.info.status_details : undefined
  return { id: json.requestid, status, details: typeof details === 'string' ? redactText(details).slice(0, 200) : null }
}

function parseReason(json: unknown): string | null {
  const error = isObject(json) && isObject(json.error) ? json.error : null
  if (typeof error?.reason !== 'string') return null
  const details = typeof error.details === 'string' ? `: ${error.details}` : ''
  return redactText(`${error.reason}${details}`).slice(0, 300)
}
