import { isBackendChange } from '../../client/backend.ts'
import { GdnError } from '../../core/errors.ts'
import { LISTING_LAG_MS, SEARCH_GAP_MS } from '../../operations/reconcile/listing.ts'
import {
  decideGroup,
  type GroupVerdict,
  type Match,
  MOVED_REASON,
  type RowVerdict,
} from '../../operations/reconcile/match-groups.ts'
import { isRepeatable } from '../../operations/repeatable.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { assignedNfts } from '../../state/known-nfts.ts'
import { markAbsent, markLate, markUndecided, recordNft } from '../../state/row-outcomes.ts'
import { LATE_REASON } from '../../state/row-results.ts'
import { findOtherLabel } from '../identity/other-labels.ts'
import { ReferenceLookup } from '../identity/server-names.ts'
import { ABSENCE_REASONS, UNDECIDED_PREFIX } from '../runs/results.ts'
import type { RunContext } from '../runs/run-context.ts'
import { listResendable } from '../send/list-resendable.ts'
import { CollectionSearch, type CollectionSearchResult } from './collection-search.ts'
import { type OtherRecords, readUnknownRows, type UnknownRow, type UnresolvedRows } from './unknown-rows.ts'

/** The inputs of `reconcile` that don't come from the run. */
export interface ReconcileInputs {
  markerKey: string | undefined
  /** Reads the current records of other runs and commands, including which NFTs in `ids` are already assigned. */
  readOtherRecords(ids: readonly string[]): Promise<OtherRecords>
  /** Called repeatedly while reconciling waits, so that other work of the run continues. */
  onWait(): Promise<void>
  /** Time at which waiting must stop. */
  deadline: number
}

export interface ReconcileResult {
  adopted: number
  absent: number
  undecided: number
  basis: 'later_rows' | 'time_alone' | null
}

/** The wait for the listing to catch up, as a multiple of the observed lag. */
const LAG_FACTOR = 20
const SLICE_MS = 5_000

/** The verdicts on the rows with an unknown outcome. */
interface Decision {
  verdicts: Map<UnknownRow, RowVerdict>
  lateNfts: { id: string; row: UnknownRow }[]
  proof: CollectionSearchResult['proof']
  /** Whether another search may resolve more rows. */
  isTemporary: boolean
}

/**
 * Resolves rows whose outcome is unknown. For each row, searches the collection for an NFT with the row's content that
 * this machine has not assigned yet. A verdict requires two complete searches that agree, after the listing has had
 * time to catch up. Commits the verdicts, and sends nothing.
 *
 * @returns null if no row had to be resolved, or if the run was stopped first
 */
export async function reconcile(context: RunContext, inputs: ReconcileInputs): Promise<ReconcileResult | null> {
  const open = await readUnknownRows(context.run, inputs.markerKey)
  const leftToRepeat = await repeatableRequests(context)
  open.rows = open.rows.filter(
    ({ request, notAbsentReason }) => notAbsentReason !== null || !leftToRepeat.has(request.id),
  )
  if (open.rows.length === 0) return null
  const adoptedIds = await adoptByReference(context, open.rows)
  open.rows = open.rows.filter(({ id }) => !adoptedIds.has(id))
  const waits = open.rows.some(({ state }) => state === 'unknown')
  const decision = open.rows.length === 0 ? NO_DECISION : await searchAndDecide(context, inputs, open, waits)
  if (decision === null) return null
  const reconciled = await storeDecision(context, open, decision)
  reconciled.adopted += adoptedIds.size
  await context.run.recount()
  const { adopted, absent, undecided } = reconciled
  context.emit({ type: 'reconciled', adopted, absent, undecided })
  context.emitRows()
  return reconciled
}

/**
 * Returns the requests with an unknown outcome that need no search. If the server ensures that a repetition takes
 * effect only once, repeating the request in this command or the next one resolves its outcome.
 */
async function repeatableRequests(context: RunContext): Promise<Set<number>> {
  if (context.options.reconcileOnly === true) return new Set()
  const repeatable = new Set<number>()
  for (const request of await listResendable(context.run)) {
    if (context.rejectedRepetitions.has(request.id)) continue
    if (await isRepeatable(context.client, request, { signal: context.halt, refresh: false }))
      repeatable.add(request.id)
  }
  return repeatable
}

/**
 * Adopts the NFTs that the server returns for the reference IDs of rows. Returns the operation IDs of these rows. If
 * the server doesn't support reference IDs, or the lookup fails, gdn searches the listing for the rows instead.
 */
async function adoptByReference(context: RunContext, rows: readonly UnknownRow[]): Promise<Set<string>> {
  const { client, halt: signal, options, run } = context
  const rowsWithReference = rows.flatMap(({ id, state, notAbsentReason, reference }) =>
    state === 'unknown' && notAbsentReason === null && reference !== null ? [{ id, reference }] : [],
  )
  if (rowsWithReference.length === 0) return new Set()
  if (client.supports('references') === null) await client.learnCapabilities({ signal })
  if (client.supports('references') !== true) return new Set()
  const mints = await catchFailure(() =>
    new ReferenceLookup(client, { ...options, signal }).findMints(rowsWithReference.map(({ reference }) => reference)),
  )
  if (mints instanceof GdnError) return new Set()
  const now = Date.now()
  return await run.write((sql) => {
    const alreadyAssigned = assignedNfts(
      sql,
      [...mints.values()].map(({ nft_gdn_id }) => nft_gdn_id),
    )
    const adopted = new Set<string>()
    for (const { id, reference } of rowsWithReference) {
      const mint = mints.get(reference)
      if (mint === undefined || alreadyAssigned.has(mint.nft_gdn_id) || findOtherLabel(mint, options.label) !== null)
        continue
      recordNft(sql, id, mint.nft_gdn_id, { now, by: 'found' })
      adopted.add(id)
    }
    return adopted
  })
}

const NO_DECISION: Decision = {
  verdicts: new Map(),
  lateNfts: [],
  proof: { acceptedRequestNumber: null, rewritesMetadata: false },
  isTemporary: false,
}

async function searchAndDecide(
  context: RunContext,
  inputs: ReconcileInputs,
  open: UnresolvedRows,
  waits: boolean,
): Promise<Decision | null> {
  const { now, halt } = context
  const { deadline } = inputs
  const search = new CollectionSearch(context, inputs.markerKey, open.rows)
  let lagMs = 0
  let earlierFingerprint: string | null = null
  for (;;) {
    const askedAt = now()
    const result = await catchFailure(() => search.run())
    if (result instanceof GdnError && isFatal(result)) context.stop(result)
    if (halt.aborted) return null
    if (result instanceof GdnError) {
      const failed = decideUndecided(open, `the NFTs of the collection can't be listed: ${result.message}`)
      if (result.code === 'refused' || !waits || now() + SEARCH_GAP_MS > deadline) return failed
      earlierFingerprint = null
      if (!(await waitForListing(context, inputs, SEARCH_GAP_MS))) return null
      continue
    }
    // This machine commits every request before sending it, so a read after the listing finds every claim to a listed
    // NFT.
    const others = await inputs.readOtherRecords([...result.matches.values()].flat().map(({ id }) => id))
    lagMs = Math.max(lagMs, result.lagMs)
    const settledAt = context.unknownAt + (context.options.listingWait ?? Math.max(LISTING_LAG_MS, LAG_FACTOR * lagMs))
    const isSettled = askedAt >= settledAt
    const currentFingerprint = fingerprintSearch(result, others)
    const agrees = isSettled && result.incompleteReason === null && currentFingerprint === earlierFingerprint
    earlierFingerprint = isSettled && result.incompleteReason === null ? currentFingerprint : null
    const incompleteReason =
      result.incompleteReason ??
      (agrees ? null : "the server's list of NFTs was still out of date when the timeout expired")
    const decision = decideAll(
      open,
      result,
      others,
      { markerKey: inputs.markerKey, hasBaseline: context.run.drop.listedAt !== null },
      incompleteReason,
    )
    if (!waits || (agrees && !decision.isTemporary)) return decision
    const wait = Math.max(SEARCH_GAP_MS, settledAt - now())
    if (now() + wait + (earlierFingerprint === null ? SEARCH_GAP_MS : 0) > deadline)
      return agrees ? decision : undecidedUntilLater(open, decision, wait)
    if (!(await waitForListing(context, inputs, wait))) return null
  }
}

async function catchFailure<Value>(task: () => Promise<Value>): Promise<Value | GdnError> {
  try {
    return await task()
  } catch (error) {
    if (error instanceof GdnError && error.code !== 'data_dir') return error
    throw error
  }
}

const isFatal = (error: GdnError): boolean =>
  error.code === 'unauthorized' || error.code === 'forbidden' || isBackendChange(error)

/** Waits while other work of the run continues. Returns false if the run was stopped. */
async function waitForListing(context: RunContext, { onWait }: ReconcileInputs, ms: number): Promise<boolean> {
  const until = context.now() + ms
  for (let remainingMs = ms; remainingMs > 0; remainingMs = until - context.now()) {
    context.emit({ type: 'reconciling', phase: 'waiting', ms: remainingMs, done: 0, total: 0 })
    if (!(await context.pause(Math.min(remainingMs, SLICE_MS)))) return false
    await onWait()
  }
  return !context.halt.aborted
}

function decideUndecided(open: UnresolvedRows, reason: string): Decision {
  const verdict: RowVerdict = { kind: 'undecided', reason, isTemporary: true }
  const verdicts = new Map(open.rows.map((row) => [row, verdict]))
  return { verdicts, lateNfts: [], proof: { acceptedRequestNumber: null, rewritesMetadata: false }, isTemporary: true }
}

function undecidedUntilLater(open: UnresolvedRows, { verdicts }: Decision, wait: number): Decision {
  const seconds = Math.ceil(wait / 1000)
  const short = decideUndecided(
    open,
    `the server's list of NFTs was still out of date when the timeout expired: reconcile again with a --timeout that is at least ${seconds} s longer`,
  )
  // A permanent reason is more useful to the user than the timeout.
  for (const [row, verdict] of verdicts) {
    if (verdict.kind === 'undecided' && !verdict.isTemporary) short.verdicts.set(row, verdict)
  }
  return short
}

/** Returns, as JSON, the properties that must be equal in two searches. */
function fingerprintSearch(
  { matches, sameTitleCounts, unmatchedCount, proof }: CollectionSearchResult,
  others: OtherRecords,
): string {
  const matchTexts = [...matches].map(([identity, all]) => [
    identity,
    all
      .filter(({ id }) => !others.given.has(id))
      .map(({ id, owner }) => `${id} ${owner}`)
      .sort(),
    others.unresolved.has(identity),
  ])
  // Compare only whether there are unrecorded NFTs, because other clients may mint NFTs in the meantime.
  return JSON.stringify([matchTexts.sort(), [...sameTitleCounts], unmatchedCount > 0, proof])
}

function decideAll(
  open: UnresolvedRows,
  result: CollectionSearchResult,
  others: OtherRecords,
  { markerKey, hasBaseline }: { markerKey: string | undefined; hasBaseline: boolean },
  incompleteReason: string | null,
): Decision {
  const groups = new Map<string, UnknownRow[]>()
  for (const row of open.rows) {
    groups.set(row.identity, [...(groups.get(row.identity) ?? []), row])
  }
  const decision: Decision = { verdicts: new Map(), lateNfts: [], proof: result.proof, isTemporary: false }
  for (const [identity, rows] of groups) {
    const copies = rows.filter(({ state }) => state !== 'superseded')
    const superseded = rows.filter(({ state }) => state === 'superseded')
    const hasMarkers = markerKey !== undefined && identity.startsWith('marker ')
    const matches = (result.matches.get(identity) ?? []).filter(({ id }) => !others.given.has(id))
    const adopted = open.adopted.filter((each) => each.identity === identity)
    const verdict = decideGroup({
      copies: copies.map((copy) => ({
        owners: copy.owners,
        unprovable: findUnprovableReason(copy, adopted, result, open, incompleteReason),
      })),
      superseded,
      matches,
      similarCount: hasMarkers ? 0 : (result.sameTitleCounts.get(rows[0]?.title ?? '') ?? 0),
      doubtReason: hasMarkers ? null : doubtReason(identity, hasBaseline, others),
      hasMarkers,
    })
    addVerdicts(decision, verdict, copies, superseded, matches)
  }
  return decision
}

function addVerdicts(
  decision: Decision,
  { rows, late }: GroupVerdict,
  copies: readonly UnknownRow[],
  superseded: readonly UnknownRow[],
  matches: readonly Match[],
): void {
  for (const [index, copy] of copies.entries()) {
    const verdict = rows[index]
    if (verdict === undefined) continue
    decision.verdicts.set(copy, verdict)
    if (verdict.kind === 'undecided' && verdict.isTemporary) decision.isTemporary = true
  }
  const unmatched = superseded.slice()
  for (const id of late) {
    const owner = matches.find((match) => match.id === id)?.owner ?? ''
    const at = unmatched.findIndex(({ owners }) => owners.includes(owner))
    const [row] = unmatched.splice(Math.max(0, at), 1)
    if (row !== undefined) decision.lateNfts.push({ id, row })
  }
}

/** Returns why the row can't be proved to be absent, or null if it can. */
function findUnprovableReason(
  { notAbsentReason, owners }: UnknownRow,
  adopted: UnresolvedRows['adopted'],
  { proof, unmatchedCount, matches }: CollectionSearchResult,
  open: UnresolvedRows,
  incompleteReason: string | null,
): { reason: string; isTemporary: boolean } | null {
  const permanentReason = (reason: string) => ({ reason, isTemporary: false })
  if (incompleteReason !== null) return { reason: incompleteReason, isTemporary: true }
  if (notAbsentReason !== null) return permanentReason(notAbsentReason)
  if (proof.rewritesMetadata || open.rewritesMetadata)
    return permanentReason(
      'the server returns metadata that differs from the request: the NFT of this row may exist with different metadata',
    )
  const isShownAsSent = proof.acceptedRequestNumber !== null || matches.size > 0 || open.adopted.length > 0
  if (!isShownAsSent && unmatchedCount > 0) {
    return permanentReason(
      'the collection has new NFTs that match no row: one of them may be the NFT of this row, with different metadata',
    )
  }
  if (adopted.some((each) => each.owners.join() !== owners.join())) return permanentReason(MOVED_REASON)
  return null
}

function doubtReason(identity: string, hasBaseline: boolean, { unresolved }: OtherRecords): string | null {
  if (unresolved.has(identity)) {
    return 'another command on this machine sent a row with the same metadata, and its outcome is unknown: the NFT may belong to either command'
  }
  return hasBaseline
    ? null
    : 'an NFT with the same metadata was found, but gdn has no list of the NFTs that existed before the run'
}

async function storeDecision({ run }: RunContext, open: UnresolvedRows, decision: Decision): Promise<ReconcileResult> {
  const total: ReconcileResult = { adopted: 0, absent: open.markedAbsentCount, undecided: 0, basis: null }
  const changes: ((sql: Sql, now: number) => void)[] = []
  for (const row of open.rows) {
    const { id, reason } = row
    const late = decision.lateNfts.find((each) => each.row === row)
    if (late !== undefined) changes.push((sql, now) => markLate(sql, id, late.id, LATE_REASON, now))
    const verdict = decision.verdicts.get(row)
    if (verdict === undefined) continue
    const wasAbsent = row.state === 'absent'
    if (verdict.kind === 'adopted') {
      total.adopted++
      changes.push((sql, now) => recordNft(sql, id, verdict.id, { now, by: 'found' }))
    } else if (verdict.kind === 'absent' || (verdict.isTemporary && wasAbsent)) {
      const { n, unknownAfter } = row.request
      const isLater = (decision.proof.acceptedRequestNumber ?? 0) > (unknownAfter ?? n)
      // A row that was found absent before stays absent if this search couldn't decide.
      const basis = verdict.kind === 'absent' ? (isLater ? 'later_rows' : 'time_alone') : basisOf(reason)
      total.absent++
      if (total.basis !== 'time_alone') total.basis = basis
      if (!wasAbsent || reason !== ABSENCE_REASONS[basis])
        changes.push((sql) => markAbsent(sql, id, ABSENCE_REASONS[basis]))
    } else {
      total.undecided++
      const undecidedReason = UNDECIDED_PREFIX + verdict.reason
      if (reason !== undecidedReason) changes.push((sql) => markUndecided(sql, id, undecidedReason))
    }
  }
  if (changes.length > 0) {
    await run.write((sql) => {
      const now = Date.now()
      for (const change of changes) change(sql, now)
    })
  }
  return total
}

const basisOf = (reason: string | null): 'later_rows' | 'time_alone' =>
  reason === ABSENCE_REASONS.later_rows ? 'later_rows' : 'time_alone'
