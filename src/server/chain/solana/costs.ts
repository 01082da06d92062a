import { feeOf } from './fee-instructions.ts'
import { mintSize } from './mint-size.ts'
import type { SolanaNetwork } from './network.ts'

/** A token's account at its holder: the account, the byte that says what it is, and the mark that its owner stays. */
const HOLDER_BYTES = 165 + 1 + 4
/** The mark there of a token that is never transferable. */
const LOCKED_BYTES = 4

/** Longer than most; a symbol has at most so many letters, and a URI of ours always about so many. */
const TYPICAL = { name: 'n'.repeat(64), symbol: 's'.repeat(10), uri: 'u'.repeat(80), locked: true }

export interface TokenCosts {
  /** Lamports that a collection costs: rent for its token and for the holder's account, and fees. */
  collection: bigint
  nft: bigint
}

/**
 * What tokens cost with a name of 64 letters; each letter more costs the rent of a byte (some 7,000 lamports). Rent is
 * kept by the network for as long as the token is there.
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
