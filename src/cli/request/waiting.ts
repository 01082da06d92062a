import type { NftRecord } from '../../api/nft-record.ts'
import type { Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import { serverFlag } from '../connect/server-flag.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { count } from '../render/count.ts'
import { fetchNfts } from './fetch-nfts.ts'

/** How long to wait for a chain without --timeout. */
export const DEFAULT_TIMEOUT_MS = 5 * 60_000

const FIRST_POLL_MS = 200
const MAX_POLL_MS = 2000
const FAILED = new Set(['failed', 'error'])
/**
 * Polls with increasing intervals until there is a final answer.
 *
 * @param ask returns undefined to be called again
 * @returns undefined after the timeout
 */
export async function poll<Value>(
  { sleep, signals }: Deps,
  timeoutMs: number,
  ask: () => Promise<Value | undefined>,
): Promise<Value | undefined> {
  const deadline = performance.now() + timeoutMs
  for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * 2, MAX_POLL_MS)) {
    const value = await ask()
    if (value !== undefined) return value
    const left = deadline - performance.now()
    if (left <= 0) return undefined
    await sleep(Math.min(wait, left), signals.signal)
  }
}

export const hasFailed = (status: string) => FAILED.has(status)

export const isFinal = (status: string) => status === 'deployed' || hasFailed(status)

/** Result of waiting for NFTs: their latest records, and the problem, if there is one. */
export interface Waited {
  records: NftRecord[]
  /** Whether all of them are in a final state. */
  ended: boolean
  problem: GdnError | null
}

/**
 * Waits until every NFT is deployed or failed. Polls only those that are still pending.
 *
 * @param isDone condition to wait for, if not the final status
 */
export async function waitForNfts(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  ids: readonly string[],
  timeoutMs: number,
  isDone: (record: NftRecord) => boolean = ({ status }) => isFinal(status),
): Promise<Waited> {
  const seen = new Map<string, NftRecord>()
  const progress = await deps.io.progress(`Waiting for ${count(ids.length, 'NFT')} to be deployed`)
  const records = () => ids.flatMap((id) => seen.get(id) ?? [])
  const stillPending = () =>
    ids.filter((id) => {
      const record = seen.get(id)
      return record === undefined || !isDone(record)
    })
  try {
    await poll(deps, timeoutMs, async () => {
      for (const record of await fetchNfts(deps, client, stillPending())) seen.set(record.nft_gdn_id, record)
      const left = stillPending()
      const reason = pendingReason(left.flatMap((id) => seen.get(id) ?? []))
      progress.update(
        `Waiting for ${count(ids.length, 'NFT')} to be deployed: ${ids.length - left.length} done, ${left.length} to go${reason}`,
      )
      return left.length === 0 ? true : undefined
    })
    const pending = stillPending()
    return {
      records: records(),
      ended: pending.length === 0,
      problem: problemOf(pending, records(), timeoutMs, server),
    }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { records: records(), ended: false, problem: withWayOn(error, stillPending(), server) }
  } finally {
    progress.stop()
  }
}

/** Adds a hint to an interrupted wait: how to keep waiting later. */
function withWayOn(error: GdnError, pending: readonly string[], server: Server): GdnError {
  const { code, message, hint, details } = error
  if ((code !== 'interrupted' && code !== 'terminated') || hint !== undefined || pending.length === 0) return error
  return new GdnError(code, message, { hint: waitAgainHint(pending, server), details, cause: error })
}

const waitAgainHint = (pending: readonly string[], server: Server) =>
  `Run \`gdn nft wait ${pending.map(safe).join(' ')}${serverFlag(server)}\` to keep waiting.`

function problemOf(
  pending: readonly string[],
  records: readonly NftRecord[],
  timeoutMs: number,
  server: Server,
): GdnError | null {
  const failed = records.filter(({ status }) => hasFailed(status))
  if (pending.length > 0) {
    const waiting = records.filter(({ nft_gdn_id }) => pending.includes(nft_gdn_id))
    const message = `${count(pending.length, 'NFT')} still pending after ${timeoutMs / 1000} s${pendingReason(waiting)}`
    return new GdnError('pending', message, {
      hint: waitAgainHint(pending, server),
      details: { nft_gdn_ids: pending },
    })
  }
  const [first] = failed
  if (first === undefined) return null
  return new GdnError(
    'nft_failed',
    `${count(failed.length, 'NFT')} failed: ${first.error ?? 'the server gives no reason'}`,
    {
      hint: 'Failed NFTs are not minted. Fix the cause and mint them again.',
      details: { nfts: failed.map(({ nft_gdn_id, error }) => ({ nft_gdn_id, error: error ?? null })) },
    },
  )
}

/** Returns the most common reason why NFTs are pending, as the end of a sentence, or an empty text. */
function pendingReason(records: readonly NftRecord[]): string {
  const times = new Map<string, number>()
  for (const { pending_reason } of records) {
    if (pending_reason) times.set(pending_reason, (times.get(pending_reason) ?? 0) + 1)
  }
  const [first] = [...times].sort(([, a], [, b]) => b - a)
  if (first === undefined) return ''
  const [reason, n] = first
  return `: ${records.length === 1 ? '' : `${count(n, 'NFT')}: `}${safe(reason)}`
}
