import { referencesOf } from '../operations/reconcile/by-reference.ts'
import { notNew } from '../state/known-nfts.ts'
import { classify, type Verdict } from './classify.ts'
import type { RunContext } from './run-context.ts'
import type { MintEndpoint } from './types.ts'

/** A request as it is sent. Each attempt sends the same bytes. */
export interface Job {
  /** Its row in the database. */
  id: number
  n: number
  endpoint: MintEndpoint
  key: string
  body: string
  /** As in `RowRequest`. */
  honorsKey: boolean | null
  rows: number
}

/** How long a response is awaited after the run was stopped. */
const GRACE_MS = 5_000
/** Sends requests, each attempt once, and classifies the results. */
export class Attempts {
  count = 0
  readonly #context: RunContext
  /** IDs from responses that aren't in the database yet. */
  readonly #given = new Set<string>()

  constructor(context: RunContext) {
    this.#context = context
  }

  async make(job: Job, slot: { done(): void }, attempt: number): Promise<Verdict> {
    const { client, halt, emit, limit } = this.#context
    const cut = new AbortController()
    const answered = new AbortController()
    const onHalt = () => this.#context.later(GRACE_MS, answered.signal, () => cut.abort())
    halt.addEventListener('abort', onHalt, { once: true })
    if (halt.aborted) onHalt()
    this.count++
    emit({ type: 'sending', request: job.n, rows: job.rows, attempt })
    try {
      const result = await client.send(job.endpoint, Buffer.from(job.body), {
        idempotencyKey: job.key,
        ...limit,
        signal: cut.signal,
      })
      const verdict = await this.#distrust(job, classify(result, job.rows, Date.now()))
      const { now } = this.#context
      if (verdict.outcome === 'unknown') this.#context.unknownAt = now()
      if (verdict.outcome === 'accepted') this.#context.acceptedAt.set(job.id, now())
      return verdict
    } finally {
      halt.removeEventListener('abort', onHalt)
      answered.abort()
      slot.done()
    }
  }

  /** Leaves the outcome unknown if a response has the ID of an NFT that existed before. */
  async #distrust({ id, body }: Job, verdict: Verdict): Promise<Verdict> {
    if (verdict.outcome !== 'accepted') return verdict
    const { store } = this.#context
    const inFlight = verdict.ids.find((id) => this.#given.has(id))
    const { collectionId, listedAt } = store.drop
    // A row with a reference ID may be one that another machine had created before, or that failed and is not free.
    const before = referencesOf(body).length > 0 ? { listedAt: null, named: id } : { listedAt, named: null }
    const again = inFlight ?? (await store.read((sql) => notNew(sql, collectionId, verdict.ids, before)))
    if (again === null) {
      for (const id of verdict.ids) this.#given.add(id)
      return verdict
    }
    const message = `the server returned the ID ${again}, of an NFT that existed before`
    return { outcome: 'unknown', status: verdict.status, message, busy: false }
  }

  /** Called when the IDs of a response are in the database. */
  recorded(verdict: Verdict): void {
    if (verdict.outcome === 'accepted') for (const id of verdict.ids) this.#given.delete(id)
  }
}
