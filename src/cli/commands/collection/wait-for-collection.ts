import type { CollectionRecord } from '../../../api/endpoints/getcollections.ts'
import { hasFailed } from '../../../api/nft-status.ts'
import { statusOf } from '../../../client/answers.ts'
import type { Server } from '../../../config/server.ts'
import { GdnError } from '../../../core/errors.ts'
import { because, DEFAULT_TIMEOUT_MS, poll } from '../../../operations/waiting.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'

export interface WaitedForCollection {
  /** As last seen; null if it was never seen. */
  record: CollectionRecord | null
  problem: GdnError | null
}

/**
 * Waits until a collection is deployed and has an address. A GdnError is returned and not thrown, because the command
 * must still print the ID of the accepted request.
 */
export async function waitForCollection(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  id: string,
  timeoutMs: number = DEFAULT_TIMEOUT_MS,
): Promise<WaitedForCollection> {
  let record: CollectionRecord | null = null
  const progress = await deps.io.progress('Waiting for the collection to be deployed')
  try {
    const last = await poll({ sleep: deps.sleep, signal: deps.signals.signal }, timeoutMs, async () => {
      const { collections } = await client.call(
        'getcollections',
        { transaction_gdn_ids: [id] },
        { signal: deps.signals.signal },
      )
      record = collections.find((one) => one.transaction_gdn_ids === id) ?? record
      return record !== null && isSettled(record) ? record : undefined
    })
    return { record, problem: last === undefined ? stillPending(id, timeoutMs, server, record) : failureOf(last) }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { record, problem: lacksEndpoint(error) ? addressElsewhere(id) : error }
  } finally {
    progress.stop()
  }
}

/** Whether a collection needs no more waiting. Records of the hosted API have no status, so the address decides. */
function isSettled({ status, contract_address }: CollectionRecord): boolean {
  if (status === null || status === undefined) return Boolean(contract_address)
  return hasFailed(status) || (status === 'deployed' && Boolean(contract_address))
}

function failureOf({ status, error }: CollectionRecord): GdnError | null {
  if (!hasFailed(status ?? '')) return null
  return new GdnError('refused', `the collection failed: ${error ?? 'the server returned no reason'}`, {
    hint: 'Fix the cause, then run the command again.',
  })
}

const stillPending = (id: string, timeoutMs: number, server: Server, record: CollectionRecord | null) =>
  new GdnError(
    'pending',
    `the collection is still pending after ${timeoutMs / 1000} s${because(record?.pending_reason)}`,
    {
      hint: `Run \`gdn collection show ${safe(id)}${serverFlag(server)}\` later to check its status.`,
      details: { transaction_gdn_id: id },
    },
  )

/** Whether the server has no `getcollections`, the only endpoint that returns addresses. */
export function lacksEndpoint(error: GdnError): boolean {
  return statusOf(error) === 404 || statusOf(error) === 405
}

const addressElsewhere = (id: string) =>
  new GdnError('pending', 'the request was accepted, but this server has no endpoint that returns the address', {
    hint: `Find the transaction ${safe(id)} in the list of collections on the service's website. Then pass the address with --contract.`,
    details: { transaction_gdn_id: id },
  })
