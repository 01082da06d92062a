import type { CreatingEndpoint } from '../api/endpoints.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { hasFailed, isFinal } from '../api/nft-status.ts'
import { sameAddress } from '../api/same-address.ts'
import { lacksEndpoint } from '../client/answers.ts'
import type { ApiClient } from '../client/api-client.ts'
import { readNft, readNfts, readTransaction, type TransactionRecord } from '../client/read-records.ts'
import { GdnError } from '../core/errors.ts'
import { terminalText } from '../core/terminal-text.ts'
import { isTimeUp } from '../core/time-up.ts'
import { refuseUnknown } from './unknown-nfts.ts'

const FIRST_POLL_MS = 200
const MAX_POLL_MS = 2000

export interface WaitDeps {
  client: Pick<ApiClient, 'call' | 'supportsReferences'>
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
}

/**
 * Polls with increasing intervals until there is a final answer.
 *
 * @param ask returns undefined to be called again
 * @returns undefined after the timeout, or when the time of the command is over
 */
export async function poll<Value>(
  { sleep, signal }: Pick<WaitDeps, 'sleep' | 'signal'>,
  timeoutMs: number,
  ask: () => Promise<Value | undefined>,
): Promise<Value | undefined> {
  const deadline = performance.now() + timeoutMs
  try {
    for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * 2, MAX_POLL_MS)) {
      const value = await ask()
      if (value !== undefined) return value
      const left = deadline - performance.now()
      if (left <= 0) return undefined
      await sleep(Math.min(wait, left), signal)
    }
  } catch (error) {
    if (isTimeUp(signal.reason)) return undefined
    throw error
  }
}

/** Returns whether an NFT of a mint needs no more waiting. A granted one must have left its first owner, if that is known. */
export function isMinted(
  endpoint: CreatingEndpoint,
  { sender_wallet_address: sender, receiver_wallet_address: receiver }: MintParties,
) {
  const leaves = (owner: string | null | undefined) => {
    if (endpoint !== 'createnfttrans') return true
    if (sender === undefined) return typeof owner === 'string' && sameAddress(owner, receiver)
    return sameAddress(sender, receiver) || (typeof owner === 'string' && !sameAddress(owner, sender))
  }
  return ({ status, receiver_wallet_address: owner }: Pick<NftRecord, 'status' | 'receiver_wallet_address'>) =>
    hasFailed(status) || (isFinal(status) && leaves(owner))
}

interface MintParties {
  sender_wallet_address?: string | undefined
  receiver_wallet_address: string
}

/** Result of waiting for NFTs: their latest records, and the problem, if there is one. */
export interface WaitedForNfts {
  records: NftRecord[]
  /** IDs of those that are not in a final state. */
  pending: string[]
  problem: GdnError | null
}

export interface NftWait {
  timeoutMs: number
  /** Condition to wait for, if not the final status. */
  isDone?: ((record: NftRecord) => boolean) | undefined
  /**
   * Whether to end at once for IDs that the server doesn't know, if its responses are never behind. The details of
   * another server may lack an NFT that it has just accepted.
   */
  mustExist?: boolean
  /** Called after each look, with the records of those that are still pending. */
  onLook?: (look: { pending: number; records: readonly NftRecord[] }) => void
}

/** Waits until every NFT is deployed or failed. Polls only those that are still pending. */
export async function waitForNfts(
  deps: WaitDeps,
  ids: readonly string[],
  { timeoutMs, isDone = ({ status }) => isFinal(status), mustExist = false, onLook }: NftWait,
): Promise<WaitedForNfts> {
  const seen = new Map<string, NftRecord>()
  const recordsOf = (some: readonly string[]) => some.flatMap((id) => seen.get(id) ?? [])
  const stillPending = () =>
    ids.filter((id) => {
      const record = seen.get(id)
      return record === undefined || !isDone(record)
    })
  const waited = (problem: (pending: string[]) => GdnError | null): WaitedForNfts => {
    const pending = stillPending()
    return { records: recordsOf(ids), pending, problem: problem(pending) }
  }
  try {
    await poll(deps, timeoutMs, async () => {
      for (const [id, record] of await readNfts(deps, stillPending())) seen.set(id, record)
      if (mustExist && deps.client.supportsReferences() === true) refuseUnknown(ids.filter((id) => !seen.has(id)))
      const left = stillPending()
      onLook?.({ pending: left.length, records: recordsOf(left) })
      return left.length === 0 ? true : undefined
    })
    return waited((pending) =>
      pending.length > 0 ? stillPendingAfter(timeoutMs, pending, recordsOf(pending)) : failureOf(recordsOf(ids)),
    )
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return waited(() => error)
  }
}

const nfts = (n: number) => `${n} NFT${n === 1 ? '' : 's'}`

function stillPendingAfter(timeoutMs: number, pending: readonly string[], records: readonly NftRecord[]): GdnError {
  const reason = records.length === 0 ? ': the server returns no NFT with such an ID' : pendingReason(records)
  const message = `${nfts(pending.length)} still pending after ${timeoutMs / 1000} s${reason}`
  return new GdnError('pending', message, { details: { nft_gdn_ids: pending } })
}

function failureOf(records: readonly NftRecord[]): GdnError | null {
  const failed = records.filter(({ status }) => hasFailed(status))
  const [first] = failed
  if (first === undefined) return null
  return new GdnError('nft_failed', `${nfts(failed.length)} failed: ${first.error ?? 'the server gives no reason'}`, {
    hint: 'Failed NFTs are not minted. Fix the cause and mint them again.',
    details: { nfts: failed.map(({ nft_gdn_id, error }) => ({ nft_gdn_id, error: error ?? null })) },
  })
}

/** Returns the most common reason why NFTs are pending, as the end of a sentence, or an empty text. */
export function pendingReason(records: readonly NftRecord[]): string {
  const times = new Map<string, number>()
  for (const { pending_reason } of records) {
    if (pending_reason) times.set(pending_reason, (times.get(pending_reason) ?? 0) + 1)
  }
  const [first] = [...times].sort(([, a], [, b]) => b - a)
  if (first === undefined) return ''
  const [reason, n] = first
  return `: ${records.length === 1 ? '' : `${nfts(n)}: `}${terminalText(reason)}`
}

/** Formats why something is pending as the end of a sentence: an empty text without a reason. */
export const because = (reason: string | null | undefined): string => (reason ? `: ${terminalText(reason)}` : '')

export interface AcceptedTransfer {
  nftGdnId: string
  sender: string
  receiver: string
  /** Null if the transfer was found to be complete without a response. */
  transactionId: string | null
  /** Whether it was accepted earlier, so that the NFT may have moved on since, even back to the sender. */
  wasSentBefore?: boolean
}

export interface WaitedForTransfer {
  /** What was read about the transfer, with the API's field names. */
  seen: Partial<
    Pick<
      TransactionRecord,
      'status' | 'transaction_hash' | 'gas_used' | 'fee_paid' | 'currency' | 'is_simulated' | 'error'
    >
  >
  ended: boolean
  problem: GdnError | null
}

/** Waits until the owner changed and, if the server returns transactions, the transaction is final. */
export async function waitForTransfer(
  deps: WaitDeps,
  { nftGdnId, sender, receiver, transactionId, wasSentBefore = false }: AcceptedTransfer,
  timeoutMs: number,
): Promise<WaitedForTransfer> {
  let seen: WaitedForTransfer['seen'] = {}
  let isFollowed = transactionId !== null
  let reason: string | null | undefined

  /** Whether the transaction is final, or the server returns no transactions. */
  const isThrough = async (): Promise<boolean> => {
    if (!isFollowed || transactionId === null || isFinal(seen.status ?? '')) return true
    try {
      const transaction = await readTransaction(deps, transactionId)
      if (transaction === undefined) return false
      const { status, transaction_hash, gas_used, fee_paid, currency, is_simulated, error } = transaction
      seen = { status, transaction_hash, gas_used, fee_paid, currency, is_simulated, error }
      reason = transaction.pending_reason
      return isFinal(status)
    } catch (error) {
      if (!lacksEndpoint(error)) throw error
      isFollowed = false
      return true
    }
  }
  const hasMoved = async (): Promise<boolean> => {
    if (sameAddress(sender, receiver)) return true
    const owner = (await readNft(deps, nftGdnId))?.receiver_wallet_address
    return typeof owner === 'string' && !sameAddress(owner, sender)
  }
  try {
    const ended = await poll(deps, timeoutMs, async () => {
      if (!(await isThrough())) return undefined
      if (hasFailed(seen.status ?? '')) return 'failed'
      if (wasSentBefore && isFinal(seen.status ?? '')) return 'moved'
      return (await hasMoved()) ? 'moved' : undefined
    })
    if (ended === undefined) {
      const message = `the transfer is still pending after ${timeoutMs / 1000} s${because(reason)}`
      const problem = new GdnError('pending', message, { details: { nft_gdn_id: nftGdnId } })
      return { seen, ended: false, problem }
    }
    if (ended === 'failed') {
      const problem = new GdnError('refused', `the transfer failed: ${seen.error ?? 'the server returned no reason'}`)
      return { seen, ended: true, problem }
    }
    return { seen: { ...seen, status: 'deployed' }, ended: true, problem: null }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { seen, ended: false, problem: error }
  }
}
