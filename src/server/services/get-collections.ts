import { type CollectionRow, collectionFields, listCollections } from '../store/collections.ts'
import { toSignedTransactions } from './get-transactions.ts'
import { findLimitReasons, findPendingReason, findStuckReasons } from './pending-reason.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

const toRecord = (row: CollectionRow, problem: string | null) => ({
  transaction_gdn_ids: row.id,
  ...collectionFields(row),
  ...(problem === null ? {} : { pending_reason: problem }),
})

/** Returns the account's collections in the order of the IDs. Omits unknown IDs. */
export async function getCollections(
  deps: Pick<ServiceDeps, 'store' | 'chains' | 'now'>,
  { accountId, parsed, body }: RequestOf<'getcollections'>,
) {
  const { store, chains } = deps
  const ids = [...new Set(parsed.transaction_gdn_ids)]
  const byId = new Map((await listCollections(store.db, accountId, ids)).map((row) => [row.id, row]))
  const pending = [...byId.values()].filter(({ status }) => status === 'initiated')
  const stuck = await findStuckReasons(deps, pending.flatMap(toSignedTransactions))
  const limits = await findLimitReasons(
    deps,
    pending.map((row) => ({ ...row, collection_id: row.id })),
  )
  const collections: ReturnType<typeof toRecord>[] = []
  for (const id of ids) {
    const row = byId.get(id)
    if (row === undefined) continue
    const { transaction_id: signed, request_id, blockchain, status } = row
    const limit = signed === null ? limits.get(request_id) : stuck.get(signed)
    const reason = status === 'initiated' ? await findPendingReason(chains, blockchain, signed !== null) : null
    collections.push(toRecord(row, limit ?? reason))
  }
  return { requests: { transaction_gdn_ids: body.transaction_gdn_ids }, collections }
}
