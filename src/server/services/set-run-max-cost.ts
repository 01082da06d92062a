import { findOwnCollection } from './find-own-collection.ts'
import { joinRun, lockLimit, prepareCostCheck } from './limit-cost.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Sets the cost limit of a run. The limit also applies to accepted requests that aren't signed yet. */
export async function setRunMaxCost(
  deps: Pick<ServiceDeps, 'store' | 'chains' | 'pipeline' | 'now'>,
  { accountId, parsed, body }: RequestOf<'setrunmaxcost'>,
) {
  const { store, pipeline, now } = deps
  const { run, contract_address: contractAddress, blockchain, max_cost, only_lower: onlyLower = false } = parsed
  const maxCost = { wei: BigInt(max_cost), isSet: !onlyLower }
  const check = await prepareCostCheck(deps, { accountId, run, maxCost }, blockchain)
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  const limited = await store.transaction(async (db) => {
    await joinRun(db, { account_id: accountId, run, collection_id: collection.id, started_at: now() })
    return check === null ? null : await lockLimit(db, check, { accountId, run }, null)
  })
  pipeline.onNftsAccepted(collection.id, { files: false, mint: true })
  return { requests: { ...body, run }, max_cost: limited?.max_cost ?? max_cost }
}
