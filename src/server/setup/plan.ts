import { parseTransaction } from 'viem'
import { GdnError } from '../../core/errors.ts'
import { operatorsOfDeployment } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import type { Fees, Hex } from '../chain/evm/network.ts'
import { readQuantity } from '../chain/evm/quantity.ts'
import { isOperator, readAdmin } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { findChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import { findFactoryTransaction, type TransactionRow } from '../store/transactions.ts'
import { wereAppointed } from './appointed.ts'

/** Gas of appointing an operator: a slot, an event, and what a call costs. */
export const APPOINT_GAS = 80_000n

export interface PlannedOperator {
  address: Hex
  /** Wei. */
  balance: bigint
  appointed: boolean
}

/** What setting a network up would do, and cost. */
export interface SetupPlan {
  /** Where the factory is; null where it is to be deployed. */
  factory: Hex | null
  operators: readonly PlannedOperator[]
  /** Operators that are to be appointed by a transaction; those of a new factory need none. */
  toAppoint: readonly Hex[]
  /** Gas at most. */
  gas: bigint
  fees: Fees
  /** Wei at most. */
  cost: bigint
  /** Of the admin's account, wei. */
  balance: bigint
  /** Nothing is to be sent, and nothing of what was can be undone. */
  isDone: boolean
}

export interface SetupTarget {
  store: Store
  network: RemoteNetwork
  admin: Hex
  operators: readonly Hex[]
  /** A factory that was deployed before, to go on with. */
  known?: Hex | undefined
}

/**
 * Looks at the network and the database, and changes nothing.
 *
 * @throws GdnError `invalid_config` for a factory that isn't this admin's, or an admin that is an operator too
 */
export async function planSetup({ store, network, admin, operators, known }: SetupTarget): Promise<SetupPlan> {
  if (operators.includes(admin)) {
    throw new GdnError('invalid_config', `${admin} is the admin and an operator: a key can't be both`, {
      hint: 'the admin is a cold key, which appoints operators; give another keystore',
    })
  }
  const { blockchain } = network
  const remembered = (await findChain(store.db, blockchain))?.factory_address as Hex | undefined
  const factory = remembered ?? known ?? null
  const pending = await findFactoryTransaction(store.db, blockchain)
  const isPending = pending !== null && !hasEnded(pending)
  const deployed = isPending ? operatorsOfDeployment(parseTransaction(pending.raw as Hex).data ?? '0x') : null
  const promised = deployed ?? operators
  if (factory !== null) await refuseOthersFactory(network, factory, admin)
  const states = await Promise.all(
    operators.map(async (address) => ({
      address,
      balance: await balanceOf(network, address),
      appointed: factory !== null && (await isOperator(network, factory, address)),
    })),
  )
  const toAppoint = states
    .filter(({ address, appointed }) => (factory === null ? !promised.includes(address) : !appointed))
    .map(({ address }) => address)
  const deploying = factory === null && !isPending ? deployFactoryGasLimit(operators) : 0n
  const gas = deploying + APPOINT_GAS * BigInt(toAppoint.length)
  const fees = await network.publicNetwork.suggestFees()
  return {
    factory,
    operators: states,
    toAppoint,
    gas,
    fees,
    cost: gas * fees.maxFeePerGas,
    balance: await balanceOf(network, admin),
    isDone:
      remembered !== undefined &&
      toAppoint.length === 0 &&
      (await wereAppointed(network, remembered, operators, await network.publicNetwork.head())) === true,
  }
}

/** The transaction of a factory that came to nothing. */
export const hasEnded = ({ state }: Pick<TransactionRow, 'state'>): boolean =>
  state === 'reverted' || state === 'lost' || state === 'cancelled'

async function refuseOthersFactory(network: RemoteNetwork, factory: Hex, admin: Hex): Promise<void> {
  const appointed = await readAdmin(network, factory)
  if (appointed === admin) return
  throw new GdnError(
    'invalid_config',
    appointed === null
      ? `${network.blockchain} has no factory of gdn at ${factory}`
      : `the factory ${factory} is administrated by ${appointed}, not by ${admin}`,
    { hint: 'give the keystore of its admin, or the address of another factory' },
  )
}

const balanceOf = async (network: RemoteNetwork, address: Hex) =>
  readQuantity(await network.request('eth_getBalance', [address, 'latest']))
