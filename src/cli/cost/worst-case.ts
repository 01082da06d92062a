import type { DropGas } from '../../server/chain/evm/cost/drop-gas.ts'
import type { WorstFees } from '../../server/chain/fees.ts'
import type { SpendingKind } from '../deps.ts'

/** More than any transaction of ours uses for one NFT, and more than its call data. */
export const WORST_NFT = { gasLimit: 200_000n, bytes: 2000 }

/** As long as any symbol that a backend makes of a name. */
const SYMBOL = 'NAMES'

/** Returns the most that requests can cost in wei, if each NFT has a transaction of its own. */
export async function worstCaseOf(spending: SpendingKind, fees: WorstFees): Promise<bigint> {
  const { worstCost } = await import('../../server/chain/evm/cost/network-fees.ts')
  if (spending.kind === 'nft') return worstCost(WORST_NFT, fees) * BigInt(spending.count)
  return worstCost(await worstOfCollection(spending), fees)
}

async function worstOfCollection({
  name,
  royaltyBps,
}: Extract<SpendingKind, { kind: 'collection' }>): Promise<Pick<DropGas, 'gasLimit' | 'bytes'>> {
  const [{ makeGasLimit }, { makeBytes }] = await Promise.all([
    import('../../server/chain/evm/gas-limits.ts'),
    import('../../server/chain/evm/cost/drop-gas.ts'),
  ])
  const init = { name, symbol: SYMBOL, royaltyBps: BigInt(royaltyBps) }
  return { gasLimit: makeGasLimit(init), bytes: makeBytes(init) }
}
