import { setImmediate as nextTurn } from 'node:timers/promises'
import type * as z from 'zod'
import { type Blockchain, type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import type { getruncosts } from '../../api/endpoints/getruncosts.ts'
import { TITLES } from '../../api/errors.ts'
import { coinOf } from '../chain/evm/cost/coin.ts'
import { waitingForFees } from '../chain/evm/cost/run-fee.ts'
import { waitingFor } from '../chain/evm/remote/fees.ts'
import { findCollectionById } from '../store/collections.ts'
import { bucketsOf } from '../store/explorer-counts.ts'
import { transactionsOfBucket } from '../store/explorer-transactions.ts'
import { feesPaid, feesPaidInVain, findLimited, type LimitedRun, transactionsOfRun } from '../store/run-costs.ts'
import { findRun } from '../store/runs.ts'
import type { Db } from '../store/schema.ts'
import { feesOf } from './get-fees.ts'
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
  let [gas, fees, finalFees] = [0n, 0n, 0n]
  for (const { id, gas_used, fee_paid, token_count, watched } of await feesPaid(db, [...shares.keys()])) {
    const part = (amount: string | null) => (BigInt(amount ?? 0) * BigInt(shares.get(id) ?? 0)) / BigInt(token_count)
    gas += part(gas_used)
    fees += part(fee_paid)
    if (watched === 0) finalFees += part(fee_paid)
  }
  for (const { id, gas_used, fee_paid, watched } of await feesPaidInVain(db, of)) {
    if (shares.has(id)) continue
    gas += BigInt(gas_used ?? 0)
    fees += BigInt(fee_paid ?? 0)
    if (watched === 0) finalFees += BigInt(fee_paid ?? 0)
  }
  const limited = await findLimited(db, { accountId, run })
  const waits = limited !== null && (await hasUnsigned(db, limited))
  return {
    requests: { run },
    costs: {
      blockchain,
      is_simulated: !chains.remote.has(blockchain),
      currency: coinOf((await chains.network(blockchain)).chainId),
      gas_used: String(gas),
      fee_paid: String(fees),
      final_fee_paid: String(finalFees),
      max_cost: limited?.max_cost ?? null,
      max_fee: limited?.max_fee ?? null,
      waiting: waits ? await waitingOf(chains, blockchain, limited) : null,
    },
  }
}

async function hasUnsigned(db: Db, run: LimitedRun): Promise<boolean> {
  const { open, signed } = await transactionsOfRun(db, run)
  return open > signed
}

async function waitingOf(
  chains: ServiceDeps['chains'],
  blockchain: EvmBlockchain,
  { max_fee }: LimitedRun,
): Promise<string | null> {
  const current = await feesOf({ chains }, blockchain)
  const waiting = waitingForFees(max_fee, current)
  if (waiting !== null || !chains.remote.has(blockchain)) return waiting
  return waitingFor({ baseFee: current.base }, chains.remote.network(blockchain).publicNetwork.feeCap)
}
