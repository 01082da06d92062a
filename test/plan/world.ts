import { mkdtemp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CAPABILITIES, HEADERS, REFERENCE_ERRORS } from '../../src/api/headers.ts'
import type { NftRecord } from '../../src/api/nft-record.ts'
import { relabelOnServer } from '../../src/batch/identity/other-labels.ts'
import { storeAliases, storePairs } from '../../src/batch/identity/store-pairs.ts'
import { runBatch } from '../../src/batch/run.ts'
import { storeManifestMove } from '../../src/batch/runs/moved-run.ts'
import { storeRows } from '../../src/batch/store-rows.ts'
import type { BatchOptions } from '../../src/batch/types.ts'
import type { ApiClient } from '../../src/client/api-client.ts'
import { createClient } from '../../src/client/client.ts'
import { TransportError, type TransportRequest, type TransportResponse } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { LocalContents } from '../../src/files/local-content.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { applyBurns } from '../../src/plan/apply-burns.ts'
import { applyTransfers } from '../../src/plan/apply-transfers.ts'
import { applyUpdates, type Update } from '../../src/plan/apply-updates.ts'
import type { NftChange } from '../../src/plan/compare.ts'
import type { Outcomes } from '../../src/plan/make-changes.ts'
import { withPlan } from '../../src/plan/make-plan.ts'
import type { ChangePlan, PlannedChange, PlanOptions } from '../../src/plan/planned.ts'
import { recordMadeChanges, recordSeenNfts } from '../../src/plan/record-changes.ts'
import type { Sql } from '../../src/sqlite/shared-database.ts'
import { openState } from '../../src/state/open-state.ts'
import { simulatedTime } from '../batch/simulation.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { inMemory } from '../operations/world.ts'

export const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
export const ALICE = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
export const BOB = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
export const CAROL = '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb'
const ZERO = `0x${'0'.repeat(40)}`
const DATE = '2026-01-31 12:00:00'

/** A row of a manifest with its ID as its title. */
export const row = (id: string, receiver = ALICE, title = id): ManifestRow => ({
  ...{ line: id.charCodeAt(0) - 95, id, receiver, sender: null, localFiles: [] },
  metadata: { title, description: '', file_fields: [] },
})

export interface Nft {
  id: string
  owner: string
  mintedTo: string
  transfers: number
  metadata: unknown
  revision: number
  revisionReference: string | null
  status: 'initiated' | 'deployed' | 'failed'
  isBurned: boolean
  isFrozen: boolean
  isDynamic: boolean
}

/** What a reference ID names. */
interface Name {
  body: string
  nft?: string
  transaction?: string
  label?: string | null
  kind?: string | null
  alias?: string
}

interface Titled {
  title: string
}

interface Transaction {
  id: string
  status: 'initiated' | 'deployed' | 'failed'
  error: string | null
  /** What it does once it is in a block. */
  effect: () => void
  /** The NFT that it changes, with the change as a record shows it. */
  nft: unknown
  change: NonNullable<NftRecord['pending_change']>
}

const KINDS: Readonly<Record<string, string>> = { updatednft: 'update', transfernft: 'transfer', burnnft: 'burn' }

export type Body = Record<string, unknown> & { reference_id?: string; reference_ids?: string[]; nft_gdn_id?: string }

export interface Sent {
  endpoint: string
  body: Body
}

interface Instead {
  status: number
  json: unknown
}

type OnRequest = (endpoint: string, body: Body) => Instead | undefined | Promise<Instead | undefined>

/** A server behind the transport of a client: gdn's backend, or a hosted service without its extensions. */
export class Server {
  readonly nfts: Nft[] = []
  readonly transactions: Transaction[] = []
  /** Requests with an effect. */
  readonly sent: Sent[] = []
  /** Whether transactions stay pending until the test ends them. */
  holds = false
  /** Called for each request. It may respond instead of the server, or cut the connection. */
  onRequest: OnRequest = () => undefined
  readonly #isOurs: boolean
  readonly #hasLabels: boolean
  readonly #hasAliases: boolean
  readonly #named = new Map<string, Name>()
  /** Updates are numbered within the collection. */
  #updates = 0

  constructor({ isOurs = true, hasLabels = true, hasAliases = true } = {}) {
    this.#isOurs = isOurs
    this.#hasLabels = isOurs && hasLabels
    this.#hasAliases = isOurs && hasLabels && hasAliases
  }

  /** The NFTs that have an alias, by their titles. */
  get aliased(): string[] {
    return [...this.#named.values()].flatMap(({ nft, alias }) =>
      alias == null ? [] : this.nfts.filter(({ id }) => id === nft).map(({ metadata }) => (metadata as Titled).title),
    )
  }

  /** The titles of the NFTs, in the order of their mint. */
  get titles(): string[] {
    return this.nfts.map(({ metadata }) => (metadata as Titled).title)
  }

  /** The labels of the NFTs, in the order of their mint. */
  get labels(): (string | null)[] {
    return [...this.#named.values()].flatMap(({ nft, label = null }) => (nft === undefined ? [] : [label]))
  }

  /** Gives every NFT this label. */
  label(label: string | null): void {
    for (const named of this.#named.values()) if (named.nft !== undefined) named.label = label
  }

  nft(title: string): Nft {
    const found = this.nfts.find(({ metadata }) => (metadata as { title: string }).title === title)
    if (found === undefined) throw new Error(`no NFT ${title}`)
    return found
  }

  /** Its holder sells an NFT on chain, which the server doesn't count. */
  sell(title: string, to: string): void {
    this.nft(title).owner = to
  }

  /** Another client transfers an NFT. */
  transfer(title: string, to: string): void {
    const nft = this.nft(title)
    nft.owner = to
    nft.transfers++
  }

  /** Another client updates an NFT. */
  update(title: string, to: string): void {
    const nft = this.nft(title)
    nft.metadata = { title: to, description: '', file_fields: [] }
    nft.revision = ++this.#updates
    nft.revisionReference = null
  }

  /** Mints an NFT for another client. */
  mint(title: string, receiver: string): string {
    return this.#mint({ title, description: '', file_fields: [] }, receiver)
  }

  /** Accepts a request whose response is lost. */
  cut(endpoint: string, body: Body): never {
    this.sent.push({ endpoint, body })
    this.#accept(endpoint, body)
    throw new TransportError('socket hang up', true)
  }

  /** Requests to an endpoint with an effect. */
  bodies(endpoint: string): Body[] {
    return this.sent.filter((one) => one.endpoint === endpoint).map(({ body }) => body)
  }

  /** Ends pending transactions. A failed one has no effect. */
  end(status: 'deployed' | 'failed' = 'deployed'): void {
    for (const one of this.transactions.filter((one) => one.status === 'initiated')) {
      one.status = status
      if (status === 'deployed') one.effect()
      else one.error = 'the network rejected it'
    }
  }

  /** Stores aliases of a request whose response is lost. */
  storeAliases(body: Body): void {
    this.#alias(body)
  }

  async request({ url, body: bytes }: TransportRequest): Promise<TransportResponse> {
    const endpoint = new URL(url).pathname.replace('/api/v1/', '')
    const text = Buffer.from(bytes ?? []).toString('utf8')
    const body = JSON.parse(text) as Body
    const instead = await this.onRequest(endpoint, body)
    if (instead !== undefined) return this.#answer(instead.status, instead.json)
    const read = this.#read(endpoint, body)
    if (read !== null) return this.#answer(200, read)
    if (this.#hasLabels && endpoint === 'relabelreferences') return this.#relabel(body)
    if (this.#hasAliases && endpoint === 'aliasreferences') return this.#alias(body)
    if (!['createnft', 'transfernft', 'updatednft', 'burnnft'].includes(endpoint)) return this.#answer(404, refusal)
    this.sent.push({ endpoint, body })
    return this.#accept(endpoint, body)
  }

  #read(endpoint: string, body: Body): unknown {
    if (endpoint === 'getnftgdnids') {
      return {
        requests: { contract_address: CONTRACT, blockchain: 'polygon' },
        nft_gdn_ids: this.nfts.map(({ id }) => id),
      }
    }
    if (endpoint === 'getnfts') {
      const asked = body.nft_gdn_ids as string[]
      return { requests: body, nfts: this.nfts.filter(({ id }) => asked.includes(id)).map((nft) => this.#record(nft)) }
    }
    if (!this.#isOurs) return null
    if (endpoint === 'gettransactions') {
      const asked = body.transaction_gdn_ids as string[]
      const transactions = this.transactions.filter(({ id }) => asked.includes(id))
      return {
        requests: body,
        transactions: transactions.map(({ id, status, error }) => ({ transaction_gdn_id: id, status, error })),
      }
    }
    if (endpoint === 'getreferences') {
      const references = (body.reference_ids ?? []).flatMap((id) => {
        const named = this.#named.get(nameIn(body, String(body.operation), id))
        if (named === undefined) return []
        const status = this.transactions.find((one) => one.id === named.transaction)?.status ?? 'deployed'
        const about = { digest: 'v1:', accepted_date: DATE, status, is_free: status === 'failed' }
        const labels = this.#hasLabels
          ? { reference_label: named.label ?? null, reference_kind: named.kind ?? null }
          : {}
        const aliases = this.#hasAliases ? { reference_alias: named.alias ?? null } : {}
        const ids = { nft_gdn_id: named.nft, transaction_gdn_id: named.transaction }
        return [{ reference_id: id, ...ids, ...about, ...labels, ...aliases }]
      })
      return { requests: body, references }
    }
    if (this.#hasAliases && endpoint === 'getcontentreferences') {
      const prefix = nameIn(body, String(body.operation), '')
      const references = [...this.#named].flatMap(([name, { nft, kind, label, alias }]) => {
        const isListed = kind === 'content' && alias === undefined && label === body.reference_label
        const exists = this.nfts.some(({ id, isBurned, status }) => id === nft && !isBurned && status !== 'failed')
        return isListed && exists && name.startsWith(prefix)
          ? [{ reference_id: name.slice(prefix.length), nft_gdn_id: nft }]
          : []
      })
      return { requests: body, references, next: null }
    }
    return null
  }

  #record(nft: Nft): NftRecord {
    const record = {
      ...{ nft_gdn_id: nft.id, token_id: nft.id.replace('nft-', ''), contract_address: CONTRACT, status: nft.status },
      ...{ receiver_wallet_address: nft.owner, request_metadata: nft.metadata, metadata_url: 'ipfs://x' },
    }
    if (!this.#isOurs) return record
    const pending = this.transactions.find((one) => one.nft === nft.id && one.status === 'initiated')
    return {
      pending_change: pending?.change ?? null,
      ...{ ...record, minted_to: nft.mintedTo, transfers: nft.transfers, revision: nft.revision },
      ...{
        revision_reference_id: nft.revisionReference,
        is_dynamic: nft.isDynamic,
        is_frozen: nft.isFrozen,
        burned: nft.isBurned,
      },
    }
  }

  #relabel(body: Body): TransportResponse {
    const named = (body.reference_ids ?? []).flatMap(
      (id) => this.#named.get(nameIn(body, String(body.operation), id)) ?? [],
    )
    const changed = named.filter(({ label }) => label === body.replaces_label)
    if (named.some((one) => !changed.includes(one) && one.label !== body.reference_label)) return this.#otherLabel()
    for (const one of changed) one.label = String(body.reference_label)
    return this.#answer(200, { requests: body, relabeled: changed.length })
  }

  #alias(body: Body): TransportResponse {
    const nfts = body.nft_gdn_ids as string[]
    const named = (body.reference_ids ?? []).map((id, n) => ({
      id,
      alias: nameIn(body, String(body.operation), id),
      content: [...this.#named].find(([name, { nft, kind }]) => {
        return nft === nfts[n] && kind === 'content' && name.startsWith(nameIn(body, String(body.operation), ''))
      })?.[1],
    }))
    if (named.some(({ content }) => content === undefined)) return this.#answer(400, refusal)
    const isTaken = named.some(({ id, alias, content }, n) => {
      const other = this.#named.get(alias)
      return (other !== undefined && other.nft !== nfts[n]) || (content?.alias !== undefined && content.alias !== id)
    })
    if (isTaken) return this.#answer(409, refusal, { [HEADERS.errorCode]: REFERENCE_ERRORS.conflict })
    for (const { id, alias, content } of named) {
      if (content === undefined) continue
      content.alias = id
      this.#named.set(alias, { body: '', nft: content.nft ?? '', label: content.label ?? null, kind: 'id' })
    }
    return this.#answer(200, { requests: body, aliased: named.length })
  }

  #otherLabel(): TransportResponse {
    const json = { error: { title: 'Conflict', message: 'it belongs to another label' } }
    return this.#answer(409, json, { [HEADERS.errorCode]: REFERENCE_ERRORS.otherLabel })
  }

  #accept(endpoint: string, body: Body): TransportResponse {
    if (endpoint === 'createnft') {
      const label = typeof body.reference_label === 'string' ? body.reference_label : null
      if (label !== null && !this.#hasLabels) return this.#answer(400, refusal)
      const known = (body.reference_ids ?? []).map((id) => this.#named.get(nameIn(body, endpoint, id)))
      if (known.some((one) => label !== null && one?.label != null && one.label !== label)) return this.#otherLabel()
      const ids = (body.metadata as unknown[]).map((metadata, n) => {
        const reference = body.reference_ids?.[n]
        const existing = known[n]?.nft
        if (existing !== undefined) return existing
        const id = this.#mint(metadata, String(body.receiver_wallet_address))
        const kind = (body.reference_kinds as string[] | undefined)?.[n] ?? null
        if (reference !== undefined)
          this.#named.set(nameIn(body, endpoint, reference), { body: '', nft: id, label, kind })
        return id
      })
      const nfts = ids.map((id) => ({ nft_gdn_ids: id, accepted_date: DATE }))
      return this.#answer(200, { message: 'ok', requests: body, nfts })
    }
    const name = body.reference_id === undefined ? null : `${endpoint} ${body.reference_id}`
    const known = name === null ? undefined : this.#named.get(name)
    const earlier = this.transactions.find(({ id }) => id === known?.transaction)
    if (earlier !== undefined && earlier.status !== 'failed') {
      if (known?.body !== JSON.stringify(body))
        return this.#answer(409, refusal, { [HEADERS.errorCode]: REFERENCE_ERRORS.conflict })
      return this.#accepted(body, earlier.id)
    }
    const nft = this.nfts.find((one) => one.id === body.nft_gdn_id)
    const { replaces_revision: revision = nft?.revision, replaces_transfers: transfers = nft?.transfers } = body
    if (revision !== nft?.revision || transfers !== nft?.transfers) return this.#answer(400, refusal)
    const id = `transaction-${this.transactions.length + 1}`
    const effect = () => this.#change(endpoint, body)
    const change = { kind: KINDS[endpoint] ?? '', reference_id: body.reference_id ?? null }
    this.transactions.push({ id, status: 'initiated', error: null, effect, nft: body.nft_gdn_id, change })
    if (name !== null) this.#named.set(name, { body: JSON.stringify(body), transaction: id })
    if (!this.holds) this.end()
    return this.#accepted(body, id)
  }

  #change(endpoint: string, body: Body): void {
    const nft = this.nfts.find(({ id }) => id === body.nft_gdn_id)
    if (nft === undefined) throw new Error(`no NFT ${body.nft_gdn_id}`)
    if (endpoint === 'transfernft') {
      nft.owner = String(body.receiver_wallet_address)
      nft.transfers++
    } else if (endpoint === 'burnnft') {
      nft.owner = ZERO
      nft.isBurned = true
    } else {
      nft.metadata = (body.metadata as unknown[])[0]
      nft.revision = ++this.#updates
      nft.revisionReference = body.reference_id ?? null
    }
  }

  #mint(metadata: unknown, owner: string): string {
    const id = `nft-${this.nfts.length + 1}`
    const never = { transfers: 0, revision: 0, revisionReference: null, isBurned: false, isFrozen: false }
    this.nfts.push({ id, owner, mintedTo: owner, metadata, status: 'deployed', isDynamic: true, ...never })
    return id
  }

  #accepted(body: Body, id: string): TransportResponse {
    return this.#answer(200, { requests: body, response: { transaction_gdn_id: id, accepted_date: DATE } })
  }

  #answer(status: number, json: unknown, more: Record<string, string> = {}): TransportResponse {
    const ours: string[] = [CAPABILITIES.idempotency, CAPABILITIES.references, CAPABILITIES.updates]
    if (this.#hasLabels) ours.push(CAPABILITIES.labels)
    if (this.#hasAliases) ours.push(CAPABILITIES.aliases)
    const headers = Object.fromEntries(this.#isOurs ? ours.map((name) => [name, 'yes']) : [])
    return {
      status,
      headers: { 'content-type': 'application/json', ...headers, ...more },
      body: Buffer.from(JSON.stringify(json)),
    }
  }
}

/** A reference ID is unique in its collection. An update names its NFT alone. */
const nameIn = ({ contract_address }: Body, operation: string, id: string): string =>
  operation === 'createnft' ? `${operation} ${contract_address} ${id}` : `${operation} ${id}`

const refusal = { error: { title: 'No', message: 'because' } }

export interface Planned {
  /** As `<action> <want> <key>: <fields>, <reason>`. */
  changes: string[]
  notes: readonly string[]
  counts: ChangePlan['counts']
  changedSinceSaved: ChangePlan['changedSinceSaved']
  /** The changes of each row, and burns, as a saved plan has them. */
  saved: Saved
  /** Rows that got an ID after their mint, and whether the server has or can store that. */
  paired: string[]
}

export interface Saved {
  rows: NftChange[][]
  burns: PlannedChange[]
}

type Options = Partial<PlanOptions>

/** A process on a machine, which is its state directory. */
export class Machine {
  readonly stateDir: string
  readonly time = simulatedTime()
  /** Paths of the files that were uploaded. */
  readonly uploads: string[] = []
  /** Uploads a file. Its URL has its name. */
  upload = async (path: string): Promise<{ url: string }> => {
    this.uploads.push(path)
    return { url: `ipfs://${basename(path)}` }
  }
  readonly client: ApiClient

  private constructor(stateDir: string, server: Pick<Server, 'request'>) {
    this.stateDir = stateDir
    const client = createClient({
      baseUrl: 'http://127.0.0.1:9',
      apiKey: new Secret('sk-0123456789abcdef'),
      transport: { request: (request) => server.request(request), close: async () => {} },
      userAgent: 'gdn/test',
      clock: { ...this.time, random: () => 0.5 },
    })
    this.client = { ...client, upload: (path) => this.upload(String(path)) }
  }

  /** Starts a machine without a state, until the test ends. */
  static async start(server: Server): Promise<Machine> {
    const machine = new Machine(await mkdtemp(join(inMemory, 'gdn-plan-')), server)
    whenTestDone(() => machine.stop())
    return machine
  }

  /** Another process on the machine. */
  beside(server: Pick<Server, 'request'>): Machine {
    return new Machine(this.stateDir, server)
  }

  stop(): Promise<void> {
    return rm(this.stateDir, { recursive: true, force: true })
  }

  options(more: Partial<BatchOptions> = {}): BatchOptions {
    const target = { origin: 'https://nft.example', blockchain: 'polygon', contractAddress: CONTRACT } as const
    return { stateDir: this.stateDir, ...target, manifestPath: '/drops/drop.csv', ...more }
  }

  async mint(rows: readonly ManifestRow[], more: Partial<BatchOptions> = {}): Promise<void> {
    const deps = { ...this.#deps(), readManifest: () => itemsOf(rows) }
    const { counts, stopped } = await runBatch(this.options(more), deps)
    if (stopped !== null) throw new GdnError(stopped.code, stopped.message, { hint: stopped.hint ?? '' })
    if (counts.deployed !== counts.total) throw new Error(`not all rows were minted: ${JSON.stringify(counts)}`)
  }

  #deps() {
    return { client: this.client, pacer: { take: async () => ({ done: () => {} }), hold: () => {} }, ...this.time }
  }

  /** @param saved the changes of a saved plan, which the plan is compared with */
  async plan(rows: readonly ManifestRow[], more: Options = {}, saved: Saved | null = null): Promise<Planned> {
    return await this.#withPlan(rows, { ...more, isSaved: saved !== null }, saved, describe)
  }

  /** Makes the checks before the mints of a plan. */
  async checkMints(rows: readonly ManifestRow[], how: { onlyMints: boolean }): Promise<void> {
    await this.#withPlan(rows, {}, null, (plan) => plan.refuseEdited(how))
  }

  /** Makes the changes of a plan, without mints. */
  async apply(
    rows: readonly ManifestRow[],
    { signal = new AbortController().signal, ...more }: Options = {},
  ): Promise<Record<'update' | 'transfer' | 'burn', Outcomes>> {
    const making = this.#making(signal)
    return await this.#withPlan(rows, more, null, async (plan) => ({
      ...(await this.#relabel(plan, more)),
      ...(plan.movedFrom === null ? {} : await storeManifestMove(this.options(more)).then(() => ({}))),
      ...(await this.#storePairs(plan, more)),
      update: await this.update(plan.updates(), signal),
      transfer: await this.transfer(only('transfer', plan.changes()), signal),
      burn: await applyBurns(CONTRACT, making, only('burn', plan.burns())),
    }))
  }

  /**
   * Records what the NFTs are, as `gdn apply` does. Makes only the changes of some kinds: others fail. Returns the
   * number of NFTs with changes that weren't recorded before.
   */
  async applyAndNote(
    rows: readonly ManifestRow[],
    kinds: readonly ('update' | 'transfer')[],
    more: Options = {},
  ): Promise<number> {
    const options = this.options(more.manifestPath === undefined ? {} : { manifestPath: more.manifestPath })
    return await this.#withPlan(rows, more, null, async (plan) => {
      const unrecorded = await recordSeenNfts(options, plan)
      if (kinds.includes('update')) await this.update(plan.updates())
      if (kinds.includes('transfer')) await this.transfer(only('transfer', plan.changes()))
      await recordMadeChanges(options, this.client, plan)
      if (plan.counts.mint === 0) await storeRows(options, { ...this.#deps(), readManifest: () => itemsOf(rows) })
      return unrecorded
    })
  }

  async #relabel({ relabeled }: ChangePlan, { label }: Options): Promise<object> {
    for await (const page of relabeled.pages()) await relabelOnServer(this.client, this.options(), page, label ?? '')
    return {}
  }

  async #storePairs({ paired }: ChangePlan, more: Options): Promise<object> {
    await storeAliases(this.client, this.options(more), paired)
    await storePairs(this.options(more), paired)
    return {}
  }

  async update(updates: AsyncIterable<Update>, signal = new AbortController().signal): Promise<Outcomes> {
    return await applyUpdates(CONTRACT, this.#making(signal), updates)
  }

  async transfer(changes: AsyncIterable<PlannedChange>, signal = new AbortController().signal): Promise<Outcomes> {
    const { stateDir, origin, blockchain } = this.options()
    const backend = { url: origin, id: null, incarnation: null, silence: null, isLocal: false }
    const target = { stateDir, origin, blockchain, backend, contract: CONTRACT }
    return await applyTransfers(target, this.#making(signal), changes)
  }

  #making(signal: AbortSignal) {
    const { now, sleep } = this.time
    // Simulated time passes while a request is answered.
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, onProgress: () => {} }
    return { client: this.client, now, sleep, signal, ...limits }
  }

  /** The states of operations of a kind that are in progress. */
  async live(kind: string): Promise<string[]> {
    const select = `SELECT o.state FROM operations o JOIN runs r ON r.id = o.run_id
      WHERE o.kind = ? AND (o.released_at IS NULL OR r.ended_at IS NULL)`
    return (await this.state((sql) => sql.all<{ state: string }>(select, kind))).map(({ state }) => state)
  }

  /** Reads or changes the state directly. */
  async state<Result>(work: (sql: Sql) => Result): Promise<Result> {
    const state = await openState(this.stateDir)
    try {
      return await state.write(work)
    } finally {
      state.close()
    }
  }

  #withPlan<Result>(
    rows: readonly ManifestRow[],
    more: Options,
    saved: Saved | null,
    use: (plan: ChangePlan) => Promise<Result>,
  ): Promise<Result> {
    const never = { whyNoTransfers: async () => null, whyNoBurns: async () => null, whyNoMints: async () => null }
    return withPlan(
      { ...this.options(), ...never, ...more },
      {
        client: this.client,
        contents: new LocalContents(),
        async *readManifest(reader) {
          for (const [n, row] of rows.entries()) {
            await reader.row(saved?.rows[n] ?? [])
            yield { row }
          }
          for (const burn of saved?.burns ?? []) await reader.burn(burn)
        },
      },
      use,
    )
  }
}

async function* itemsOf(rows: readonly ManifestRow[]) {
  for (const row of rows) yield { row }
}

async function* only(action: NftChange['action'], changes: AsyncIterable<PlannedChange>) {
  for await (const change of changes) if (change.action === action) yield change
}

async function describe(plan: ChangePlan): Promise<Planned> {
  const changes: string[] = []
  for await (const { action, want, key, fields, reason } of plan.changes()) {
    const parts = fields.map(({ field, from, to }) => `${field} ${from} → ${to}`)
    changes.push(`${action} ${want} ${key}: ${[...parts, ...(reason === null ? [] : [reason])].join(', ')}`)
  }
  const saved: Saved = { rows: [], burns: [] }
  for await (const { changes: ofRow } of plan.rows()) saved.rows.push(ofRow)
  for await (const burn of plan.burns()) saved.burns.push(burn)
  const paired = plan.paired.map(({ key, nftGdnId, alias }) => `${key} ${nftGdnId} ${alias}`)
  return { paired, changes, notes: plan.notes, counts: plan.counts, changedSinceSaved: plan.changedSinceSaved, saved }
}
