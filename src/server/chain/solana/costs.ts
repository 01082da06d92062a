import { feeOf } from './fee-instructions.ts'
import { mintSize } from './mint-size.ts'
import type { SolanaNetwork } from './network.ts'

/** Size of a token account: the account, a byte for its type, and the immutable-owner extension. */
const HOLDER_BYTES = 165 + 1 + 4
/** Size of the extension of a non-transferable token. */
const LOCKED_BYTES = 4

/** Longer than most. A symbol has at most this many letters, and our URIs always have about this many. */
const TYPICAL = { name: 'n'.repeat(64), symbol: 's'.repeat(10), uri: 'u'.repeat(80), locked: true }

export interface TokenCosts {
  /** Lamports that a collection costs: rent for its token and for the holder's account, plus fees. */
  collection: bigint
  nft: bigint
}

/**
 * Returns the cost of tokens with a name of 64 letters. Each further letter costs the rent of a byte (about 7,000
 * lamports). The network keeps the rent as long as the token exists.
 *
 * @param price micro-lamports for a compute unit
 */
export async function tokenCosts(network: Pick<SolanaNetwork, 'minimumBalance'>, price: bigint): Promise<TokenCosts> {
  const cost = async (kind: 'group' | 'member') => {
    const mint = await network.minimumBalance(mintSize({ ...TYPICAL, kind }).final)
    return mint + (await network.minimumBalance(HOLDER_BYTES + LOCKED_BYTES)) + feeOf(price)
  }
  return { collection: await cost('group'), nft: await cost('member') }
}
