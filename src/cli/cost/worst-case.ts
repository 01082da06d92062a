import type { DropGas } from '../../server/chain/evm/cost/drop-gas.ts'
import type { MaxCostFees } from '../../server/chain/fees.ts'
import type { SpendingKind } from '../deps.ts'

/** An upper bound for the gas and the call data that a gdn transaction uses for one NFT. */
export const MAX_USE_PER_NFT = { gasLimit: 200_000n, bytes: 2000 }

/** A placeholder as long as the longest symbol that a backend derives from a name. */
export const PLACEHOLDER_SYMBOL = 'NAMES'

/** Returns the maximum cost of requests in wei, if each NFT needs a separate transaction. */
export async function estimateMaxSpending(spending: SpendingKind, fees: MaxCostFees): Promise<bigint> {
  const { computeMaxCost } = await import('../../server/chain/evm/cost/network-fees.ts')
  if (spending.kind === 'nft') return computeMaxCost(MAX_USE_PER_NFT, fees) * BigInt(spending.count)
  return computeMaxCost(await estimateMaxCollectionUse(spending), fees)
}

async function estimateMaxCollectionUse({
  name,
  royaltyBps,
}: Extract<SpendingKind, { kind: 'collection' }>): Promise<Pick<DropGas, 'gasLimit' | 'bytes'>> {
  const [{ makeGasLimit }, { makeBytes }] = await Promise.all([
    import('../../server/chain/evm/gas-limits.ts'),
    import('../../server/chain/evm/cost/drop-gas.ts'),
  ])
  const init = { name, symbol: PLACEHOLDER_SYMBOL, royaltyBps: BigInt(royaltyBps) }
  return { gasLimit: makeGasLimit(init), bytes: makeBytes(init) }
}
