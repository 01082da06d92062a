import { formatEther, formatGwei } from 'viem'
import type { Hex } from '../chain/evm/network.ts'
import { readQuantity } from '../chain/evm/quantity.ts'
import { isOperator } from '../chain/evm/registry.ts'
import { reserve } from '../chain/evm/remote/operators.ts'
import { findChain } from '../store/chains.ts'
import type { OpenedChain } from './with-chain.ts'

/** A signer of a network, and the network as it is now. */
export interface SignerStatus {
  blockchain: string
  chain_id: number
  /** Number of the newest block. */
  block: number
  /** What is offered for a unit of gas now, decimal. */
  max_fee_gwei: string
  /** Null before it is set up. */
  factory: string | null
  /** Its address. */
  signer: string
  /** Whole coins, decimal. */
  balance: string
  appointed: boolean
  /** What keeps it from signing; null where nothing does. */
  problem: string | null
  [field: string]: unknown
}

/** Asks a network for all that signing on it takes. */
export async function chainStatus({ store, network, operators }: OpenedChain): Promise<SignerStatus[]> {
  const { blockchain, chainId, shared } = network
  const factory = ((await findChain(store.db, blockchain))?.factory_address as Hex | undefined) ?? null
  const [block, fees] = [await shared.head(), await shared.suggestFees()]
  return await Promise.all(
    operators.map(async ({ address }) => {
      const balance = readQuantity(await network.request('eth_getBalance', [address, 'latest']))
      const appointed = factory !== null && (await isOperator(network, factory, address))
      return {
        blockchain,
        chain_id: chainId,
        block,
        max_fee_gwei: formatGwei(fees.maxFeePerGas),
        factory,
        signer: address,
        balance: formatEther(balance),
        appointed,
        problem: problemOf({ appointed, balance, least: reserve(fees), factory }),
      }
    }),
  )
}

function problemOf(of: { appointed: boolean; balance: bigint; least: bigint; factory: Hex | null }): string | null {
  if (of.factory === null) return 'the factory is not deployed'
  if (!of.appointed) return 'the factory does not know this signer'
  return of.balance < of.least ? `it has less than ${formatEther(of.least)}, which a large request may cost` : null
}
