import { count } from '../../core/count.ts'
import { formatCoins } from '../../core/units.ts'

/** An account that pays for transactions. */
export interface Payer {
  /** The role of the address in messages, for example `the signer`. */
  role: 'signer' | 'admin' | 'owner' | 'new owner'
  address: string
  blockchain: string
  /** Symbol of the coin; null if it isn't known. */
  coin: string | null
  /** Formats an amount in coins. Default: as on EVM networks. */
  inCoins?: (amount: bigint, rounding: 'up' | 'down') => string
}

/** The funds that a signer lacks to process all accepted requests. */
export interface Shortage {
  signer: string
  /** Balance in wei. */
  balance: bigint
  /** Balance in wei that the signer needs for its pending transactions and all waiting NFTs. */
  needed: bigint
  /** The part of `needed` in wei that the signer must hold to sign but doesn't spend. */
  reserve: bigint
  /** Number of NFTs without a transaction. */
  waitingNfts: number
}

/** NFTs that wait for funds, and the balance in wei needed to mint all of them. */
export interface NeededForAll {
  nfts: number
  wei: bigint
  /** Number of pending transactions whose replacement fees are included. */
  pending?: number
  /** Number of rows of a run that are included although no server has accepted them yet. */
  unsent?: number
  /** Number of changes to NFTs that are included although they aren't made yet. */
  changes?: number
  /** The remaining part of the run's limit, if the NFTs need more. In that case, `wei` covers only this part. */
  remainingLimit?: bigint
}

/**
 * Returns the funds that an account lacks, as a sentence; null if its balance is sufficient.
 *
 * @param all the funds that all waiting requests need. If they exceed `needed`, the sentence states only their amount,
 *   because after a smaller payment, the funds would run out again after one transaction
 */
export function describeMissingFunds(
  { role, address, blockchain, coin, inCoins: text = formatCoins }: Payer,
  balance: bigint,
  needed: bigint,
  all?: NeededForAll,
): string | null {
  if (balance >= needed) return null
  const unit = coin ?? 'coins'
  const has = `the ${role} ${address} has ${text(balance, 'down')} ${unit} on ${blockchain} and needs`
  const lackOf = (wei: bigint) => `${text(wei - balance, 'up')} ${unit}`
  const covered = all === undefined || all.wei <= needed ? '' : formatCounts(all)
  if (all === undefined || covered === '') return `${has} ${text(needed, 'up')}: send ${lackOf(needed)}`
  const { remainingLimit } = all
  const until =
    remainingLimit === undefined ? '' : `, up to the run's cost limit (${text(remainingLimit, 'down')} ${unit} left)`
  return `${has} ${text(all.wei, 'up')}: send ${lackOf(all.wei)}, which covers ${covered} at the current fees${until}`
}

/**
 * Returns why a signer doesn't sign, as a sentence; null if its balance is sufficient. Call this only if all waiting
 * work of the signer belongs to runs whose limits are too low for the current fees. The sentence states no amount to
 * send, because additional coins would not help.
 */
export function describeLimitWait(
  { role, address, blockchain, coin, inCoins: text = formatCoins }: Payer,
  balance: bigint,
  needed: bigint,
  { nfts, transactions }: { nfts: number; transactions: number },
): string | null {
  if (balance >= needed) return null
  const has = `the ${role} ${address} has ${text(balance, 'down')} ${coin ?? 'coins'} on ${blockchain}`
  const wait = `${formatCounts({ nfts, signed: transactions })} ${nfts + transactions === 1 ? 'waits' : 'wait'}`
  return `${has}, but signing requires ${text(needed, 'up')} at the current fees; ${wait} for lower fees or a higher limit`
}

function formatCounts({
  nfts,
  pending = 0,
  signed = 0,
  unsent = 0,
  changes = 0,
}: Omit<NeededForAll, 'wei'> & { signed?: number }): string {
  const parts = [
    ...(pending === 0 ? [] : [count(pending, 'pending transaction')]),
    ...(signed === 0 ? [] : [count(signed, 'signed transaction')]),
    ...(nfts === 0 ? [] : [count(nfts, 'pending NFT')]),
    ...(unsent === 0 ? [] : [count(unsent, 'unsent row')]),
    ...(changes === 0 ? [] : [count(changes, 'change')]),
  ]
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter((part) => part !== '').join(' and ')
}
