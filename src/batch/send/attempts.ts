import * as z from 'zod'
import { normalizeNftsResponse } from '../../api/creation.ts'
import { errorFormASchema } from '../../api/errors.ts'
import { HEADERS, SHUFFLE_ERRORS } from '../../api/headers.ts'
import type { MintEndpoint } from '../../api/mint-endpoints.ts'
import { type ReceivedResponse, type SendOnceResult, UNKNOWN_OUTCOME } from '../../client/outcome.ts'
import { GdnError } from '../../core/errors.ts'
import { type ClassifiedAttempt, classify, type NoEffectAttempt } from '../../operations/classify.ts'
import { parseReferences } from '../../operations/reconcile/by-reference.ts'
import { updateDrop } from '../../state/drops.ts'
import { assignedNfts, findUnassignable } from '../../state/known-nfts.ts'
import {
  acceptRows,
  forgetRequest,
  markUnknown,
  recordNoEffect,
  recordRefusal,
  recordRefusedRepetition,
} from '../../state/send-rows.ts'
import { findOtherLabel } from '../identity/other-labels.ts'
import { ReferenceLookup } from '../identity/server-names.ts'
import type { RunContext } from '../runs/run-context.ts'
import { countRowsWithinSupply, isMaxSupplyRefusal } from '../supply.ts'

/**
 * The outcome of an attempt. If the request was accepted, `created` has the IDs of its NFTs. `exceedsMaxSupply` is true
 * if the request exceeded the maximum supply. `fits` is the number of rows that the server would accept, if any.
 * `isSealed` is true if the shuffled drop of the rows is sealed.
 */
export type AttemptResult = ClassifiedAttempt<string[]> & {
  exceedsMaxSupply?: boolean
  isSealed?: boolean
  fits?: number
}

/** A request to send. Every attempt sends the same bytes. */
export interface Job {
  /** The ID of the request in the database. */
  id: number
  /** The number of the request in the run (column `n` of the database). */
  n: number
  endpoint: MintEndpoint
  key: string
  body: string
  /** Whether the server honors the request's key. See `RowRequest`. */
  honorsKey: boolean | null
  rows: number
}

const SEALED_HINT = 'The rows that were not accepted can no longer be minted. To reveal the drop, run `gdn reveal`.'

const isOfSealedDrop = (outcome: SendOnceResult): boolean =>
  outcome.kind === 'answered' && outcome.headers[HEADERS.errorCode] === SHUFFLE_ERRORS.sealed

/** Maximum wait for a response after an interruption, in milliseconds. Other reasons to stop don't shorten the wait. */
const GRACE_MS = 5_000

/** Makes individual attempts to send requests, and classifies and records the results. */
export class Attempts {
  count = 0
  readonly #context: RunContext
  /** NFT IDs from responses whose outcomes aren't stored in the database yet. */
  readonly #unrecordedIds = new Set<string>()

  constructor(context: RunContext) {
    this.#context = context
  }

  async make(job: Job, slot: { done(): void }, attempt: number): Promise<AttemptResult> {
    const { client, emit, limit, options } = this.#context
    const abortController = new AbortController()
    const settled = new AbortController()
    const onInterrupt = () => this.#context.schedule(GRACE_MS, settled.signal, () => abortController.abort())
    options.signal?.addEventListener('abort', onInterrupt, { once: true })
    if (options.signal?.aborted === true) onInterrupt()
    this.count++
    emit({ type: 'sending', request: job.n, rows: job.rows, attempt })
    try {
      const sent = await client.send(job.endpoint, Buffer.from(job.body), {
        idempotencyKey: job.key,
        ...limit,
        signal: abortController.signal,
      })
      const result = await this.#rejectKnownIds(
        job,
        await this.#reclassifyRefusal(job, sent, await toAttemptResult(sent, job.rows)),
      )
      const { now } = this.#context
      if (result.outcome === 'unknown') this.#context.unknownAt = now()
      if (result.outcome === 'accepted') this.#context.acceptedAt.set(job.id, now())
      return result
    } finally {
      options.signal?.removeEventListener('abort', onInterrupt)
      settled.abort()
      slot.done()
    }
  }

  /**
   * Changes the outcome of a refused request to `no_effect` if some of its rows fit into the maximum supply, or its
   * shuffled drop is sealed. A sealed drop stops the run.
   */
  async #reclassifyRefusal({ rows }: Job, sent: SendOnceResult, result: AttemptResult): Promise<AttemptResult> {
    if (result.outcome !== 'refused') return result
    if (isOfSealedDrop(sent)) {
      const stop = new GdnError('refused', result.message, { hint: SEALED_HINT })
      return { ...result, outcome: 'no_effect', cause: 'forbidden', retryAfterMs: null, stop, isSealed: true }
    }
    if (!isMaxSupplyRefusal(sent)) return result
    const { client, options } = this.#context
    const fits = await countRowsWithinSupply(client, options, rows).catch(() => 0)
    if (fits === 0) return { ...result, exceedsMaxSupply: true }
    return { ...result, outcome: 'no_effect', cause: 'too_large', retryAfterMs: null, fits, exceedsMaxSupply: true }
  }

  /**
   * Resolves a request whose repetition was refused because of the maximum supply or a sealed drop. The server accepts
   * a request as a whole or not at all, so rows whose reference IDs have no NFT were not accepted. Returns false if the
   * outcome isn't certain.
   */
  async settleRefused(job: Job, result: AttemptResult & { message: string }): Promise<boolean> {
    const { client, run, options, halt: signal } = this.#context
    const references = parseReferences(job.body)
    if (references.length !== job.rows || client.supports('references') !== true) return false
    const mints = await new ReferenceLookup(client, { ...options, signal }).findMints(references).catch(() => null)
    if (mints === null || [...mints.values()].some((mint) => findOtherLabel(mint, options.label) !== null)) return false
    const nfts = new Map<number, string>()
    for (const [position, reference] of references.entries()) {
      const mint = mints.get(reference)
      if (mint !== undefined) nfts.set(position, mint.nft_gdn_id)
    }
    const isSettled = await run.write((sql) => {
      if (assignedNfts(sql, [...nfts.values()]).size > 0) return false
      recordRefusedRepetition(sql, job.id, nfts, { message: result.message, now: Date.now() })
      return true
    })
    if (!isSettled) return false
    run.countMove('unknown', 'accepted', nfts.size)
    run.countMove('unknown', 'failed', job.rows - nfts.size)
    this.report(job, 'refused', result)
    return true
  }

  /** Changes the outcome to `unknown` if the response has the ID of an NFT that already existed. */
  async #rejectKnownIds({ id, body }: Job, result: AttemptResult): Promise<AttemptResult> {
    if (result.outcome !== 'accepted') return result
    const { run } = this.#context
    const inFlight = result.created.find((id) => this.#unrecordedIds.has(id))
    const { collectionId, listedAt } = run.drop
    // The NFT of a row with a reference ID may already exist. Another machine may have created it, or it failed and its
    // reference ID can't be reused.
    const before = parseReferences(body).length > 0 ? { listedAt: null, requestId: id } : { listedAt, requestId: null }
    const knownId = inFlight ?? (await run.read((sql) => findUnassignable(sql, collectionId, result.created, before)))
    if (knownId === null) {
      for (const id of result.created) this.#unrecordedIds.add(id)
      return result
    }
    const message = `the server returned the ID of an NFT that already existed: ${knownId}`
    return { ...UNKNOWN_OUTCOME, status: result.status, message }
  }

  /** Records the outcome of an attempt, and reports it. */
  async record(job: Job, result: AttemptResult, was: 'pending' | 'unknown'): Promise<void> {
    const { run } = this.#context
    const now = Date.now()
    await run.write((sql) => {
      switch (result.outcome) {
        case 'accepted':
          return acceptRows(sql, job.id, result.created, { now })
        case 'refused':
          return recordRefusal(sql, job.id, result.message, now)
        case 'unknown':
          return markUnknown(sql, run.id, job.id, `the outcome is unknown: ${result.message}`, now)
        case 'no_effect':
          return recordNoEffect(sql, job.id, now)
      }
    })
    if (result.outcome === 'accepted') {
      for (const id of result.created) this.#unrecordedIds.delete(id)
      this.#context.holdReason = null
    }
    if (result.outcome !== 'no_effect') {
      run.countMove(was, result.outcome === 'refused' ? 'failed' : result.outcome, job.rows)
    }
    this.report(job, result.outcome, result)
  }

  report(
    { n, rows }: Job,
    outcome: AttemptResult['outcome'],
    result: { status: number | null; message?: string },
  ): void {
    const { status, message = null } = result
    this.#context.emit({ type: 'answered', request: n, rows, outcome, status, message })
    this.#context.emitRows()
  }

  /** Removes the record of a request that had no effect and whose bytes won't be sent again. */
  async forget({ id, rows }: Job, result: NoEffectAttempt & Pick<AttemptResult, 'fits'>): Promise<void> {
    const { cause, message, fits } = result
    const { run, emit } = this.#context
    const isLimited = cause === 'too_large' && fits === undefined
    const largest = isLimited ? Math.min(run.drop.largest ?? rows, halfOf(rows)) : null
    await run.write((sql) => {
      forgetRequest(sql, id)
      if (largest !== null) updateDrop(sql, run.id, { largest })
    })
    if (largest !== null) run.drop = { ...run.drop, largest }
    const chunkSize = largest ?? fits
    if (chunkSize !== undefined) emit({ type: 'resized', chunkSize, message })
  }
}

/** Returns the number of rows per request after a request with `rows` rows was rejected as too large. */
const halfOf = (rows: number): number => Math.max(1, Math.floor(rows / 2))

/** Classifies the result of an attempt with this number of rows. A single row that is too large counts as refused. */
export async function toAttemptResult(sent: SendOnceResult, rows: number): Promise<AttemptResult> {
  const result = await classify<ReceivedResponse, string[]>(sent, {
    created: ({ status, json }) => readIds(status, json, rows),
    refusal: (response) => ({ message: serverMessage(response) }),
    describe: serverMessage,
  })
  const isTooLarge = result.outcome === 'no_effect' && result.cause === 'too_large'
  return isTooLarge && rows === 1 ? { ...result, outcome: 'refused' } : result
}

const acceptedSchema = z.looseObject({ nfts: z.array(z.looseObject({ nft_gdn_ids: z.string().min(1) })) })

/** Reads only the IDs in a response. The schema of the API contract would also parse each NFT. */
function readIds(status: number, json: unknown, rows: number): { created: string[] } | { message: string } {
  const parsed = acceptedSchema.safeParse(normalizeNftsResponse(json))
  if (!parsed.success) return { message: `the server returned ${status} without a list of IDs` }
  const ids = parsed.data.nfts.map((nft) => nft.nft_gdn_ids)
  if (ids.length !== rows) return { message: `the server returned ${ids.length} IDs for ${rows} rows` }
  if (new Set(ids).size !== ids.length) return { message: 'the server returned the same ID for several rows' }
  return { created: ids }
}

function serverMessage({ status, json }: ReceivedResponse): string {
  const parsed = errorFormASchema.safeParse(json)
  return parsed.success ? parsed.data.error.message : `the server returned ${status}`
}
