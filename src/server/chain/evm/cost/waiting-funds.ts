import type { WaitingMint } from '../../../store/nfts.ts'
import { limitedRuns } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import { hasMaxCost, type NetworkFees } from '../../fees.ts'
import type { Fees } from '../network.ts'
import { fundsOfMints, type GasOfMints, gasOfMints, type WaitingFunds } from './funding.ts'
import { maxCostOf } from './network-fees.ts'
import { budgetOf, dataCost, maxCostOfNfts, shareOf } from './run-budget.ts'
import { isTooExpensive } from './run-fee.ts'

/**
 * Returns the funds that one signer needs to mint the waiting NFTs, within the limits of their runs. If the limit of a
 * run permits no transaction at these fees, the result includes only the number of its NFTs.
 */
export async function fundsOfWaiting(
  db: Db,
  mints: readonly WaitingMint[],
  fees: Fees,
  data: NetworkFees['data'],
): Promise<WaitingFunds> {
  const { baseFee = 0n, maxFeePerGas: offered, maxPriorityFeePerGas: priority, legacy } = fees
  const current = { offered, data, base: baseFee }
  // As in `waitingForCost`, a legacy gas price can't be lowered.
  const minFee = legacy || baseFee + priority > offered ? offered : baseFee + priority
  const payable = new Set(mints)
  // A run is held if its limits allow no transaction at `minFee`. Any other run needs at most its unspent budget.
  let [heldNfts, excessWei] = [0, 0n]
  for (const collection of new Set(mints.flatMap(({ run, collection_id }) => (run === null ? [] : [collection_id])))) {
    for (const run of await limitedRuns(db, collection)) {
      const mintsOfRun = mints.filter((mint) => mint.collection_id === collection && mint.run === run.run)
      const nfts = countOf(mintsOfRun)
      if (nfts === 0) continue
      let isHeld = isTooExpensive(run.max_fee, current)
      if (!isHeld && hasMaxCost(run)) {
        const budget = await budgetOf(db, run, current)
        const gas = gasOfMints(mintsOfRun)
        const share = shareOf(budget, maxCostOfNfts(run, Math.min(nfts, budget.unsigned), current))
        isHeld = priceFor(gas, share, current) < minFee
        const excess = maxCostOf(gas.worst, current) - budget.unspent
        if (!isHeld && excess > 0n) excessWei += excess
      }
      if (!isHeld) continue
      heldNfts += nfts
      for (const mint of mintsOfRun) payable.delete(mint)
    }
  }
  const funds = fundsOfMints([...payable], current)
  return { ...funds, wei: funds.wei - excessWei, held: heldNfts }
}

const countOf = (mints: readonly WaitingMint[]): number => mints.reduce((sum, { count }) => sum + count, 0)

/** Returns the maximum gas price at which transactions cost no more than an amount. */
const priceFor = ({ gasLimit, bytes }: GasOfMints, wei: bigint, fees: Parameters<typeof dataCost>[1]): bigint =>
  (wei - dataCost(bytes, fees)) / gasLimit
