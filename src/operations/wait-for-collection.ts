import type { CollectionRecord } from '../api/endpoints/getcollections.ts'
import { hasFailed } from '../api/nft-status.ts'
import { lacksEndpoint } from '../client/answers.ts'
import { GdnError } from '../core/errors.ts'
import { DEFAULT_TIMEOUT_MS } from './defaults.ts'
import { because, failureOf, pendingAfter, poll, unreadStatus, type WaitDeps } from './waiting.ts'

export interface WaitedForCollection {
  /** The last record that was read; null if none was. */
  record: CollectionRecord | null
  problem: GdnError | null
}

/**
 * Waits until a collection is deployed and has an address. Returns a GdnError instead of throwing it, because callers
 * must still report the ID of the accepted request.
 */
export async function waitForCollection(
  deps: WaitDeps,
  id: string,
  timeoutMs: number = DEFAULT_TIMEOUT_MS,
  onLook?: (reason: string) => void,
): Promise<WaitedForCollection> {
  const { client, signal } = deps
  let record = null as CollectionRecord | null
  try {
    const last = await poll(deps, timeoutMs, async () => {
      const { collections } = await client.call('getcollections', { transaction_gdn_ids: [id] }, { signal })
      record = collections.find((one) => one.transaction_gdn_ids === id) ?? record
      onLook?.(because(record?.pending_reason))
      return record !== null && isSettled(record) ? record : undefined
    })
    if (last === undefined) {
      const pending_reason = record?.pending_reason ?? null
      const details = { transaction_gdn_id: id, pending_reason }
      return { record, problem: pendingAfter(timeoutMs, 'the collection is', because(pending_reason), details) }
    }
    const failure = failureOf('the collection', last)
    if (failure === null) return { record, problem: null }
    return { record, problem: new GdnError('refused', failure, { details: { transaction_gdn_id: id } }) }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return {
      record,
      problem: lacksEndpoint(error)
        ? addressElsewhere(id)
        : unreadStatus(error, 'the collection is', { transaction_gdn_id: id }),
    }
  }
}

/**
 * Returns whether a collection needs no more waiting. Records of the hosted service have no status, so for them the
 * address decides.
 */
function isSettled({ status, contract_address }: CollectionRecord): boolean {
  if (status === null || status === undefined) return Boolean(contract_address)
  return hasFailed(status) || (status === 'deployed' && Boolean(contract_address))
}

const addressElsewhere = (id: string) =>
  new GdnError('pending', 'the request was accepted, but this server has no endpoint that returns the address', {
    hint: `Find the transaction ${id} in the list of collections on the service's website, and use its address.`,
    details: { transaction_gdn_id: id },
  })
