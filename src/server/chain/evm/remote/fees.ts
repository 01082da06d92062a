import { inGwei } from '../../../../core/units.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import { type Fees, type Hex, readQuantity } from '../network.ts'
import type { RemoteRpc } from './json-rpc.ts'
import { NodeFailed } from './responses.ts'

/** Priority fee for nodes that don't suggest one. */
const USUAL_PRIORITY_FEE = 1_000_000_000n

/** Factor of the base fee: a margin for five full blocks, each of which raises the base fee by an eighth. */
const BASE_FEES = 2n

/**
 * Returns fees high enough for inclusion in one of the next blocks: twice the base fee of the newest block plus the
 * usual priority fee. On a network without a base fee, both fees are the network's gas price.
 */
export async function readFees(rpc: RemoteRpc, cap: bigint): Promise<Fees> {
  const block = await rpc.call<{ baseFeePerGas?: Hex } | null>('eth_getBlockByNumber', ['latest', false])
  // Treat a missing block as a failure. Otherwise, the network would seem to have no base fee, and the offered fee
  // would be too low.
  if (block === null) throw new NodeFailed('a node did not return the newest block')
  if (block.baseFeePerGas === undefined) {
    const baseFee = readQuantity(await rpc.call('eth_gasPrice', []))
    const price = atMost(baseFee, cap)
    return { maxFeePerGas: price, maxPriorityFeePerGas: price, baseFee, legacy: true }
  }
  const priority = atMost(await priorityFee(rpc), cap)
  const baseFee = readQuantity(block.baseFeePerGas)
  return { maxFeePerGas: atMost(BASE_FEES * baseFee + priority, cap), maxPriorityFeePerGas: priority, baseFee }
}

/** Returns why a transaction at the configured maximum fee must wait; null if the next block accepts it. */
export function waitingFor({ baseFee = 0n }: Pick<Fees, 'baseFee'>, cap: bigint): string | null {
  if (baseFee <= cap) return null
  return `waiting until the base fee of ${inGwei(baseFee)} gwei falls below ${inGwei(cap)} gwei (max_fee_gwei)`
}

async function priorityFee(rpc: RemoteRpc): Promise<bigint> {
  try {
    return readQuantity(await rpc.call('eth_maxPriorityFeePerGas', []))
  } catch (error) {
    if (error instanceof RpcError) return USUAL_PRIORITY_FEE
    throw error
  }
}

const atMost = (fee: bigint, cap: bigint): bigint => (fee > cap ? cap : fee)
