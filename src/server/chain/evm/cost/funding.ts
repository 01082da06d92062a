import type { NetworkFees, WorstFees } from '../../fees.ts'
import type { NeededForAll } from '../../missing-funds.ts'
import type { Fees } from '../network.ts'
import { DropMeter, type WorstGas } from './drop-gas.ts'
import { worstCost } from './network-fees.ts'

/** Gas that a signer must be able to pay for before it signs: that of a large request. */
const RESERVE_GAS = 3_000_000n

const NO_DROP: WorstGas = { gasLimit: 0n, bytes: 0, smallestMint: 0n }
const NO_DATA_FEE: NetworkFees['data'] = { bytes: 1, fee: 0n, gas: 0n }

/**
 * Returns the balance in wei with which one signer completes a drop at these fees: the most that its transactions can
 * cost, and the reserve without which the signer doesn't sign the last of them.
 */
export function fundingFor({ gasLimit, bytes, smallestMint }: WorstGas, fees: WorstFees): bigint {
  const reserve = smallestMint < RESERVE_GAS ? RESERVE_GAS - smallestMint : 0n
  return worstCost({ gasLimit: gasLimit + reserve, bytes }, fees)
}

/** Whether a gas limit is the lower one; 0 stands for none. */
const isBelow = (gas: bigint, other: bigint): boolean => gas > 0n && (other === 0n || gas < other)

/** Returns the balance with which one signer mints waiting NFTs, as `gdn cost` computes it for a drop. */
export function fundsOfMints(
  mints: readonly { sender: string | null; dynamic: number; count: number }[],
  fees: WorstFees,
): NeededForAll {
  const meters = [new DropMeter(false), new DropMeter(true)] as const
  for (const { sender, dynamic, count } of mints) meters[dynamic === 0 ? 0 : 1].add('0x', count, sender)
  const [fixed, updatable] = [meters[0].total().worst, meters[1].total().worst]
  const worst = {
    gasLimit: fixed.gasLimit + updatable.gasLimit,
    bytes: fixed.bytes + updatable.bytes,
    // The lower of the two leaves the higher reserve.
    smallestMint: isBelow(fixed.smallestMint, updatable.smallestMint) ? fixed.smallestMint : updatable.smallestMint,
  }
  return { nfts: mints.reduce((sum, { count }) => sum + count, 0), wei: fundingFor(worst, fees) }
}

/** Returns the balance in wei with which a signer signs anything new, in addition to its pending transactions. */
export const leastFunds = ({ maxFeePerGas }: Fees): bigint =>
  fundingFor(NO_DROP, { offered: maxFeePerGas, data: NO_DATA_FEE })
