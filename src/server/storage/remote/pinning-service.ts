import { GdnError } from '../../../core/errors.ts'
import { redactText } from '../../../core/redact.ts'
import type { Secret } from '../../../core/secret.ts'
import { StorageUnavailableError } from '../adapter.ts'
import { openStorageClient, type StorageRequest } from './storage-client.ts'

export interface PinRequest {
  /** What the service calls it. */
  id: string
  status: 'queued' | 'pinning' | 'pinned' | 'failed'
  /** What the service says of a failure. */
  details: string | null
}

/** A service that keeps content on the IPFS network (IPFS Pinning Service API). */
export interface PinningService {
  readonly name: string
  /** Asks it to keep what a CID leads to. Asked twice, it may keep it twice: look before. */
  pin(cid: string, origins: readonly string[]): Promise<PinRequest>
  /** What it keeps or is about to keep under a CID already; null where that is nothing. */
  find(cid: string): Promise<PinRequest | null>
  /** How far a request is; null where it knows of none. */
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

  /** What `read` finds in an answer; undefined is an answer that isn't one. */
  const understand = <Found>(status: number, body: Buffer, read: (json: unknown) => Found | undefined): Found => {
    const json = parse(body)
    const found = status === 200 || status === 202 ? read(json) : undefined
    if (found !== undefined) return found
    const details = { status }
    if (status === 401 || status === 403) {
      throw new GdnError('forbidden', `${name} refused the token (${status})`, {
        hint: 'check pinning.token_file',
        details,
      })
    }
    const said = reasonIn(json)
    if (said !== null) throw new StorageUnavailableError(`${name} refused: ${said}`, { details })
    throw new GdnError('bad_answer', `${name} did not answer as the IPFS Pinning Service API has it (${status})`, {
      hint: 'check pinning.endpoint: /pins is added to it',
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
      // Once: after a lost answer it is to be looked for first.
      const answer = await client.askOnce(request)
      return understand(answer.status, answer.body, (json) => pinIn(json) ?? undefined)
    },

    async find(cid) {
      const { status, body } = await get(`/pins?cid=${cid}&status=queued,pinning,pinned&limit=1`)
      return understand(status, body, (json) => {
        const results = isObject(json) ? json.results : undefined
        return Array.isArray(results) ? pinIn(results[0]) : undefined
      })
    },

    async status(id) {
      const { status, body } = await get(`/pins/${encodeURIComponent(id)}`)
      return status === 404 ? null : understand(status, body, (json) => pinIn(json) ?? undefined)
    },

    problem: client.problem,
    close: client.close,
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object'

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function pinIn(json: unknown): PinRequest | null {
  if (!isObject(json) || typeof json.requestid !== 'string' || json.requestid.length > 255) return null
  const status = STATUSES.find((each) => each === json.status)
  if (status === undefined) return null
  const details = isObject(json.info) ? json.info.status_details : undefined
  return { id: json.requestid, status, details: typeof details === 'string' ? redactText(details).slice(0, 200) : null }
}

function reasonIn(json: unknown): string | null {
  const error = isObject(json) && isObject(json.error) ? json.error : null
  if (typeof error?.reason !== 'string') return null
  const details = typeof error.details === 'string' ? `: ${error.details}` : ''
  return redactText(`${error.reason}${details}`).slice(0, 300)
}
