import { setImmediate as nextTurn } from 'node:timers/promises'
import type * as z from 'zod'
import type { Blockchain } from '../../api/blockchains.ts'
import type { getruncosts } from '../../api/endpoints/getruncosts.ts'
import { TITLES } from '../../api/errors.ts'
import { hasMaxCost } from '../chain/fees.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { GasFacts } from '../pipeline/facts.ts'
import { findCollectionById } from '../store/collections.ts'
import { bucketsOf } from '../store/explorer-counts.ts'
import { transactionsOfBucket } from '../store/explorer-transactions.ts'
import {
  type CostLimitedRun,
  feesPaid,
  feesPaidInVain,
  findLimited,
  type LimitedRun,
  type Share,
  sharesOfChanges,
  transactionsOfRun,
} from '../store/run-costs.ts'
import { findRun } from '../store/runs.ts'
import type { Db } from '../store/schema.ts'
import { answered, feesOf } from './get-fees.ts'
import { problemOf } from './get-nfts.ts'
import { badRequest, Refusal } from './refusal.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

/** Returns what the transactions of a run have paid. */
export async function getRunCosts(
  { store: { db }, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  { accountId, parsed: { run } }: ServiceRequest<z.output<typeof getruncosts.request>>,
) {
  const found = await findRun(db, accountId, run)
  const collection = found === null ? null : await findCollectionById(db, found.collection_id)
  if (collection === null) throw new Refusal(404, TITLES.notFound, `there is no run ${run}`)
  const blockchain = collection.blockchain as Blockchain
  const { gas } = chainFacts(chains, blockchain)
  if (gas === undefined) throw badRequest(`the costs of runs on ${blockchain} are not recorded`)
  const shares = new Map<string, number>()
  const of = { collectionId: collection.id, run }
  for (const { bucket } of await bucketsOf(db, of)) {
    for (const { id, count } of await transactionsOfBucket(db, { ...of, bucket })) {
      shares.set(id, (shares.get(id) ?? 0) + count)
    }
    await nextTurn()
  }
  let [used, fees, finalFees, pending] = [0n, 0n, 0n, 0]
  for (const { id, gas_used, fee_paid, token_count, watched, state } of await feesPaid(db, [...shares.keys()])) {
    const part = (amount: string | null) => (BigInt(amount ?? 0) * BigInt(shares.get(id) ?? 0)) / BigInt(token_count)
    used += part(gas_used)
    fees += part(fee_paid)
    if (watched === 0) finalFees += part(fee_paid)
    if (state === 'signed') pending += 1
  }
  const changes = await sharesOfChanges(db, { collection_id: collection.id, run })
  for (const { id, gas_used, fee_paid, watched, state } of await feesPaid(db, [...changes.keys()])) {
    used += partOf(gas_used, changes.get(id))
    fees += partOf(fee_paid, changes.get(id))
    if (watched === 0) finalFees += partOf(fee_paid, changes.get(id))
    if (state === 'signed') pending += 1
  }
  for (const { id, gas_used, fee_paid, watched } of await feesPaidInVain(db, of)) {
    if (shares.has(id) || changes.has(id)) continue
    used += BigInt(gas_used ?? 0)
    fees += BigInt(fee_paid ?? 0)
    if (watched === 0) finalFees += BigInt(fee_paid ?? 0)
  }
  const limited = await findLimited(db, { accountId, run })
  return {
    requests: { run },
    costs: {
      blockchain,
      is_simulated: gas.isSimulated,
      currency: await gas.coin(),
      gas_used: String(used),
      fee_paid: String(fees),
      pending_transactions: pending,
      final_fee_paid: String(finalFees),
      max_cost: limited?.max_cost ?? null,
      counted: limited !== null && hasMaxCost(limited) ? await countedOf(db, gas, limited) : null,
      max_fee: limited?.max_fee ?? null,
      waiting: problemOf(chains, blockchain) ?? (limited && (await waitingOf(db, gas, limited))),
    },
  }
}

/** Returns what counts toward the limit of a run, by which the next request is accepted; null while no node responds. */
async function countedOf(db: Db, gas: GasFacts, run: CostLimitedRun): Promise<string | null> {
  const fees = await feesOf(gas).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error
    return null
  })
  if (fees === null) return null
  const { max, left } = await gas.budgetOf(db, run, fees)
  return String(max - left)
}

/** Returns the part of an amount that a run has. The parts of all runs are the amount, to the wei. */
function partOf(amount: string | null, { first, count, total }: Share = { first: 0, count: 0, total: 1 }) {
  const until = (end: number) => (BigInt(amount ?? 0) * BigInt(end)) / BigInt(total)
  return until(first + count) - until(first)
}

/** Returns what keeps a run with a limit from getting on; null if nothing does. */
async function waitingOf(db: Db, gas: GasFacts, run: LimitedRun): Promise<string | null> {
  const { open, signed, unfinalBlock, changes } = await transactionsOfRun(db, run)
  const isUnsigned = open > signed || changes.length > 0
  if (!isUnsigned && unfinalBlock === null) return null
  const current = await feesOf(gas)
  const price = isUnsigned ? await gas.waitingForPrice(db, run, current) : null
  const budget = unfinalBlock !== null && hasMaxCost(run) ? await gas.budgetOf(db, run, current) : null
  // Another transaction as large as those of the run doesn't fit into what is left of the limit of its cost.
  const isTight = budget !== null && budget.left < budget.largest
  const reasons = [price, unfinalBlock !== null && isTight ? await untilFinal(gas, unfinalBlock) : null]
  return reasons.filter((reason) => reason !== null).join('; ') || null
}

async function untilFinal(gas: GasFacts, block: number): Promise<string | null> {
  const left = await answered(gas, gas.blocksUntilFinal(block), 'its newest block')
  return left === null ? null : `waiting for finality, ${left} ${left === 1 ? 'block' : 'blocks'} left`
}
