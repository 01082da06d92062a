import * as z from 'zod'
import { GdnError } from '../core/errors.ts'
import type { NftEndRecord } from './journal/records.ts'
import { REQUEST, ROW } from './ledger.ts'
import { matchIds, type Seen } from './match.ts'
import type { RunContext } from './run-context.ts'

const DEFAULT_TIMEOUT_MS = 300_000
const FIRST_INTERVAL_MS = 500
const MAX_INTERVAL_MS = 10_000
const IDS_PER_CALL = 100

/** A record of getnfts, as far as a batch reads it. The hosted service leaves fields null until the end. */
const nft = z.looseObject({
  nft_gdn_id: z.string(),
  status: z.string(),
  token_id: z.string().nullish(),
  contract_address: z.string().nullish(),
  receiver_wallet_address: z.string().nullish(),
  request_metadata: z.unknown(),
  metadata_url: z.string().nullish(),
  error: z.string().nullish(),
})
const answer = z.looseObject({ nfts: z.array(nft) })

type Nft = z.output<typeof nft>

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
  /** Requests of which every id is known to be its row's. */
  readonly #checked = new Set<number>()

  constructor(context: RunContext) {
    this.#context = context
  }

  async waitForAll(): Promise<void> {
    const { ledger, now, options } = this.#context
    const deadline = now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
    let interval = FIRST_INTERVAL_MS
    for (;;) {
      const pending = ledger.counts().accepted
      if (pending === 0 || this.#context.halt.aborted) return
      this.#context.emit({ type: 'waiting', pending })
      await this.#sweep(deadline)
      if (ledger.counts().accepted === 0 || now() >= deadline) return
      if (!(await this.#context.pause(Math.min(interval, Math.max(1, deadline - now()))))) return
      interval = Math.min(MAX_INTERVAL_MS, interval * 1.5)
    }
  }

  async #sweep(deadline: number): Promise<void> {
    for await (const question of this.#questions()) {
      if (this.#context.halt.aborted) return
      const found = await this.#ask(question)
      if (found === 'later') return
      for (const { n, ids } of question.requests) await this.#settle(n, ids, found)
      this.#context.emitRows()
      if (this.#context.now() >= deadline) return
    }
  }

  /** The accepted requests that have rows without an end, so many ids together as one call may ask for. */
  async *#questions(): AsyncGenerator<Question> {
    const { ledger, records } = this.#context
    let question: Question = { requests: [], size: 0 }
    for (const n of ledger.requestsIn(REQUEST.accepted)) {
      if (!ledger.rowsOf(n).some((row) => ledger.isCurrent(row, n) && ledger.state(row) === ROW.accepted)) continue
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
  async #ask(question: Question): Promise<Map<string, Nft> | 'later'> {
    const context = this.#context
    const found = new Map<string, Nft>()
    const all = question.requests.flatMap(({ ids }) => ids.filter((id) => id !== null))
    for (let from = 0; from < all.length; from += IDS_PER_CALL) {
      const slot = await context.take('getnfts')
      if (slot === null) return 'later'
      try {
        const ids = all.slice(from, from + IDS_PER_CALL)
        const json = await context.client.call('getnfts', { nft_gdn_ids: ids }, { signal: context.halt })
        for (const record of answer.parse(json).nfts) found.set(record.nft_gdn_id, record)
      } catch (error) {
        if (error instanceof GdnError && (error.code === 'unauthorized' || error.code === 'forbidden')) {
          context.stop(error)
        } else if (!(error instanceof GdnError || error instanceof z.ZodError) && !context.halt.aborted) throw error
        return 'later'
      } finally {
        slot.done()
      }
    }
    return found
  }

  async #settle(n: number, ids: (string | null)[], found: ReadonlyMap<string, Nft>): Promise<void> {
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
  async #check(n: number, ids: (string | null)[], found: ReadonlyMap<string, Nft>): Promise<(string | null)[] | null> {
    const { ledger, records } = this.#context
    const { body } = await ledger.readIntent(records, n)
    const { metadata } = JSON.parse(body) as { metadata: unknown[] }
    const known = ids.map((id, position) => ({ id, position })).filter(({ id }) => id !== null)
    const seen = known.map(({ id }): Seen => {
      const record = found.get(id ?? '')
      return record === undefined ? null : { id: record.nft_gdn_id, metadata: record.request_metadata }
    })
    const matched = matchIds(
      known.map(({ position }) => metadata[position]),
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

  #endOf(n: number, position: number, record: Nft): NftEndRecord | null {
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
