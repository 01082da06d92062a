import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CreatingEndpoint } from '../../src/api/endpoints.ts'
import type { ApiClient } from '../../src/client/api-client.ts'
import type { IdentifiedBackend } from '../../src/client/backend.ts'
import { createClient } from '../../src/client/client.ts'
import { TransportError, type TransportRequest, type TransportResponse } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { operate } from '../../src/operations/operate.ts'
import type { OperationEvent, RequestSpec, WaitResult } from '../../src/operations/types.ts'
import { openSqlite, type RawDatabase } from '../../src/sqlite/driver.ts'
import { openState, type State } from '../../src/state/open-state.ts'
import type { AcceptedObjects } from '../../src/state/operations.ts'
import type { OperationState } from '../../src/state/transitions.ts'

export const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
export const SENDER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
export const RECEIVER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
export const OTHER = '0x1111111111111111111111111111111111111111'
export const API_KEY = 'sk-0123456789abcdef'
const DATE = '2026-01-31 12:00:00'

export const DAWN = { title: 'Dawn', description: '', file_fields: [] }

/** The request of each endpoint in these tests. */
export const REQUESTS: Readonly<Record<CreatingEndpoint, object>> = {
  createnft: {
    contract_address: CONTRACT,
    blockchain: 'polygon',
    receiver_wallet_address: RECEIVER,
    metadata: [DAWN],
  },
  createnfttrans: {
    contract_address: CONTRACT,
    blockchain: 'polygon',
    sender_wallet_address: SENDER,
    receiver_wallet_address: RECEIVER,
    metadata: [DAWN],
  },
  transfernft: {
    contract_address: CONTRACT,
    token_id: '1',
    blockchain: 'polygon',
    nft_gdn_id: 'the-nft',
    sender_wallet_address: SENDER,
    receiver_wallet_address: RECEIVER,
  },
  creatednft: {
    contract_address: CONTRACT,
    blockchain: 'polygon',
    receiver_wallet_address: RECEIVER,
    metadata: [DAWN],
  },
  updatednft: { nft_gdn_id: 'the-nft', contract_address: CONTRACT, metadata: [DAWN] },
  freezenft: { contract_address: CONTRACT, nft_gdn_ids: ['the-nft'] },
  burnnft: { contract_address: CONTRACT, nft_gdn_id: 'the-nft', holder_wallet_address: SENDER },
  commitprovenance: { contract_address: CONTRACT, provenance: `0x${'ab'.repeat(32)}` },
  createcollection: { wallet_address: RECEIVER, name: 'Dawn', blockchain: 'polygon' },
}

/** A folder in memory, so that no test waits for a disk. */
export const inMemory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Thrown in a killed process at the kill, and by everything it tries afterwards. */
export class Killed extends Error {}

/** Kills the process at a step. */
export class Killer {
  killed = false
  steps = 0
  readonly #at: number

  constructor(at = Number.POSITIVE_INFINITY) {
    this.#at = at
  }

  step = (): void => {
    this.steps++
    if (this.steps === this.#at) this.killed = true
    if (this.killed) throw new Killed('killed')
  }
}

/** The fault of a creating request, before or after the server accepted it. */
export type Fault =
  | 'not_sent'
  | 'cut_before'
  | 'cut_after'
  | 'fewer_ids'
  | 'more_ids'
  /** The 503 of gdn's backend for a request of which it accepted nothing. */
  | 'not_now'
  /** Its 409 for a request that doesn't fit into the limit of its run. */
  | 'max_cost'
  | { status: number; after?: boolean }

interface Minted {
  id: string
  /** Null as long as the API doesn't return it. */
  owner: string | null
  metadata: unknown
}

interface CreatingBody {
  metadata?: unknown[]
  receiver_wallet_address: string
  reference_id?: string
  reference_ids?: string[]
}

interface ReadingBody {
  nft_gdn_ids?: string[]
  transaction_gdn_ids?: string[]
  reference_ids?: string[]
}

interface CreatedReply {
  nfts: { nft_gdn_ids: string }[]
  response: { transaction_gdn_id: string }
}

/** A server behind a client's transport: gdn's backend, or the hosted service without idempotency. */
export class Service {
  idempotency: boolean
  /** Whether it creates each reference ID once. */
  references = false
  readonly nfts: Minted[] = []
  onCreated = (): void => undefined
  /** Changes the response to a creating request. */
  answers: (json: CreatedReply) => object = (json) => json
  readonly transactions: { id: string; endpoint: string }[] = []
  /** Faults of the next creating requests, one each. */
  faults: (Fault | null)[] = []
  /** Creating requests that arrived. */
  readonly arrived: { key: string; body: string }[] = []
  /** The run of each, and the limit of its cost. */
  readonly limits: (readonly [run: string | undefined, maxCost: string | undefined])[] = []
  /** NFTs that the listing doesn't show yet. */
  hidden = new Set<string>()
  listable = true
  listedTwice = false
  /** The owner that the API returns. */
  owner: string | null = SENDER
  readonly #replies = new Map<string, unknown>()
  /** The first request of each Idempotency-Key. */
  readonly #bodies = new Map<string, string>()

  constructor(idempotency: boolean) {
    this.idempotency = idempotency
  }

  mint(metadata: unknown, owner: string): string {
    const id = `nft-${this.nfts.length + 1}`
    this.nfts.push({ id, owner, metadata })
    return id
  }

  /** Restores a backup of before the first request. */
  restore(): void {
    for (const created of [this.nfts, this.transactions]) created.length = 0
    this.#replies.clear()
  }

  /** How many NFTs and transactions were created. */
  get made(): number {
    return this.nfts.length + this.transactions.length
  }

  async request(request: TransportRequest, killer: Killer): Promise<TransportResponse> {
    const endpoint = new URL(request.url).pathname.replace('/api/v1/', '')
    const body = Buffer.from(request.body ?? []).toString('utf8')
    const reading = this.#read(endpoint, JSON.parse(body))
    if (reading !== null) return reading
    killer.step()
    const fault = this.faults.shift() ?? null
    if (fault === 'not_sent') throw new TransportError('connect ECONNREFUSED', false)
    this.arrived.push({ key: request.headers['idempotency-key'] ?? '', body })
    this.limits.push([request.headers['gdn-run'], request.headers['gdn-run-max-cost']])
    killer.step()
    if (fault === 'not_now') return this.#answer(503, refusal, { 'request-accepted': 'no' })
    if (fault === 'max_cost') return this.#answer(409, refusal, { 'error-code': 'run_max_cost' })
    if (fault === 'cut_before') throw new TransportError('socket hang up', true)
    if (fault !== null && typeof fault === 'object' && !fault.after) return this.#answer(fault.status, refusal)
    if (this.#isKeyReused(request.headers['idempotency-key'] ?? '', body)) {
      return this.#answer(422, refusal, { 'error-code': 'idempotency_key_reused' })
    }
    const json = this.#create(endpoint, request.headers['idempotency-key'] ?? '', JSON.parse(body))
    this.onCreated()
    killer.step()
    if (fault === 'cut_after') throw new TransportError('socket hang up', true)
    if (fault === null) return this.#answer(200, this.answers(json as CreatedReply))
    const { nfts = [] } = json as Partial<CreatedReply>
    if (fault === 'fewer_ids') return this.#answer(200, { ...(json as object), nfts: nfts.slice(1) })
    if (fault === 'more_ids') {
      return this.#answer(200, { ...(json as object), nfts: [...nfts, { nft_gdn_ids: 'nft-not-requested' }] })
    }
    if (fault !== null && typeof fault === 'object') return this.#answer(fault.status, refusal)
    return this.#answer(200, json)
  }

  #read(endpoint: string, body: ReadingBody): TransportResponse | null {
    if (endpoint === 'getnftgdnids') {
      if (!this.listable) return this.#answer(403, refusal)
      const ids = this.nfts.map(({ id }) => id).filter((id) => !this.hidden.has(id))
      return this.#answer(200, {
        requests: { contract_address: CONTRACT, blockchain: 'polygon' },
        nft_gdn_ids: this.listedTwice ? [...ids, ...ids] : ids,
      })
    }
    if (endpoint === 'getnfts') {
      const asked = body.nft_gdn_ids ?? []
      const records = this.nfts.filter(({ id }) => asked.includes(id)).map((nft) => recordOf(nft.id, nft.owner, nft))
      const token = asked.includes('the-nft') ? [recordOf('the-nft', this.owner, null)] : []
      return this.#answer(200, { requests: { nft_gdn_ids: asked }, nfts: [...records, ...token] })
    }
    if (endpoint === 'getreferences') {
      const asked = body.reference_ids ?? []
      const references = asked.flatMap((id) => {
        const reply = this.#replies.get(`reference ${asked.join()}`) as Partial<CreatedReply> | undefined
        if (reply === undefined) return []
        const nft = reply.nfts?.[asked.indexOf(id)]?.nft_gdn_ids
        const named =
          nft === undefined ? { transaction_gdn_id: reply.response?.transaction_gdn_id } : { nft_gdn_id: nft }
        return [{ reference_id: id, ...named, status: 'initiated', digest: 'v1:', accepted_date: DATE, is_free: false }]
      })
      return this.#answer(200, { requests: { operation: '', reference_ids: asked }, references })
    }
    if (endpoint === 'gettransactions') {
      const known = this.transactions.filter(({ id }) => body.transaction_gdn_ids?.includes(id))
      const transactions = known.map(({ id }) => ({ transaction_gdn_id: id, status: 'deployed' }))
      return this.#answer(200, { requests: { transaction_gdn_ids: body.transaction_gdn_ids }, transactions })
    }
    if (endpoint === 'getisgdnnft') return this.#answer(422, refusal)
    if (endpoint === 'getcollections') {
      const known = this.transactions.filter(({ id }) => body.transaction_gdn_ids?.includes(id))
      return this.#answer(200, {
        requests: { transaction_gdn_ids: [] },
        collections: known.map(({ id }) => ({
          transaction_gdn_ids: id,
          name: 'Dawn',
          blockchain: 'polygon',
          wallet_address: RECEIVER,
          contract_address: CONTRACT,
          status: 'deployed',
        })),
      })
    }
    return null
  }

  #isKeyReused(key: string, body: string): boolean {
    if (!this.idempotency) return false
    const earlier = this.#bodies.get(key)
    this.#bodies.set(key, earlier ?? body)
    return earlier !== undefined && earlier !== body
  }

  #create(endpoint: string, key: string, body: CreatingBody): unknown {
    const { reference_id, reference_ids = [reference_id] } = body
    const name = this.references ? `reference ${reference_ids.join()}` : key
    const earlier = this.idempotency || this.references ? this.#replies.get(name) : undefined
    if (earlier !== undefined) return earlier
    const reply = this.#make(endpoint, body)
    this.#replies.set(name, reply)
    return reply
  }

  #make(endpoint: string, body: { metadata?: unknown[]; receiver_wallet_address: string }): unknown {
    if (body.metadata !== undefined && endpoint !== 'updatednft') {
      const ids = body.metadata.map((metadata) => this.mint(metadata, body.receiver_wallet_address))
      return {
        message: 'accepted',
        requests: body,
        nfts: ids.map((id) => ({ nft_gdn_ids: id, accepted_date: DATE })),
      }
    }
    const id = `transaction-${this.transactions.length + 1}`
    this.transactions.push({ id, endpoint })
    if (endpoint === 'transfernft') this.owner = body.receiver_wallet_address
    return { requests: body, request: body, response: { transaction_gdn_id: id, accepted_date: DATE } }
  }

  #answer(status: number, json: unknown, more: Record<string, string> = {}): TransportResponse {
    const headers: Record<string, string> = { 'content-type': 'application/json', ...more }
    if (this.idempotency) headers['idempotency-supported'] = 'yes'
    if (this.references) headers['reference-ids-supported'] = 'yes'
    return { status, headers, body: Buffer.from(JSON.stringify(json)) }
  }
}

const refusal = { error: { title: 'No', message: 'because' } }

const recordOf = (id: string, owner: string | null, minted: Minted | null) => ({
  nft_gdn_id: id,
  token_id: '1',
  contract_address: CONTRACT,
  receiver_wallet_address: owner,
  status: 'deployed',
  request_metadata: minted?.metadata ?? DAWN,
})

export interface TryOptions {
  /** Wraps the driver, inside the killer. */
  wrap?: (raw: RawDatabase) => RawDatabase
  killer?: Killer
  again?: boolean
  operationId?: string
  keptAs?: string
  startedAt?: number
  mayForget?: boolean
  backend?: Partial<IdentifiedBackend>
  signal?: AbortSignal
  content?: unknown
  /** The result of waiting. */
  ending?: WaitResult
  request?: RequestSpec['request']
  permit?: RequestSpec['permit']
  /** Like `request`, with the client of the command. */
  asking?: (client: ApiClient) => Promise<object>
}

export interface Tried {
  /** What was accepted, as it was printed. Null if nothing was printed. */
  printed: AcceptedObjects | null
  error: GdnError | Killed | null
  events: OperationEvent[]
  /** How long the command slept, in milliseconds of simulated time. */
  slept: number
}

/** A machine with a state directory, on which the same command runs repeatedly. */
export class Machine {
  now = 1_800_000_000_000
  readonly stateDir: string

  private constructor(stateDir: string) {
    this.stateDir = stateDir
  }

  /** A machine with the files of another one at some point in time. */
  static at(stateDir: string): Machine {
    return new Machine(stateDir)
  }

  static async start(): Promise<Machine> {
    return new Machine(await mkdtemp(join(inMemory, 'gdn-operations-')))
  }

  stop(): Promise<void> {
    return rm(this.stateDir, { recursive: true, force: true })
  }

  /** Runs the command once, as a separate process that may be killed. */
  async command(service: Service, endpoint: CreatingEndpoint, options: TryOptions = {}): Promise<Tried> {
    const { killer = new Killer(), ending = { ended: true, state: null, problem: null }, signal } = options
    const events: OperationEvent[] = []
    let slept = 0
    let printed: AcceptedObjects | null = null
    const sleep = async (ms: number, aborted?: AbortSignal) => {
      aborted?.throwIfAborted()
      slept += ms
      this.now += ms
    }
    const client = createClient({
      baseUrl: 'http://127.0.0.1:9',
      apiKey: new Secret(API_KEY),
      transport: {
        request: async (request) => {
          if (killer.killed) throw new Killed('killed')
          request.signal?.throwIfAborted()
          return await service.request(request, killer)
        },
        close: async () => {},
      },
      userAgent: 'gdn/test',
      clock: { now: () => this.now, sleep, random: () => 0.5 },
    })
    const request = REQUESTS[endpoint]
    const isMint = endpoint === 'createnft' || endpoint === 'createnfttrans'
    const handles: RawDatabase[] = []
    let state: State | undefined
    try {
      state = await openState(this.stateDir, {
        open: (path) => {
          const raw = openSqlite(path)
          handles.push(raw)
          return killable((options.wrap ?? ((one) => one))(raw), killer)
        },
      })
      await operate(
        {
          state,
          client,
          clock: { now: () => this.now, sleep, random: () => 0.5 },
          now: () => this.now,
          ...(options.startedAt === undefined ? {} : { startedAt: options.startedAt }),
          sleep,
          signal: signal ?? new AbortController().signal,
          onEvent: (event) => void events.push(event),
        },
        {
          endpoint,
          origin: 'https://api.test',
          backend: {
            url: 'https://api.test',
            id: null,
            incarnation: null,
            silence: null,
            isLocal: false,
            ...options.backend,
          },
          blockchain: 'polygon',
          contract: isMint ? CONTRACT : null,
          content: options.content ?? request,
          note: 'a test',
          again: options.again ?? false,
          operationId: options.operationId ?? null,
          ...(options.keptAs === undefined ? {} : { keptAs: options.keptAs }),
          mayForget: options.mayForget ?? false,
          ...(options.permit === undefined ? {} : { permit: options.permit }),
          request: options.request ?? (async () => (await options.asking?.(client)) ?? request),
        },
        async (operation) => {
          killer.step()
          printed = operation.accepted
          return ending
        },
      )
      return { printed, error: null, events, slept }
    } catch (error) {
      if (error instanceof GdnError || error instanceof Killed) return { printed, error, events, slept }
      throw error
    } finally {
      if (killer.killed) for (const raw of handles) endLikeAProcess(raw)
      state?.close()
      // The process of the run counts as ended, although this process continues.
      if (killer.killed) await this.forgetHolders()
      this.now += 1000
    }
  }

  /** Every operation of the machine, in the order of their runs. */
  async operations(): Promise<{ state: OperationState; isReleased: boolean }[]> {
    return await this.state((state) =>
      state.read((sql) =>
        sql
          .all<{ state: OperationState; released_at: number | null }>(
            'SELECT o.state, released_at FROM operations o JOIN runs r ON r.id = run_id ORDER BY started_at, o.id',
          )
          .map((row) => ({ state: row.state, isReleased: row.released_at !== null })),
      ),
    )
  }

  /** The states of the operations that are live. */
  async live(): Promise<OperationState[]> {
    const ended: ReadonlySet<OperationState> = new Set(['failed', 'absent', 'deployed'])
    const all = await this.operations()
    return all.filter(({ state, isReleased }) => !isReleased && !ended.has(state)).map(({ state }) => state)
  }

  async state<Result>(act: (state: State) => Promise<Result>): Promise<Result> {
    const state = await openState(this.stateDir)
    try {
      return await act(state)
    } finally {
      state.close()
    }
  }

  async forgetHolders(): Promise<void> {
    await this.state((state) => state.write((sql) => sql.run('UPDATE runs SET holder = NULL')))
  }
}

/** Does with a connection what the system does when its process is killed. libsql closes its file some time later. */
function endLikeAProcess(raw: RawDatabase): void {
  try {
    raw.exec('ROLLBACK')
  } catch {
    // It was in no transaction.
  }
  raw.close()
}

/** Allows the process to be killed before every statement, and after every commit. */
function killable(raw: RawDatabase, killer: Killer): RawDatabase {
  const stepping = <Result>(act: () => Result, isCommit = false): Result => {
    killer.step()
    const result = act()
    if (isCommit) killer.step()
    return result
  }
  return {
    exec: (sql) => stepping(() => raw.exec(sql), sql === 'COMMIT'),
    close: () => (killer.killed ? undefined : raw.close()),
    prepare(sql) {
      const statement = raw.prepare(sql)
      return {
        reader: statement.reader,
        all: (parameters) => stepping(() => statement.all(parameters)),
        run: (parameters) => stepping(() => statement.run(parameters)),
        iterate: (parameters) => statement.iterate(parameters),
      }
    },
  }
}
