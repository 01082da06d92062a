import type { NetworkFees, WorstFees } from '../../fees.ts'
import type { Fees } from '../network.ts'
import type { WorstGas } from './drop-gas.ts'
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

/** Returns the balance in wei with which a signer signs anything new, in addition to its pending transactions. */
export const leastFunds = ({ maxFeePerGas }: Fees): bigint =>
  fundingFor(NO_DROP, { offered: maxFeePerGas, data: NO_DATA_FEE })
