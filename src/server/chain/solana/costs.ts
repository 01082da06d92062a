import { formatUnits } from '../../../core/units.ts'
import { describeMissingFunds } from '../missing-funds.ts'
import { computeMaxFee } from './fee-instructions.ts'
import { mintSize } from './mint-size.ts'
import type { SolanaNetwork } from './network.ts'

/** Size of a token account in bytes: the account, a byte for its type, and the immutable-owner extension. */
const TOKEN_ACCOUNT_BYTES = 165 + 1 + 4
/** Size in bytes of the extension of a non-transferable token. */
const LOCKED_BYTES = 4

/**
 * Sample strings for estimates. Names and symbols are usually shorter, and the backend's URIs have about 80 characters.
 */
const TYPICAL_TOKEN = { name: 'n'.repeat(64), symbol: 's'.repeat(10), uri: 'u'.repeat(80), locked: true }

/**
 * Number of NFTs that the signer must be able to pay for before a request is accepted. It equals the size of a large
 * request.
 */
const RESERVE_NFTS = 10n
const SOL_DECIMALS = 9

export const inSol = (lamports: bigint): string => formatUnits(lamports, SOL_DECIMALS, SOL_DECIMALS)

/** Returns the minimum balance in lamports at which requests are accepted. */
export const minClusterFunds = ({ nft }: Pick<TokenCosts, 'nft'>): bigint => RESERVE_NFTS * nft

/** Returns the funds that a cluster's signer lacks before requests are accepted, as a sentence; null if it can pay. */
export const describeClusterShortage = (
  blockchain: string,
  address: string,
  balance: bigint,
  costs: TokenCosts,
): string | null =>
  describeMissingFunds(
    { role: 'signer', address, blockchain, coin: 'SOL', inCoins: inSol },
    balance,
    minClusterFunds(costs),
  )

export interface TokenCosts {
  /** Cost of a collection in lamports: rent for its token and for the holder's account, plus fees. */
  collection: bigint
  nft: bigint
}

/**
 * Returns the cost of tokens whose names have 64 letters. Each further letter costs the rent for one byte (about 7,000
 * lamports). The network keeps the rent as long as the token exists.
 *
 * @param price micro-lamports per compute unit
 */
export async function readTokenCosts(
  network: Pick<SolanaNetwork, 'minimumBalance'>,
  price: bigint,
): Promise<TokenCosts> {
  const cost = async (kind: 'group' | 'member') => {
    const mint = await network.minimumBalance(mintSize({ ...TYPICAL_TOKEN, kind }).final)
    return mint + (await network.minimumBalance(TOKEN_ACCOUNT_BYTES + LOCKED_BYTES)) + computeMaxFee(price)
  }
  return { collection: await cost('group'), nft: await cost('member') }
}
