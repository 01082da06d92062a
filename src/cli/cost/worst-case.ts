import type { NetworkFees } from '../../server/chain/evm/cost/network-fees.ts'
import type { Spending } from '../deps.ts'

/** More than any transaction of ours uses for one NFT, or for a collection. */
export const WORST_GAS = { nft: 200_000n, collection: 1_000_000n }
/** More than the call data of either has. */
const WORST_BYTES = 2000

/** Returns the most that requests can cost in wei, if each NFT has a transaction of its own. */
export async function worstCaseOf(
  { kind, count }: Pick<Spending, 'kind' | 'count'>,
  fees: NetworkFees,
): Promise<bigint> {
  const { worstCost } = await import('../../server/chain/evm/cost/network-fees.ts')
  return worstCost({ gasLimit: WORST_GAS[kind], bytes: WORST_BYTES }, fees) * BigInt(count)
}
