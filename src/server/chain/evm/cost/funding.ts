import type { MaxCostFees } from '../../fees.ts'
import type { NeededForAll } from '../../missing-funds.ts'
import type { Fees } from '../network.ts'
import { type DropGas, DropMeter, type MaxGas } from './drop-gas.ts'
import { computeMaxCost } from './network-fees.ts'

/** Gas limit of a large request. A signer signs only if it can pay for this much gas. */
const RESERVE_GAS = 3_000_000n

/**
 * Returns the balance in wei that one signer needs to complete a drop at these fees. It is the maximum cost of the
 * transactions plus the reserve that the signer needs to sign the last of them.
 */
export const computeFunding = (worst: MaxGas, fees: MaxCostFees): bigint =>
  computeMaxCost(worst, fees) + computeReserve(worst.smallestMint, fees)

/**
 * Returns the reserve in wei that a signer must have in addition to the cost of its last transaction before it signs
 * that transaction.
 *
 * @param smallest gas limit of the signer's smallest transaction; 0 if it isn't known
 */
export const computeReserve = (smallest: bigint, { offered }: Pick<MaxCostFees, 'offered'>): bigint =>
  smallest < RESERVE_GAS ? (RESERVE_GAS - smallest) * offered : 0n

/** The funds that waiting NFTs need. */
export interface WaitingFunds extends NeededForAll {
  /** Number of NFTs that are excluded, because the limits of their runs permit no transaction at these fees. */
  held: number
  /** The part of `wei` that the signer must hold but doesn't spend. */
  reserve: bigint
}

/** Returns whether `gas` is a lower limit than `other`. The value 0 means that there is no limit. */
const isBelow = (gas: bigint, other: bigint): boolean => gas > 0n && (other === 0n || gas < other)

type Mints = readonly { sender: string | null; dynamic: number; count: number }[]

/** The gas of mints in bundles, with their maximum totals. */
export type MintGas = Pick<DropGas, 'gasLimit' | 'bytes' | 'worst'>

/** Returns the gas that mints use, as `gdn cost` computes it for a drop. */
export function computeMintGas(mints: Mints): MintGas {
  const meters = [new DropMeter(false), new DropMeter(true)] as const
  for (const [index, { sender, dynamic, count }] of mints.entries())
    meters[dynamic === 0 ? 0 : 1].add(String(index), count, sender)
  const [fixed, updatable] = [meters[0].total(), meters[1].total()]
  const [worstFixed, worstUpdatable] = [fixed.worst, updatable.worst]
  const worst = {
    gasLimit: worstFixed.gasLimit + worstUpdatable.gasLimit,
    bytes: worstFixed.bytes + worstUpdatable.bytes,
    // The smaller mint results in the higher reserve.
    smallestMint: isBelow(worstFixed.smallestMint, worstUpdatable.smallestMint)
      ? worstFixed.smallestMint
      : worstUpdatable.smallestMint,
  }
  return { gasLimit: fixed.gasLimit + updatable.gasLimit, bytes: fixed.bytes + updatable.bytes, worst }
}

/** Returns the funds that one signer needs to mint NFTs. */
export function computeMintFunds(mints: Mints, fees: MaxCostFees): WaitingFunds {
  const { worst } = computeMintGas(mints)
  const reserve = computeReserve(worst.smallestMint, fees)
  const nfts = mints.reduce((sum, { count }) => sum + count, 0)
  return { nfts, wei: computeMaxCost(worst, fees) + reserve, reserve, held: 0 }
}

/** Returns the balance in wei that a signer needs for a new transaction, in addition to its pending transactions. */
export const minSignerFunds = ({ maxFeePerGas }: Pick<Fees, 'maxFeePerGas'>): bigint =>
  computeReserve(0n, { offered: maxFeePerGas })
