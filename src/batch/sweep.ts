import type { NftRecord } from '../api/nft-record.ts'
import { isBackendChange } from '../client/backend.ts'
import { GdnError } from '../core/errors.ts'
import { identityOf, sentMetadata } from '../operations/reconcile/content.ts'
import { IDS_PER_CALL, readNfts } from '../operations/reconcile/listing.ts'
import type { NftEndRecord } from './journal/records.ts'
import { matchIds, type Seen } from './match.ts'
import { ROW } from './row-table.ts'
import type { RunContext } from './run-context.ts'

const FIRST_INTERVAL_MS = 500
const MAX_INTERVAL_MS = 10_000
/** Between two looks while there is something else to do. */
const ASIDE_INTERVAL_MS = 5_000

/** Ids of accepted requests that are asked for together. */
interface Question {
  requests: { n: number; ids: (string | null)[] }[]
  size: number
}

/**
 * Asks for all accepted rows again and again until each is deployed or failed, the time is up, or the run is stopped.
 * Each row's record is compared with what was sent before anything of it is told.
 */
export class Sweeper {
  readonly #context: RunContext
  readonly #markerKey: string | undefined
  /** Requests of which every id is known to be its row's. */
  readonly #checked = new Set<number>()

  /** All rows of requests before this one have come to their end. */
  #from = 1
  #aside: Promise<void> | null = null
  #asideAt: number

  /** @param markerKey by which rows are told from each other, where the run has markers */
  constructor(context: RunContext, markerKey: string | undefined) {
    this.#context = context
    this.#markerKey = markerKey
    this.#asideAt = context.now()
  }

  /** Until all are deployed or failed, but no longer than to the deadline. */
  async waitForAll(deadline: number): Promise<void> {
    const { ledger, now } = this.#context
    let interval = FIRST_INTERVAL_MS
    for (;;) {
      const pending = ledger.counts().accepted
      if (pending === 0 || this.#context.halt.aborted) return
      this.#context.emit({ type: 'waiting', pending })
      await this.#sweep(() => now() < deadline)
      if (ledger.counts().accepted === 0 || now() >= deadline) return
      if (!(await this.#context.pause(Math.min(interval, Math.max(1, deadline - now()))))) return
      interval = Math.min(MAX_INTERVAL_MS, interval * 1.5)
    }
  }

  /** Asks for all accepted rows once; each that is there is compared with what was sent. */
  async sweepOnce(): Promise<void> {
    await this.settled()
    await this.#sweep(() => true)
  }

  /**
   * Looks, now and then, how far the oldest rows have come, while others are being sent. Whoever calls needn't wait for
   * it, and nothing that goes wrong here is of any concern: it will be asked for again.
   */
  lookAside(): Promise<void> {
    const { now, halt } = this.#context
    if (this.#aside !== null) return this.#aside
    if (halt.aborted || now() - this.#asideAt < ASIDE_INTERVAL_MS) return Promise.resolve()
    // Where the oldest rows haven't come to their end, the later ones haven't either.
    this.#aside = this.#sweep((ended) => ended, true).finally(() => {
      this.#aside = null
      this.#asideAt = now()
    })
    // A journal that can't be written is told by whoever writes to it next.
    this.#aside.catch(() => {})
    return this.#aside
  }

  /** Resolves when nothing is under way beside. */
  async settled(): Promise<void> {
    await this.#aside?.catch(() => {})
  }

  /** @param goesOn asked after each answer, and told whether all rows of it have come to their end */
  async #sweep(goesOn: (ended: boolean) => boolean, aside = false): Promise<void> {
    for await (const question of this.#questions()) {
      if (this.#context.halt.aborted) return
      const found = await this.#ask(question, aside)
      if (found === 'later') return
      let ended = true
      for (const { n, ids } of question.requests) {
        await this.#settle(n, ids, found)
        ended &&= !this.#waits(n)
      }
      this.#context.emitRows()
      if (!goesOn(ended)) return
    }
  }

  /** Whether rows of a request have been accepted and have no end yet. */
  #waits(n: number): boolean {
    const { ledger } = this.#context
    return ledger.rowsOf(n).some((row) => ledger.isCurrent(row, n) && ledger.state(row) === ROW.accepted)
  }

  /** The requests that have accepted rows without an end, so many ids together as one call may ask for. */
  async *#questions(): AsyncGenerator<Question> {
    const { ledger, records } = this.#context
    let question: Question = { requests: [], size: 0 }
    const first = this.#from
    let allEnded = true
    for (let n = first; n <= ledger.lastRequest; n++) {
      if (allEnded && ledger.isOver(n)) this.#from = n + 1
      else allEnded = false
      if (!this.#waits(n)) continue
      const ids = (await ledger.readAnswer(records, n)).ids ?? []
      if (question.size > 0 && question.size + ids.length > IDS_PER_CALL) {
        yield question
        question = { requests: [], size: 0 }
      }
      question.requests.push({ n, ids })
      question.size += ids.length
    }
    if (question.size > 0) yield question
  }

  /** `later`: no answer that can be used now, or the run was stopped. */
  async #ask(question: Question, aside: boolean): Promise<Map<string, NftRecord> | 'later'> {
    const context = this.#context
    const found = new Map<string, NftRecord>()
    const all = question.requests.flatMap(({ ids }) => ids.filter((id) => id !== null))
    try {
      const finished = await readNfts(context.asker, all, (nfts) => {
        for (const nft of nfts) found.set(nft.nft_gdn_id, nft)
      })
      return finished ? found : 'later'
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      if (!aside && (error.code === 'unauthorized' || error.code === 'forbidden')) context.stop(error)
      if (isBackendChange(error)) context.stop(error)
      return 'later'
    }
  }

  async #settle(n: number, ids: (string | null)[], found: ReadonlyMap<string, NftRecord>): Promise<void> {
    const checked = this.#checked.has(n) ? ids : await this.#check(n, ids, found)
    if (checked === null) return
    for (const [position, row] of this.#context.ledger.rowsOf(n).entries()) {
      const record = found.get(checked[position] ?? '')
      const { ledger } = this.#context
      if (record === undefined || !ledger.isCurrent(row, n) || ledger.state(row) !== ROW.accepted) continue
      const end = this.#endOf(n, position, record)
      if (end !== null) await this.#context.record(end, false)
    }
  }

  /** The ids in the order of the rows, once every record was compared; null while some are missing. */
  async #check(
    n: number,
    ids: (string | null)[],
    found: ReadonlyMap<string, NftRecord>,
  ): Promise<(string | null)[] | null> {
    const { ledger, records } = this.#context
    // What reconciling adopted was compared before it was.
    const { t } = await ledger.readAnswer(records, n)
    if (t === 'reconciled' || t === 'found') {
      this.#checked.add(n)
      return ids
    }
    const body = await ledger.readBody(records, n)
    if (body === null) {
      this.#checked.add(n)
      return ids
    }
    const metadata = sentMetadata(body)
    const known = ids.map((id, position) => ({ id, position })).filter(({ id }) => id !== null)
    const seen = known.map(({ id }): Seen => {
      const record = found.get(id ?? '')
      return record === undefined ? null : { id: record.nft_gdn_id, metadata: this.#identity(record.request_metadata) }
    })
    const matched = matchIds(
      known.map(({ position }) => this.#identity(metadata[position])),
      seen,
    )
    if (matched === null) return null
    const ordered = ids.slice()
    for (const [index, { position }] of known.entries()) ordered[position] = matched[index] ?? null
    if (ordered.some((id, position) => id !== ids[position])) {
      await this.#context.record({ t: 'order', n, ids: ordered }, true)
    }
    this.#checked.add(n)
    return ordered
  }

  #identity(metadata: unknown): string {
    return identityOf(metadata, this.#markerKey)
  }

  #endOf(n: number, position: number, record: NftRecord): NftEndRecord | null {
    if (record.status !== 'deployed' && record.status !== 'failed' && record.status !== 'error') return null
    return {
      t: 'nft',
      n,
      p: position,
      id: record.nft_gdn_id,
      status: record.status === 'deployed' ? 'deployed' : 'failed',
      token_id: record.token_id ?? null,
      contract: record.contract_address ?? this.#context.options.contractAddress,
      receiver: record.receiver_wallet_address ?? '',
      url: record.metadata_url ?? null,
      error: record.error ?? (record.status === 'deployed' ? null : 'the server says that it failed'),
    }
  }
}
