import { setImmediate as nextTurn } from 'node:timers/promises'
import type * as z from 'zod'
import { type Blockchain, type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import type { getruncosts } from '../../api/endpoints/getruncosts.ts'
import { TITLES } from '../../api/errors.ts'
import { coinOf } from '../chain/evm/cost/coin.ts'
import type { CurrentFees } from '../chain/evm/cost/network-fees.ts'
import { budgetOf, hasMaxCost, leftOf } from '../chain/evm/cost/run-budget.ts'
import { limitFee, waitingForFees } from '../chain/evm/cost/run-fee.ts'
import { waitingFor } from '../chain/evm/remote/fees.ts'
import { whyNotChanged } from '../pipeline/evm/limit-fees.ts'
import { whyNotSigned } from '../pipeline/evm/mint-batch.ts'
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
  if (!isEvm(blockchain)) throw badRequest(`the costs of runs on ${blockchain} are not recorded`)
  const shares = new Map<string, number>()
  const of = { collectionId: collection.id, run }
  for (const { bucket } of await bucketsOf(db, of)) {
    for (const { id, count } of await transactionsOfBucket(db, { ...of, bucket })) {
      shares.set(id, (shares.get(id) ?? 0) + count)
    }
    await nextTurn()
  }
  let [gas, fees, finalFees, pending] = [0n, 0n, 0n, 0]
  for (const { id, gas_used, fee_paid, token_count, watched, state } of await feesPaid(db, [...shares.keys()])) {
    const part = (amount: string | null) => (BigInt(amount ?? 0) * BigInt(shares.get(id) ?? 0)) / BigInt(token_count)
    gas += part(gas_used)
    fees += part(fee_paid)
    if (watched === 0) finalFees += part(fee_paid)
    if (state === 'signed') pending += 1
  }
  const changes = await sharesOfChanges(db, { collection_id: collection.id, run })
  for (const { id, gas_used, fee_paid, watched, state } of await feesPaid(db, [...changes.keys()])) {
    gas += partOf(gas_used, changes.get(id))
    fees += partOf(fee_paid, changes.get(id))
    if (watched === 0) finalFees += partOf(fee_paid, changes.get(id))
    if (state === 'signed') pending += 1
  }
  for (const { id, gas_used, fee_paid, watched } of await feesPaidInVain(db, of)) {
    if (shares.has(id) || changes.has(id)) continue
    gas += BigInt(gas_used ?? 0)
    fees += BigInt(fee_paid ?? 0)
    if (watched === 0) finalFees += BigInt(fee_paid ?? 0)
  }
  const limited = await findLimited(db, { accountId, run })
  return {
    requests: { run },
    costs: {
      blockchain,
      is_simulated: !chains.remote.has(blockchain),
      currency: coinOf((await chains.network(blockchain)).chainId),
      gas_used: String(gas),
      fee_paid: String(fees),
      pending_transactions: pending,
      final_fee_paid: String(finalFees),
      max_cost: limited?.max_cost ?? null,
      counted: limited !== null && hasMaxCost(limited) ? await countedOf({ db, chains }, blockchain, limited) : null,
      max_fee: limited?.max_fee ?? null,
      waiting: problemOf(chains, blockchain) ?? (limited && (await waitingOf({ db, chains }, blockchain, limited))),
    },
  }
}

/** Returns what counts toward the limit of a run, by which the next request is accepted; null while no node responds. */
async function countedOf(
  { db, chains }: { db: Db; chains: ServiceDeps['chains'] },
  blockchain: EvmBlockchain,
  run: CostLimitedRun,
): Promise<string | null> {
  const fees = await feesOf({ chains }, blockchain).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error
    return null
  })
  if (fees === null) return null
  const budget = await budgetOf(db, run, { data: fees.data, offered: limitFee(fees.offered, run.max_fee) })
  return String(budget.max - leftOf(budget))
}

/** Returns the part of an amount that a run has. The parts of all runs are the amount, to the wei. */
function partOf(amount: string | null, { first, count, total }: Share = { first: 0, count: 0, total: 1 }) {
  const until = (end: number) => (BigInt(amount ?? 0) * BigInt(end)) / BigInt(total)
  return until(first + count) - until(first)
}

/** Returns what keeps a run with a limit from getting on; null if nothing does. */
async function waitingOf(
  { db, chains }: { db: Db; chains: ServiceDeps['chains'] },
  blockchain: EvmBlockchain,
  run: LimitedRun,
): Promise<string | null> {
  const { open, signed, unfinalBlock, changes } = await transactionsOfRun(db, run)
  const isUnsigned = open > signed || changes.length > 0
  if (!isUnsigned && unfinalBlock === null) return null
  const current = await feesOf({ chains }, blockchain)
  const reasons = [
    isUnsigned ? await waitingForPrice({ db, chains }, blockchain, run, current) : null,
    unfinalBlock !== null && (await isTight(db, run, current))
      ? await untilFinal(chains, blockchain, unfinalBlock)
      : null,
  ]
  return reasons.filter((reason) => reason !== null).join('; ') || null
}

/** Returns why the next NFTs and changes of a run aren't signed for at today's fees; null if they are. */
async function waitingForPrice(
  { db, chains }: { db: Db; chains: ServiceDeps['chains'] },
  blockchain: EvmBlockchain,
  run: LimitedRun,
  current: CurrentFees,
): Promise<string | null> {
  const { publicNetwork } = chains.remote.has(blockchain) ? chains.remote.network(blockchain) : {}
  const waiting =
    waitingForFees(run.max_fee, current) ??
    (publicNetwork === undefined ? null : waitingFor({ baseFee: current.base }, publicNetwork.feeCap))
  if (waiting !== null || !hasMaxCost(run)) return waiting
  const { offered, typical, base } = current
  const fees = { maxFeePerGas: offered, maxPriorityFeePerGas: typical - base }
  return (await whyNotSigned(db, run, fees, current)) ?? (await whyNotChanged(db, run, fees, current))
}

/** Whether another transaction as large as those of a run doesn't fit into what is left of the limit of its cost. */
async function isTight(db: Db, run: LimitedRun, { offered, data }: CurrentFees): Promise<boolean> {
  if (!hasMaxCost(run)) return false
  const budget = await budgetOf(db, run, { data, offered: limitFee(offered, run.max_fee) })
  return leftOf(budget) < budget.largest
}

async function untilFinal(
  chains: ServiceDeps['chains'],
  blockchain: EvmBlockchain,
  block: number,
): Promise<string | null> {
  if (!chains.remote.has(blockchain)) return null
  const { head, finality } = chains.remote.network(blockchain).publicNetwork
  const left = Math.max(1, block + finality - 1 - (await answered(head(), blockchain, 'its newest block')))
  return `waiting for finality, ${left} ${left === 1 ? 'block' : 'blocks'} left`
}
