import type { EvmBlockchain } from '../../api/blockchains.ts'
import { factoryAddress } from '../chain/evm/factory.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { Store } from '../store/open-store.ts'
import { findFactoryTransaction, nonceOf } from '../store/transactions.ts'

/**
 * Returns the gas and the cost in wei of the transaction that deployed a factory, as its receipt has them. Returns null if
 * another database has it.
 */
export async function deploymentCost(
  { db }: Store,
  blockchain: EvmBlockchain,
  factory: Hex,
): Promise<{ gas: bigint; paid: bigint } | null> {
  const found = await findFactoryTransaction(db, blockchain)
  if (found === null || found.gas_used === null || found.fee_paid === null) return null
  if (factoryAddress(found.signer as Hex, nonceOf(found)) !== factory) return null
  return { gas: BigInt(found.gas_used), paid: BigInt(found.fee_paid) }
}
