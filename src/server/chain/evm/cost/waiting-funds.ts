import type { WaitingMint } from '../../../store/nfts.ts'
import { limitedRuns } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import { hasMaxCost, type NetworkFees } from '../../fees.ts'
import type { Fees } from '../network.ts'
import { computeMintFunds, computeMintGas, type MintGas, type WaitingFunds } from './funding.ts'
import { computeMaxCost } from './network-fees.ts'
import { computeBudgetShare, computeMaxCostOfNfts, dataCost, readRunBudget } from './run-budget.ts'
import { isTooExpensive } from './run-fee.ts'

/**
 * Returns the funds that one signer needs to mint the waiting NFTs, within the limits of their runs. If the limit of a
 * run permits no transaction at these fees, the result includes only the number of its NFTs.
 */
export async function computeWaitingFunds(
  db: Db,
  mints: readonly WaitingMint[],
  fees: Fees,
  data: NetworkFees['data'],
): Promise<WaitingFunds> {
  const { baseFee = 0n, maxFeePerGas: offered, maxPriorityFeePerGas: priority, legacy } = fees
  const current = { offered, data, base: baseFee }
  // As in `findCostWaitReason`, a legacy gas price can't be lowered.
  const minFee = legacy || baseFee + priority > offered ? offered : baseFee + priority
  const payable = new Set(mints)
  // A run is held if its limits allow no transaction at `minFee`. Any other run needs at most its unspent budget.
  let [heldNfts, excessWei] = [0, 0n]
  for (const collection of new Set(mints.flatMap(({ run, collection_id }) => (run === null ? [] : [collection_id])))) {
    for (const run of await limitedRuns(db, collection)) {
      const mintsOfRun = mints.filter((mint) => mint.collection_id === collection && mint.run === run.run)
      const nfts = countNfts(mintsOfRun)
      if (nfts === 0) continue
      let isHeld = isTooExpensive(run.max_fee, current)
      if (!isHeld && hasMaxCost(run)) {
        const budget = await readRunBudget(db, run, current)
        const gas = computeMintGas(mintsOfRun)
        const share = computeBudgetShare(budget, computeMaxCostOfNfts(run, Math.min(nfts, budget.unsigned), current))
        isHeld = computeMaxGasPrice(gas, share, current) < minFee
        const excess = computeMaxCost(gas.worst, current) - budget.unspent
        if (!isHeld && excess > 0n) excessWei += excess
      }
      if (!isHeld) continue
      heldNfts += nfts
      for (const mint of mintsOfRun) payable.delete(mint)
    }
  }
  const funds = computeMintFunds([...payable], current)
  return { ...funds, wei: funds.wei - excessWei, held: heldNfts }
}

const countNfts = (mints: readonly WaitingMint[]): number => mints.reduce((sum, { count }) => sum + count, 0)

/** Returns the maximum gas price at which transactions cost no more than an amount. */
const computeMaxGasPrice = ({ gasLimit, bytes }: MintGas, wei: bigint, fees: Parameters<typeof dataCost>[1]): bigint =>
  (wei - dataCost(bytes, fees)) / gasLimit
