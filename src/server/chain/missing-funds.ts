import { inCoins } from '../../core/units.ts'

/** An account that pays for transactions. */
export interface Payer {
  /** What it is: `the signer`. */
  role: 'signer' | 'admin' | 'owner' | 'new owner'
  address: string
  blockchain: string
  /** Symbol of the coin; null if it isn't known. */
  coin: string | null
  /** Formats an amount in coins. By default, that of an EVM network. */
  inCoins?: (amount: bigint, rounding: 'up' | 'down') => string
}

/** NFTs that wait for funds, and the balance with which all of them are minted. */
export interface NeededForAll {
  nfts: number
  wei: bigint
}

/**
 * Returns what an account lacks, as a sentence in coins; null if its balance is enough.
 *
 * @param all what everything that waits needs, if that is more than `needed`
 */
export function missingFunds(
  { role, address, blockchain, coin, inCoins: text = inCoins }: Payer,
  balance: bigint,
  needed: bigint,
  all?: NeededForAll,
): string | null {
  if (balance >= needed) return null
  const unit = coin ?? 'coins'
  const [has, needs, lacks] = [text(balance, 'down'), text(needed, 'up'), text(needed - balance, 'up')]
  const lack = `the ${role} ${address} has ${has} ${unit} on ${blockchain} and needs ${needs}: ${lacks} ${unit} are missing`
  if (all === undefined || all.nfts === 0 || all.wei <= needed) return lack
  const nfts = all.nfts === 1 ? 'the waiting NFT' : `${all.nfts} waiting NFTs`
  return `${lack}, and ${text(all.wei - balance, 'up')} ${unit} for ${nfts}`
}
