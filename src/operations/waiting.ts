import type { CollectionRecord } from '../api/endpoints/getcollections.ts'
import type { CreatingEndpoint, EndpointName } from '../api/endpoints.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { failureReason, hasFailed, isFinal } from '../api/nft-status.ts'
import { isSameAddress } from '../api/same-address.ts'
import { isStuckReason } from '../api/stuck-reason.ts'
import type { ApiClient } from '../client/api-client.ts'
import { readNft, readNfts, readTransaction, type TransactionRecord } from '../client/read-records.ts'
import { lacksEndpoint } from '../client/responses.ts'
import { count } from '../core/count.ts'
import { GdnError } from '../core/errors.ts'
import { terminalText } from '../core/terminal-text.ts'
import type { Now } from '../core/time.ts'
import { isTimeUp } from '../core/time-up.ts'
import { DEFAULT_WAIT_MS } from './defaults.ts'
import { refuseUnknownNfts } from './unknown-nfts.ts'

interface PollDeps {
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>
  signal: AbortSignal
  /** A monotonic clock in milliseconds. Default: the clock of the process. */
  now?: Now
}

export interface WaitDeps extends PollDeps {
  client: Pick<ApiClient, 'call' | 'supports' | 'observedRateLimit'>
}

interface ReadDeps {
  client: Pick<ApiClient, 'call'>
  signal: AbortSignal
}

/** The intervals between polls. Each is `factor` times the previous one, and at most `maxMs`. */
interface PollIntervals {
  firstMs: number
  maxMs: number
  factor: number
}

const COMMAND_INTERVALS: PollIntervals = { firstMs: 200, maxMs: 2000, factor: 2 }

/** Time that a server may be unreachable after it has responded, in milliseconds. */
const MAX_UNREACHABLE_MS = 30_000

/**
 * Maximum time in seconds for which the server holds a response. A pending reason that gdn shows is at most this old.
 */
const MAX_HOLD_SECONDS = 2

const monotonic = () => performance.now()

/**
 * Polls with increasing intervals until `pollOnce` returns a value.
 *
 * @param pollOnce called with the remaining time; returns undefined to continue polling
 * @returns undefined after the timeout, or when the command's own time limit is reached
 */
export async function poll<Value>(
  { sleep, signal, now = monotonic }: PollDeps,
  timeoutMs: number,
  pollOnce: (leftMs: number) => Promise<Value | undefined>,
  { firstMs, maxMs, factor }: PollIntervals = COMMAND_INTERVALS,
): Promise<Value | undefined> {
  const deadline = now() + timeoutMs
  try {
    for (let wait = firstMs; ; wait = Math.min(wait * factor, maxMs)) {
      const value = await pollOnce(deadline - now())
      if (value !== undefined) return value
      const remainingMs = deadline - now()
      if (remainingMs <= 0) return undefined
      await sleep(Math.min(wait, remainingMs), signal)
    }
  } catch (error) {
    if (isTimeUp(signal.reason)) return undefined
    throw error
  }
}

/**
 * Like `poll`, but a server with the capability `waits` holds each response until nothing is pending, which replaces
 * the pause between polls. If the endpoint has a rate limit, only the first response is held, because requests in
 * flight occupy slots that all processes share. After the server has responded once, it may be unreachable for half a
 * minute, for example during a restart.
 *
 * @param pollOnce reads with the client in its argument
 */
async function pollServer<Value>(
  deps: WaitDeps,
  timeoutMs: number,
  pollOnce: (reading: ReadDeps) => Promise<Value | undefined>,
): Promise<Value | undefined> {
  const { client, signal, now = monotonic } = deps
  let polls = 0
  let isHeld = false
  let heldMs = 0
  let reachedAt: number | null = null
  // Call `sleep` even if the response was held for the whole pause, because `sleep` also applies the command's time
  // limit.
  const sleep: WaitDeps['sleep'] = (ms, until) => deps.sleep(Math.max(0, ms - heldMs), until)
  return await poll({ ...deps, sleep }, timeoutMs, async (leftMs) => {
    isHeld = false
    heldMs = 0
    polls += 1
    // Hold the first response for only 1 s, so that the reason for a delay is available early.
    const waitSeconds = Math.min(polls, MAX_HOLD_SECONDS, Math.floor(leftMs / 1000))
    const mayHold = (name: EndpointName) =>
      // Hold only one request of a poll, so that the poll ends in time.
      waitSeconds > 0 && !isHeld && (polls === 1 || client.observedRateLimit(name)?.perSecond === null)
    const call: ApiClient['call'] = async (name, request, options) => {
      if (client.supports('waits') !== true || !mayHold(name)) return await client.call(name, request, options)
      isHeld = true
      const since = now()
      const response = await client.call(name, request, { ...options, waitSeconds })
      // A server that is shutting down responds early. Don't shorten the pause in that case.
      if (now() - since >= waitSeconds * 900) heldMs = now() - since
      return response
    }
    try {
      const value = await pollOnce({ client: { call }, signal })
      reachedAt = now()
      return value
    } catch (error) {
      const isAway = error instanceof GdnError && error.code === 'unreachable'
      if (!isAway || reachedAt === null || now() - reachedAt > MAX_UNREACHABLE_MS) throw error
      return undefined
    }
  })
}

/**
 * Returns a predicate for minted NFTs that need no further wait. An NFT of createnfttrans must also have left its
 * sender, or have reached its receiver if the sender is unknown.
 */
export function createMintedCheck(
  endpoint: CreatingEndpoint,
  { sender_wallet_address: sender, receiver_wallet_address: receiver }: MintParties,
) {
  const leaves = (owner: string | null | undefined) => {
    if (endpoint !== 'createnfttrans') return true
    if (sender === undefined) return typeof owner === 'string' && isSameAddress(owner, receiver)
    return isSameAddress(sender, receiver) || (typeof owner === 'string' && !isSameAddress(owner, sender))
  }
  return ({ status, receiver_wallet_address: owner }: Pick<NftRecord, 'status' | 'receiver_wallet_address'>) =>
    hasFailed(status) || (isFinal(status) && leaves(owner))
}

interface MintParties {
  sender_wallet_address?: string | undefined
  receiver_wallet_address: string
}

/** The result of waiting for NFTs: their latest records, and the problem, if any. */
export interface WaitedForNfts {
  records: NftRecord[]
  /** IDs of the NFTs that don't meet the condition yet. */
  pending: string[]
  problem: GdnError | null
}

export interface NftWait {
  timeoutMs: number
  /** The condition to wait for. Default: a final status. */
  isDone?: ((record: NftRecord) => boolean) | undefined
  /** Whether the caller's own request was accepted. If so, an unreadable status counts as pending. */
  isAccepted?: boolean
  /**
   * Whether unknown IDs end the wait immediately, for servers whose reads are never stale. Other servers may omit NFTs
   * that they have just accepted.
   */
  mustExist?: boolean
  /** Called after each poll with the records of the NFTs that are still pending. */
  onPoll?: (look: { pending: number; records: readonly NftRecord[] }) => void
}

/** Waits until every NFT meets the condition. Polls only those that are still pending. */
export async function waitForNfts(
  deps: WaitDeps,
  ids: readonly string[],
  { timeoutMs, isDone = ({ status }) => isFinal(status), isAccepted = false, mustExist = false, onPoll }: NftWait,
): Promise<WaitedForNfts> {
  const records = new Map<string, NftRecord>()
  let hasResponded = false
  const recordsOf = (nftIds: readonly string[]) => nftIds.flatMap((id) => records.get(id) ?? [])
  const stillPending = () =>
    ids.filter((id) => {
      const record = records.get(id)
      return record === undefined || !isDone(record)
    })
  const waitedResult = (problem: (pending: string[]) => GdnError | null): WaitedForNfts => {
    const pending = stillPending()
    return { records: recordsOf(ids), pending, problem: problem(pending) }
  }
  try {
    await pollServer(deps, timeoutMs, async (reading) => {
      for (const [id, record] of await readNfts(reading, stillPending())) records.set(id, record)
      hasResponded = true
      if (mustExist && deps.client.supports('references') === true)
        refuseUnknownNfts(ids.filter((id) => !records.has(id)))
      const pending = stillPending()
      onPoll?.({ pending: pending.length, records: recordsOf(pending) })
      return pending.length === 0 ? true : undefined
    })
    return waitedResult((pending) =>
      pending.length > 0
        ? pendingNftsError(timeoutMs, pending, recordsOf(pending), hasResponded)
        : failedMintsError(recordsOf(ids)),
    )
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    const unreadError = (pending: string[]) => unreadStatusError(error, nftsAre(pending), { nft_gdn_ids: pending })
    return waitedResult((pending) => (isAccepted ? unreadError(pending) : error))
  }
}

const nftsAre = (ids: readonly string[]): string => `${count(ids.length, 'NFT')} ${ids.length === 1 ? 'is' : 'are'}`

function pendingNftsError(
  timeoutMs: number,
  pending: readonly string[],
  records: readonly NftRecord[],
  hasResponded: boolean,
): GdnError {
  const silence = hasResponded ? 'the server returns no NFT with this ID' : 'the server does not respond'
  const reason = records.length === 0 ? `: ${silence}` : pendingReasonSuffix(records)
  const reasons = new Map(records.map((record) => [record.nft_gdn_id, record.pending_reason ?? null]))
  const nfts = pending.map((nft_gdn_id) => ({ nft_gdn_id, pending_reason: reasons.get(nft_gdn_id) ?? null }))
  return pendingError(timeoutMs, nftsAre(pending), reason, { nft_gdn_ids: pending, nfts })
}

/**
 * Returns the error code for a wait that ended with this pending reason: `max_cost` if the operation can proceed only
 * with a higher limit or lower fees.
 */
export const toPendingCode = (reason: string | null | undefined): 'max_cost' | 'pending' =>
  isStuckReason(reason) ? 'max_cost' : 'pending'

/** Returns the error for a request that is still pending at the end of a wait. */
export function pendingError(
  timeoutMs: number,
  subject: string,
  reason: string,
  details: Record<string, unknown>,
): GdnError {
  return new GdnError(toPendingCode(reason), `${subject} still pending after ${timeoutMs / 1000} s${reason}`, {
    details,
  })
}

const UNREADABLE_CODES: ReadonlySet<string> = new Set([
  'unreachable',
  'rate_limited',
  'bad_answer',
  'unauthorized',
  'forbidden',
])

/** Returns whether an error means only that the status can't be read. The accepted request may still take effect. */
const isUnreadable = (error: unknown): error is GdnError =>
  error instanceof GdnError && UNREADABLE_CODES.has(error.code)

/** Returns the error for an accepted request whose status can't be read. Returns any other error unchanged. */
export function unreadStatusError(error: GdnError, subject: string, details: Record<string, unknown>): GdnError {
  if (!isUnreadable(error)) return error
  return new GdnError('pending', `${subject} accepted, but the status can't be read: ${error.message}`, {
    details,
    cause: error,
  })
}

/** The fields of a record that show whether an accepted request has taken effect. */
interface EffectFields {
  status?: string | null | undefined
  error?: string | null | undefined
  pending_reason?: string | null | undefined
}

/** Returns the error message of a failed request; null if it hasn't failed. */
export function describeFailure(subject: string, { status, error }: EffectFields): string | null {
  return hasFailed(status ?? '') ? `${subject} failed: ${failureReason(error)}` : null
}

function failedMintsError(records: readonly NftRecord[]): GdnError | null {
  const failed = records.filter(({ status }) => hasFailed(status))
  const [first] = failed
  if (first === undefined) return null
  return new GdnError('nft_failed', `${count(failed.length, 'NFT')} failed: ${failureReason(first.error)}`, {
    hint: 'NFTs that failed have not been minted. Fix the cause and mint them again.',
    details: { nfts: failed.map(({ nft_gdn_id, error }) => ({ nft_gdn_id, error: error ?? null })) },
  })
}

/**
 * Returns the most common reason why NFTs are pending, formatted as the end of a sentence. Empty if no reason is known.
 */
export function pendingReasonSuffix(records: readonly NftRecord[]): string {
  const times = new Map<string, number>()
  for (const { pending_reason } of records) {
    if (pending_reason) times.set(pending_reason, (times.get(pending_reason) ?? 0) + 1)
  }
  const [first] = [...times].sort(([, a], [, b]) => b - a)
  if (first === undefined) return ''
  const [reason, n] = first
  return `: ${records.length === 1 ? '' : `${count(n, 'NFT')}: `}${terminalText(reason)}`
}

/** Formats a pending reason as the end of a sentence. Empty if there is no reason. */
export const reasonSuffix = (reason: string | null | undefined): string => (reason ? `: ${terminalText(reason)}` : '')

/** Called after each poll with the pending reason as the end of a sentence. */
type OnPoll = ((reason: string) => void) | undefined

/** The result of waiting for an accepted transaction. */
export interface WaitedForTransaction {
  /** Undefined after a timeout or an interruption, or if the status can't be read. */
  finalRecord: TransactionRecord | undefined
  /** The reason why the transaction is pending, or why its status can't be read. */
  reason: string | null | undefined
  /** The error that ended the wait early; null if there is none. */
  interruption: GdnError | null
}

/** Waits until an accepted transaction is final. */
export async function waitForTransaction(
  deps: WaitDeps,
  id: string,
  timeoutMs: number,
  onPoll?: OnPoll,
): Promise<WaitedForTransaction> {
  let reason: string | null | undefined
  try {
    const finalRecord = await pollServer(deps, timeoutMs, async (reading) => {
      const transaction = await readTransaction(reading, id)
      reason = transaction?.pending_reason
      onPoll?.(reasonSuffix(reason))
      return isFinal(transaction?.status ?? '') ? transaction : undefined
    })
    return { finalRecord, reason, interruption: null }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return isUnreadable(error)
      ? { finalRecord: undefined, reason: error.message, interruption: null }
      : { finalRecord: undefined, reason, interruption: error }
  }
}

interface AwaitedEffect {
  /** The subject in messages, such as `the transfer`. */
  subject: string
  details: Record<string, unknown>
  timeoutMs: number
  onPoll: OnPoll
}

/**
 * Waits for the effect of an accepted request. Returns a GdnError instead of throwing it, because callers must still
 * report the ID of the request.
 *
 * @param pollOnce returns whether the wait is over, and calls `see` with each record
 */
async function waitForEffect(
  deps: WaitDeps,
  { subject, details, timeoutMs, onPoll }: AwaitedEffect,
  pollOnce: (reading: ReadDeps, see: (record: EffectFields) => void) => Promise<boolean>,
): Promise<{ ended: boolean; problem: GdnError | null }> {
  let effect: EffectFields = {}
  const see = (record: EffectFields) => {
    effect = record
    onPoll?.(reasonSuffix(record.pending_reason))
  }
  try {
    const over = await pollServer(deps, timeoutMs, async (reading) => (await pollOnce(reading, see)) || undefined)
    const ended = over ?? false
    const { pending_reason = null } = effect
    if (!ended) {
      const problem = pendingError(timeoutMs, `${subject} is`, reasonSuffix(pending_reason), {
        ...details,
        pending_reason,
      })
      return { ended, problem }
    }
    const failure = describeFailure(subject, effect)
    return { ended, problem: failure === null ? null : new GdnError('refused', failure, { details }) }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { ended: false, problem: unreadStatusError(error, `${subject} is`, details) }
  }
}

export interface AcceptedTransfer {
  nftGdnId: string
  sender: string
  receiver: string
  /** ID of the transaction. Null if the request got no response and gdn found the transfer complete. */
  transactionId: string | null
  /**
   * Whether the transfer was accepted earlier, so that the NFT may have been transferred again, even back to the
   * sender.
   */
  wasSentBefore?: boolean
}

export interface WaitedForTransfer {
  /** The fields that were read from the transaction, with their API names. */
  seen: Partial<
    Pick<
      TransactionRecord,
      'status' | 'transaction_hash' | 'gas_used' | 'fee_paid' | 'currency' | 'is_simulated' | 'error'
    >
  >
  ended: boolean
  problem: GdnError | null
}

/** Waits until the owner has changed and, if the server returns transactions, until the transaction is final. */
export async function waitForTransfer(
  deps: WaitDeps,
  { nftGdnId, sender, receiver, transactionId, wasSentBefore = false }: AcceptedTransfer,
  timeoutMs: number,
  onPoll?: OnPoll,
): Promise<WaitedForTransfer> {
  let effect: WaitedForTransfer['seen'] = {}
  let isFollowed = transactionId !== null

  /** Returns true if the transaction is final, or if the server returns no transactions. */
  const pollTransaction = async (reading: ReadDeps, see: (record: EffectFields) => void): Promise<boolean> => {
    if (!isFollowed || transactionId === null || isFinal(effect.status ?? '')) return true
    try {
      const transaction = await readTransaction(reading, transactionId)
      if (transaction === undefined) return false
      const { status, transaction_hash, gas_used, fee_paid, currency, is_simulated, error } = transaction
      effect = { status, transaction_hash, gas_used, fee_paid, currency, is_simulated, error }
      see(transaction)
      return isFinal(status)
    } catch (error) {
      if (!lacksEndpoint(error)) throw error
      isFollowed = false
      return true
    }
  }
  const pollOwner = async (reading: ReadDeps): Promise<boolean> => {
    if (isSameAddress(sender, receiver)) return true
    const owner = (await readNft(reading, nftGdnId))?.receiver_wallet_address
    return typeof owner === 'string' && !isSameAddress(owner, sender)
  }
  const details = { nft_gdn_id: nftGdnId }
  const pollTransfer = async (reading: ReadDeps, see: (record: EffectFields) => void): Promise<boolean> => {
    if (!(await pollTransaction(reading, see))) return false
    if (isFinal(effect.status ?? '') && (wasSentBefore || hasFailed(effect.status ?? ''))) return true
    return await pollOwner(reading)
  }
  const awaited = { subject: 'the transfer', details, timeoutMs, onPoll }
  const { ended, problem } = await waitForEffect(deps, awaited, pollTransfer)
  return { seen: problem === null ? { ...effect, status: 'deployed' } : effect, ended, problem }
}

export interface WaitedForCollection {
  /** The last record that was read; null if none was. */
  record: CollectionRecord | null
  problem: GdnError | null
}

/** Waits until a collection is deployed and has an address. */
export async function waitForCollection(
  deps: WaitDeps,
  id: string,
  timeoutMs: number = DEFAULT_WAIT_MS,
  onPoll?: OnPoll,
): Promise<WaitedForCollection> {
  let record = null as CollectionRecord | null
  const details = { transaction_gdn_id: id }
  const awaited = { subject: 'the collection', details, timeoutMs, onPoll }
  const { problem } = await waitForEffect(deps, awaited, async ({ client, signal }, see) => {
    const request = { transaction_gdn_ids: [id] }
    const { collections } = await client.call('getcollections', request, { signal }).catch((error: unknown) => {
      throw lacksEndpoint(error) ? noAddressError(id) : error
    })
    record = collections.find((collection) => collection.transaction_gdn_ids === id) ?? record
    see(record ?? {})
    return record !== null && isSettled(record)
  })
  return { record, problem }
}

/**
 * Returns whether the wait for a collection is over. Records of the hosted service have no status, so only their
 * address is checked.
 */
function isSettled({ status, contract_address }: CollectionRecord): boolean {
  if (status === null || status === undefined) return Boolean(contract_address)
  return hasFailed(status) || (status === 'deployed' && Boolean(contract_address))
}

const noAddressError = (id: string) =>
  new GdnError('pending', 'the request was accepted, but this server has no endpoint that returns the address', {
    hint: `Find the transaction ${id} in the list of collections on the service's website, and use the address of its collection.`,
    details: { transaction_gdn_id: id },
  })
