import { isEvm } from '../../api/blockchains.ts'
import { lockRun, setLimit } from '../store/run-costs.ts'
import { findOwnCollection } from './find-own-collection.ts'
import { joinRun } from './limit-cost.ts'
import { badRequestError } from './refusals.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Sets the maximum gas price of a run. The maximum also applies to requests that are already accepted. */
export async function setRunMaxFee(
  { store, pipeline, now }: Pick<ServiceDeps, 'store' | 'pipeline' | 'now'>,
  { accountId, parsed, body }: RequestOf<'setrunmaxfee'>,
) {
  const { run, contract_address: contractAddress, blockchain, max_fee, only_if_unset } = parsed
  if (!isEvm(blockchain)) throw badRequestError(`the fees of a run on ${blockchain} can't be limited`)
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  const limit = await store.transaction(async (db) => {
    await joinRun(db, { account_id: accountId, run, collection_id: collection.id, started_at: now() })
    const limited = await lockRun(db, { accountId, run })
    if (limited.max_fee !== null && only_if_unset === true) return limited.max_fee
    await setLimit(db, limited, { max_fee })
    return max_fee
  })
  pipeline.onNftsAccepted(collection.id, { files: false, mint: true })
  return { requests: { ...body, run }, max_fee: limit }
}
