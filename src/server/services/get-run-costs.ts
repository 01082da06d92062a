import { setImmediate as nextTurn } from 'node:timers/promises'
import { ERROR_TITLES } from '../../api/errors.ts'
import { finalityReason } from '../../api/finality-reason.ts'
import { hasMaxCost } from '../chain/fees.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { GasFacts } from '../pipeline/facts.ts'
import { findCollectionById } from '../store/collections.ts'
import { listBuckets } from '../store/explorer-counts.ts'
import { listTransactionsOfBucket } from '../store/explorer-transactions.ts'
import {
  type CostLimitedRun,
  feesPaid,
  findLimitedRunByName,
  type LimitedRun,
  type RunShare,
  readChangeShares,
  readFeesOfMined,
  readTransactionsOfRun,
} from '../store/run-costs.ts'
import { findVisibleRun } from '../store/runs.ts'
import type { Db } from '../store/schema.ts'
import { readFeesOrNull, requireFees, requireNodeResponse } from './get-fees.ts'
import { findHeldReasons, findSigningProblem, findStallReason } from './pending-reason.ts'
import { badRequestError, Refusal } from './refusals.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

const WHOLE_SHARE: RunShare = { first: 0, count: 1, total: 1 }

type PaidTransaction = Awaited<ReturnType<typeof readFeesOfMined>>[number]

/** Returns the fees paid by a run's transactions, and the limits of the run. */
export async function getRunCosts(
  { store: { db }, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  { accountId, parsed: { run } }: RequestOf<'getruncosts'>,
) {
  const started = await findVisibleRun(db, accountId, run)
  const collection = started === null ? null : await findCollectionById(db, started.collection_id)
  if (collection === null) throw new Refusal(404, ERROR_TITLES.notFound, `there is no run ${run}`)
  const { blockchain } = collection
  const { gas } = chainFacts(chains, blockchain)
  if (gas === undefined) throw badRequestError(`this server does not record the cost of runs on ${blockchain}`)
  /** Number of the run's NFTs that each transaction minted. */
  const minted = new Map<string, number>()
  const scope = { collectionId: collection.id, run }
  for (const { bucket } of await listBuckets(db, scope)) {
    for (const { id, count } of await listTransactionsOfBucket(db, { ...scope, bucket })) {
      minted.set(id, (minted.get(id) ?? 0) + count)
    }
    await nextTurn()
  }
  let [used, fees, finalFees, pending, signed] = [0n, 0n, 0n, 0, 0]
  const add = ({ gas_used, fee_paid, watched, state }: PaidTransaction, share: RunShare = WHOLE_SHARE) => {
    const fee = computeShare(fee_paid, share)
    used += computeShare(gas_used, share)
    fees += fee
    if (watched === 0) finalFees += fee
    if (state === 'signed') pending += 1
  }
  for (const row of await feesPaid(db, [...minted.keys()])) {
    if (row.state === 'signed') signed += minted.get(row.id) ?? 0
    add(row, { first: 0, count: minted.get(row.id) ?? 0, total: row.token_count })
  }
  const changes = await readChangeShares(db, { collection_id: collection.id, run })
  for (const row of await feesPaid(db, [...changes.keys()])) add(row, changes.get(row.id))
  for (const row of await readFeesOfMined(db, scope)) if (!minted.has(row.id) && !changes.has(row.id)) add(row)
  const limited = await findLimitedRunByName(db, { accountId, run })
  return {
    requests: { run },
    costs: {
      blockchain,
      is_simulated: gas.isSimulated,
      currency: await gas.readCoin(),
      gas_used: String(used),
      fee_paid: String(fees),
      pending_transactions: pending,
      final_fee_paid: String(finalFees),
      max_cost: limited?.max_cost ?? null,
      ...(await readReservedFields(db, gas, limited !== null && hasMaxCost(limited) ? limited : null)),
      max_fee: limited?.max_fee ?? null,
      waiting:
        (limited === null ? null : await findStuckReason(db, gas, limited)) ??
        (findSigningProblem(chains, blockchain, false) === null ? await findStallReason(chains, blockchain) : null) ??
        (await findWaitReason(db, gas, { ...scope, limited, pending, signed }, (isSigned) =>
          findSigningProblem(chains, blockchain, isSigned),
        )) ??
        (await findHeldReasons(db, chains, [{ id: collection.id, blockchain }])).get(collection.id) ??
        null,
    },
  }
}

/**
 * Returns the amount that counts toward a run's limit when the next request is checked, the number of unsigned NFTs,
 * and the gas and bytes that each NFT reserves. Without a limit, all of these values are null. If no node returns the
 * fees, the amount and the number are null.
 */
async function readReservedFields(db: Db, gas: GasFacts, run: CostLimitedRun | null) {
  const unknown = { counted: null, unsigned_nfts: null }
  if (run === null) return { ...unknown, nft_gas: null, nft_bytes: null }
  const { nft_gas, nft_bytes } = run
  const fees = await readFeesOrNull(gas)
  if (fees === null) return { ...unknown, nft_gas, nft_bytes }
  const { max, available, unsigned } = await gas.readBudget(db, run, fees)
  return { counted: String(max - available), unsigned_nfts: unsigned, nft_gas, nft_bytes }
}

/** Returns a run's share of an amount. The shares of all runs add up to exactly the amount. */
function computeShare(amount: string | null, { first, count, total }: RunShare) {
  const until = (end: number) => (BigInt(amount ?? 0) * BigInt(end)) / BigInt(total)
  return until(first + count) - until(first)
}

/**
 * Returns why a signed transaction of a run waits for a higher limit. Returns null if none waits, or if no node returns
 * the fees.
 */
async function findStuckReason(db: Db, gas: GasFacts, run: LimitedRun): Promise<string | null> {
  const current = await readFeesOrNull(gas)
  return current === null ? null : ((await gas.findStuckRun(db, run, current))?.reason ?? null)
}

/**
 * Returns why a run can't continue. Returns null if it can. A limit that is too low for the current fees takes
 * precedence over missing funds, because funds would not help the run.
 */
async function findWaitReason(
  db: Db,
  gas: GasFacts,
  run: { collectionId: string; run: string; limited: LimitedRun | null; pending: number; signed: number },
  problemOf: (isSigned: boolean) => string | null,
): Promise<string | null> {
  const { collectionId: collection_id, limited } = run
  const { open, signed, unfinalBlock, changes } = await readTransactionsOfRun(db, { ...run, collection_id })
  const isUnsigned = open > Math.max(signed, run.signed) || changes.length > 0
  // If nothing of the run is unsigned or pending, report what its next request would wait for.
  const problem = problemOf(!isUnsigned && run.pending > 0)
  if (limited === null || (!isUnsigned && unfinalBlock === null)) return problem
  const current = problem === null ? await requireFees(gas) : await readFeesOrNull(gas)
  if (current === null) return problem
  const price = isUnsigned ? await gas.findPriceWaitReason(db, limited, current) : null
  if (price === null && problem !== null) return problem
  const budget = unfinalBlock !== null && hasMaxCost(limited) ? await gas.readBudget(db, limited, current) : null
  // The rest of the limit isn't enough for another transaction as large as the run's largest one.
  const isTight = budget !== null && budget.available < budget.largest
  const reasons = [price, unfinalBlock !== null && isTight ? await findFinalityReason(gas, unfinalBlock) : null]
  return reasons.filter((reason) => reason !== null).join('; ') || null
}

async function findFinalityReason(gas: GasFacts, block: number): Promise<string | null> {
  const blocks = await requireNodeResponse(gas, gas.countBlocksUntilFinal(block), 'its newest block')
  return blocks === null ? null : finalityReason(blocks)
}
