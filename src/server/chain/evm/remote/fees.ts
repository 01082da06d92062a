import { formatGwei } from '../../../../core/units.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import { type Fees, type Hex, parseQuantity } from '../network.ts'
import type { RemoteRpc } from './json-rpc.ts'
import { NodeFailedError } from './responses.ts'

/** Priority fee for nodes that don't suggest one. */
const USUAL_PRIORITY_FEE = 1_000_000_000n

/** Factor of the base fee: a margin for five full blocks, each of which raises the base fee by an eighth. */
const BASE_FEE_FACTOR = 2n

/**
 * Returns fees high enough for inclusion in one of the next blocks: twice the base fee of the newest block plus the
 * usual priority fee. On a network without a base fee, both fees are the network's gas price.
 */
export async function readFees(rpc: RemoteRpc, cap: bigint): Promise<Fees> {
  const block = await rpc.call<{ baseFeePerGas?: Hex } | null>('eth_getBlockByNumber', ['latest', false])
  // Treat a missing block as a failure. Otherwise, the network would seem to have no base fee, and the offered fee
  // would be too low.
  if (block === null) throw new NodeFailedError('a node did not return the newest block')
  if (block.baseFeePerGas === undefined) {
    const baseFee = parseQuantity(await rpc.call('eth_gasPrice', []))
    const price = capFee(baseFee, cap)
    return { maxFeePerGas: price, maxPriorityFeePerGas: price, baseFee, legacy: true }
  }
  const priority = capFee(await readPriorityFee(rpc), cap)
  const baseFee = parseQuantity(block.baseFeePerGas)
  return { maxFeePerGas: capFee(BASE_FEE_FACTOR * baseFee + priority, cap), maxPriorityFeePerGas: priority, baseFee }
}

/** Returns why a transaction at the configured maximum fee must wait; null if the next block accepts it. */
export function explainFeeCapWait({ baseFee = 0n }: Pick<Fees, 'baseFee'>, cap: bigint): string | null {
  if (baseFee <= cap) return null
  return `waiting until the base fee of ${formatGwei(baseFee)} gwei falls below ${formatGwei(cap)} gwei (max_fee_gwei)`
}

async function readPriorityFee(rpc: RemoteRpc): Promise<bigint> {
  try {
    return parseQuantity(await rpc.call('eth_maxPriorityFeePerGas', []))
  } catch (error) {
    if (error instanceof RpcError) return USUAL_PRIORITY_FEE
    throw error
  }
}

const capFee = (fee: bigint, cap: bigint): bigint => (fee > cap ? cap : fee)
