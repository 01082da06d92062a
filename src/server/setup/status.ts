import { formatEther, formatGwei } from 'viem'
import { messageOf } from '../../core/errors.ts'
import { computeDebt } from '../chain/evm/cost/debt.ts'
import { readDataFee } from '../chain/evm/cost/network-fees.ts'
import { readPendingCalls } from '../chain/evm/cost/replacements.ts'
import { computeWaitingFunds } from '../chain/evm/cost/waiting-funds.ts'
import type { Signer } from '../chain/evm/evm-signer.ts'
import type { Hex } from '../chain/evm/network.ts'
import { isOperator } from '../chain/evm/registry.ts'
import { explainFeeCapWait } from '../chain/evm/remote/fees.ts'
import { computeMinBalance, describeSignerShortage } from '../chain/evm/remote/operators.ts'
import { readDeploymentState } from '../chain/evm/remote/remote-chains.ts'
import { findCoinSymbol } from '../settings/networks.ts'
import { findChain } from '../store/chains.ts'
import { listWaitingMints } from '../store/nfts.ts'
import type { OpenedChain } from './with-chain.ts'

/** A signer of a network, and the network's current state. */
export interface SignerStatus {
  blockchain: string
  chain_id: number
  /** Symbol of the coin; null if it isn't known. */
  currency: string | null
  /** Number of the newest block. */
  block: number
  /** Gas price that a transaction would offer, as a decimal number. */
  max_fee_gwei: string
  /** The factory's address; null if the network isn't set up. */
  factory: string | null
  /** The signer's address. */
  signer: string
  /** Balance in whole coins, as a decimal number. */
  balance: string
  /** Balance that the signer needs to sign, in whole coins, as a decimal number. */
  needed: string
  appointed: boolean
  /** Number of the signer's transactions that aren't final. */
  waiting: number
  /** Number of accepted NFTs of the network without a transaction. */
  waiting_nfts: number
  /** The reason why the signer can't sign; null if it can. */
  problem: string | null
  [field: string]: unknown
}

/**
 * Returns the status of each operator, with the network's state that signing depends on.
 *
 * @param setup the command that sets up the network
 */
export async function chainStatus({ store, network, operators }: OpenedChain, setup: string): Promise<SignerStatus[]> {
  const { blockchain, chainId, publicNetwork } = network
  const factory = ((await findChain(store.db, blockchain))?.factory_address as Hex | undefined) ?? null
  const [block, fees] = [await publicNetwork.head(), await publicNetwork.suggestFees()]
  const notDeployed = (await readDeploymentState(store.db, network, block)).state
  const data = await readDataFee(network.request)
  const all = await computeWaitingFunds(store.db, await listWaitingMints(store.db, blockchain), fees, data)
  return await Promise.all(
    operators.map(async (signer) => {
      const { address } = signer
      const balance = await publicNetwork.balance(address)
      const waiting = await readPendingCalls(store.db, network, address, fees)
      const debt = computeDebt(waiting, await publicNetwork.nextNonce(address))
      const appointed = factory !== null && (await isOperator(network, factory, address))
      return {
        blockchain,
        chain_id: chainId,
        currency: findCoinSymbol(chainId),
        block,
        max_fee_gwei: formatGwei(fees.maxFeePerGas),
        factory,
        signer: address,
        balance: formatEther(balance),
        needed: formatEther(computeMinBalance(debt, fees)),
        appointed,
        waiting: waiting.length,
        waiting_nfts: all.nfts + all.held,
        problem:
          setupProblem(factory === null ? notDeployed : null, appointed, setup) ??
          describeSignerShortage(network, { address, balance, ...debt }, fees, all) ??
          (await findOutage(signer)) ??
          explainFeeCapWait(fees, publicNetwork.feeCap),
      }
    }),
  )
}

/** Returns why a remote signer can't be used; null if it has the key. */
const findOutage = async (signer: Signer): Promise<string | null> =>
  (await signer.check?.().then(() => null, messageOf)) ?? null

function setupProblem(notDeployed: string | null, appointed: boolean, setup: string): string | null {
  const problem = notDeployed ?? 'the factory has not authorized this signer'
  return appointed ? null : `${problem}: run \`${setup}\``
}
