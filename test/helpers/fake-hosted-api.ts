import type { Capability } from '../../src/api/headers.ts'
import type { BatchClient, ReadEndpoint } from '../../src/batch/types.ts'
import type { RequestOf, ResponseOf } from '../../src/client/api-client.ts'
import type { SendOnceResult } from '../../src/client/outcome.ts'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import { GdnError } from '../../src/core/errors.ts'

/** Failures of a mint request. With `…_after`, the server accepts it first. */
export type Fault =
  | 'not_sent'
  | 'cut_before'
  | 'cut_after'
  | 'status_before'
  | 'status_after'
  | 'rate_limited'
  /** The 503 of gdn's backend for a request of which it accepted nothing. */
  | 'not_now'
  /** It accepts the request, but the response has an ID too few or too many, or IDs in another order. */
  | 'fewer_ids'
  | 'more_ids'
  | 'other_order'
  | 'refused'

export interface Minted {
  id: string
  content: string
  receiver: string
  metadata: unknown
  polls: number
  /** When it was accepted. */
  at: number
  /** The key it was sent with, or null if another client minted it. */
  by: string | null
}

/** Selects the fault of an attempt. Attempts are counted over all requests. */
export type FaultOf = (attempt: number, body: MintBody) => { fault: Fault; status?: number } | null

export interface FakeOptions {
  /** Whether it supports Idempotency-Key, like gdn's backend and unlike the hosted service. */
  idempotency: boolean
  /** Whether it creates each reference ID once. */
  references?: boolean
  faultOf?: FaultOf | undefined
  /** Number of polls before an NFT is deployed. */
  pollsToDeploy?: number
  /** Changes the IDs of a response, or the record of an NFT, to simulate a faulty server. */
  answerIds?: (ids: string[]) => string[]
  record?: (record: Record<string, unknown>) => Record<string, unknown> | null
  /** Resolves when the response to an attempt may leave, so that responses can overtake each other. */
  beforeResponse?: ((attempt: number) => Promise<unknown>) | undefined
  /** Called when a request arrives, and when it has been accepted. It may throw to simulate a crash. */
  onArrival?: () => void
  onCommit?: () => void
  /** Called when a read request arrives. It may throw an error of the client. */
  onRead?: ((endpoint: ReadEndpoint) => void) | undefined
  /** Prefix of IDs. */
  idPrefix?: string
  /** Delay before an accepted NFT is listed, by the clock `now`. */
  listingLagMs?: number
  now?: () => number
  /** Whether records have null for owner and contract until they are deployed. */
  nullUntilDeployed?: boolean
  /** Rewrites metadata when the server stores it. */
  rewrite?: ((metadata: Record<string, unknown>) => Record<string, unknown>) | undefined
  /** Maximum rows of a request; above it the response is 413. */
  maxRows?: number
}

export interface MintBody {
  contract_address: string
  blockchain: string
  receiver_wallet_address: string
  sender_wallet_address?: string
  metadata: { title: string }[]
  reference_ids?: string[]
}

/** A server that mints in this process: a stand-in for the hosted service (no idempotency) or for gdn's backend. */
export class FakeHostedApi implements BatchClient {
  readonly minted = new Map<string, Minted>()
  readonly bodies: MintBody[] = []
  /** Runs that requests named in their headers. */
  readonly runs = new Set<string>()
  readonly uploads: string[] = []
  /** Read requests in the order of arrival. */
  readonly reads: ReadEndpoint[] = []
  attempts = 0
  readonly #options: FakeOptions
  readonly #replies = new Map<string, { body: string; reply: SendOnceResult }>()
  /** The NFT of each reference ID. */
  readonly #named = new Map<string, string>()
  #idempotency: boolean | null = null

  constructor(options: FakeOptions) {
    this.#options = options
  }

  supports(capability: Capability): boolean | null {
    if (capability === 'idempotency') return this.#idempotency
    return capability === 'references' && (this.#options.references ?? false)
  }

  async learnCapabilities(): Promise<boolean> {
    this.#idempotency = this.#options.idempotency
    return this.#idempotency
  }

  /** Simulates a restarted client, which knows nothing of the server yet. */
  restart(): void {
    this.#idempotency = null
  }

  /** Number of mints of each title. */
  countsByTitle(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { metadata } of this.minted.values()) {
      const { title } = metadata as { title: string }
      counts.set(title, (counts.get(title) ?? 0) + 1)
    }
    return counts
  }

  async send(
    endpoint: string,
    bytes: Uint8Array,
    options: { idempotencyKey: string; run: string; signal?: AbortSignal | undefined },
  ): Promise<SendOnceResult> {
    await new Promise((resolve) => setImmediate(resolve))
    const text = Buffer.from(bytes).toString('utf8')
    const body = JSON.parse(text) as MintBody
    const attempt = ++this.attempts
    this.runs.add(options.run)
    const found = this.#options.faultOf?.(attempt, body) ?? null
    const fault = found?.fault ?? null
    const status = found?.status ?? 500
    if (fault === 'not_sent') return { kind: 'not_sent', reason: 'connect ECONNREFUSED' }
    this.#options.onArrival?.()
    if (fault === 'cut_before') return { kind: 'cut', reason: 'socket hang up' }
    if (fault === 'rate_limited') return this.#answer(429, error('slow down'), { 'retry-after': '1' })
    if (fault === 'not_now') return this.#answer(503, error('not now'), NOT_NOW)
    if (fault === 'status_before') return this.#answer(status, error(`fault ${status}`))
    if (body.metadata.length > (this.#options.maxRows ?? Number.POSITIVE_INFINITY)) {
      return this.#answer(413, error('too large'))
    }
    if (fault === 'refused') return this.#answer(status, error('the receiver is on a list'))
    const reply = this.#mint(endpoint, text, body, options.idempotencyKey)
    this.#options.onCommit?.()
    await new Promise((resolve) => setImmediate(resolve))
    await this.#options.beforeResponse?.(attempt)
    if (fault === 'cut_after') return { kind: 'cut', reason: 'socket hang up' }
    if (fault === 'status_after') return this.#answer(status, error(`fault ${status}`))
    if (reply.kind !== 'answered') return reply
    return this.#answer(reply.status, fault === null ? reply.json : oddReply(fault, reply.json))
  }

  async call<Name extends ReadEndpoint>(endpoint: Name, request: RequestOf<Name>): Promise<ResponseOf<Name>> {
    return (await this.#read(endpoint, request)) as ResponseOf<Name>
  }

  async #read(endpoint: ReadEndpoint, request: Readonly<Record<string, unknown>>): Promise<unknown> {
    await new Promise((resolve) => setImmediate(resolve))
    this.reads.push(endpoint)
    this.#options.onRead?.(endpoint)
    if (endpoint === 'getnftgdnids') {
      this.#idempotency = this.#options.idempotency
      const { now = () => 0, listingLagMs = 0 } = this.#options
      const listed = [...this.minted.values()].filter(({ at }) => now() - at >= listingLagMs)
      const { contract_addresses, blockchain } = request
      const requests = { contract_address: contract_addresses, blockchain }
      return { requests, nft_gdn_ids: listed.map(({ id }) => id) }
    }
    if (endpoint === 'getreferences') return { requests: request, references: this.#references(request) }
    const { nft_gdn_ids } = request as { nft_gdn_ids: string[] }
    if (nft_gdn_ids.length > 100) throw new GdnError('refused', 'too many ids')
    this.#idempotency = this.#options.idempotency
    const nfts: unknown[] = []
    for (const id of nft_gdn_ids) {
      const nft = this.minted.get(id)
      if (nft === undefined) continue
      nft.polls++
      const record = this.#record(nft)
      if (record !== null) nfts.push(record)
    }
    return { requests: { nft_gdn_ids }, nfts }
  }

  #references({ operation, reference_ids }: Readonly<Record<string, unknown>>): object[] {
    if (operation !== 'createnft') return []
    return (reference_ids as string[]).flatMap((reference_id) => {
      const nft_gdn_id = this.#named.get(reference_id)
      return nft_gdn_id === undefined ? [] : [{ reference_id, nft_gdn_id, status: 'initiated', is_free: false }]
    })
  }

  async upload(path: string): Promise<{ url: string }> {
    this.uploads.push(path)
    return { url: `ipfs://b${'a'.repeat(57)}${this.uploads.length + 1}` }
  }

  #mint(endpoint: string, text: string, body: MintBody, key: string): SendOnceResult {
    const known = this.#options.idempotency ? this.#replies.get(key) : undefined
    if (known !== undefined) {
      return known.body === text
        ? known.reply
        : { kind: 'answered', status: 422, headers: {}, json: error('other body') }
    }
    this.bodies.push(body)
    const ids = body.metadata.map((metadata, index) => {
      const reference = body.reference_ids?.[index] ?? ''
      const id = this.#named.get(reference) ?? this.#add(endpoint, body.receiver_wallet_address, metadata, key)
      if (reference !== '') this.#named.set(reference, id)
      return id
    })
    const answered = this.#options.answerIds?.(ids) ?? ids
    const json = { message: 'accepted', requests: {}, nfts: answered.map((id) => ({ nft_gdn_ids: id })) }
    const reply: SendOnceResult = { kind: 'answered', status: 200, headers: {}, json }
    this.#replies.set(key, { body: text, reply })
    return reply
  }

  #add(endpoint: string, receiver: string, sent: object, by: string | null): string {
    const { idPrefix = 'nft', now = () => 0, rewrite } = this.#options
    const id = `${idPrefix}-${this.minted.size + 1}`
    const content = canonicalJson([endpoint, receiver, sent])
    const metadata = rewrite?.({ ...sent }) ?? sent
    this.minted.set(id, { id, content, receiver, metadata, polls: 0, at: now(), by })
    return id
  }

  /** Simulates another client that mints in the same collection. */
  mintByOther(receiver: string, metadata: object): string {
    return this.#add('createnft', receiver, metadata, null)
  }

  /** Changes the owner of an NFT. */
  move(id: string, receiver: string): void {
    const nft = this.minted.get(id)
    if (nft === undefined) throw new Error(`no NFT ${id}`)
    nft.receiver = receiver
  }

  /** Returns the IDs of the NFTs with a title. */
  idsOf(title: string): string[] {
    return [...this.minted.values()]
      .filter(({ metadata }) => (metadata as { title?: string }).title === title)
      .map(({ id }) => id)
  }

  #record(nft: Minted): Record<string, unknown> | null {
    const deployed = nft.polls > (this.#options.pollsToDeploy ?? 0)
    const isShown = deployed || this.#options.nullUntilDeployed !== true
    const record = {
      nft_gdn_id: nft.id,
      token_id: deployed ? (nft.id.split('-').at(-1) ?? '') : null,
      contract_address: isShown ? '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' : null,
      receiver_wallet_address: isShown ? nft.receiver : null,
      status: deployed ? 'deployed' : 'initiated',
      request_metadata: nft.metadata,
      metadata_url: deployed ? `ipfs://metadata/${nft.id}` : null,
    }
    return this.#options.record === undefined ? record : this.#options.record(record)
  }

  #answer(status: number, json: unknown, headers: Record<string, string> = {}): SendOnceResult {
    // A 5xx of a proxy reveals nothing about the server behind it.
    if (status < 500) this.#idempotency = this.#options.idempotency
    return { kind: 'answered', status, headers, json }
  }
}

const NOT_NOW = { 'request-accepted': 'no', 'idempotency-supported': 'yes', 'retry-after': '1' }

/** Returns the response of a server that got the list of IDs wrong. */
function oddReply(fault: Fault, json: unknown): unknown {
  const { nfts, ...rest } = json as { nfts: object[] }
  if (fault === 'fewer_ids') return { ...rest, nfts: nfts.slice(1) }
  if (fault === 'more_ids') return { ...rest, nfts: [...nfts, { nft_gdn_ids: 'nft-of-no-row' }] }
  if (fault === 'other_order') return { ...rest, nfts: nfts.toReversed() }
  return json
}

const error = (message: string) => ({ error: { title: 'Error', message } })
