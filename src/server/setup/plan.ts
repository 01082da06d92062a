import { parseTransaction } from 'viem'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { CONTRACT_VERSION } from '../chain/evm/contract-version.ts'
import { operatorsOfDeployment } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import type { Fees, Hex } from '../chain/evm/network.ts'
import { readQuantity } from '../chain/evm/quantity.ts'
import { isOperator, readAdmin, readFactoryVersion } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { findChain, listFactories } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'
import { listFactoryTransactions, type TransactionRow } from '../store/transactions.ts'
import { type Appointment, appointmentsOf, wereAppointed } from './appointed.ts'

/** Gas of appointing an operator: a slot, an event, and the call itself. */
export const APPOINT_GAS = 80_000n

export interface PlannedOperator {
  address: Hex
  /** Price in wei. */
  balance: bigint
  /** In every factory. */
  appointed: boolean
}

/** The steps and the cost of setting up a network. */
export interface SetupPlan {
  /** The factory's address; null if it has to be deployed. */
  factory: Hex | null
  /** Version of the factory. */
  version: number
  /** The factory of an earlier version beside which it has to be deployed; null if there is none. */
  replaced: Hex | null
  /** Other factories of this database: those of earlier versions. */
  former: readonly Hex[]
  operators: readonly PlannedOperator[]
  /** Operators to appoint by transaction; a new factory appoints its own. */
  toAppoint: readonly Hex[]
  /** Maximum gas. */
  gas: bigint
  fees: Fees
  /** Maximum cost in wei. */
  cost: bigint
  /** Balance of the admin's account in wei. */
  balance: bigint
  /** Nothing has to be sent, and everything sent is final. */
  isDone: boolean
}

export interface SetupTarget {
  store: Store
  network: RemoteNetwork
  admin: Hex
  operators: readonly Hex[]
  /** An existing factory to continue with. */
  known?: Hex | undefined
}

/**
 * Reads the network and the database without changes.
 *
 * @throws GdnError `invalid_config` for a factory of another admin, or an admin that is also an operator
 */
export async function planSetup({ store, network, admin, operators, known }: SetupTarget): Promise<SetupPlan> {
  if (operators.includes(admin)) {
    throw new GdnError('invalid_config', `the key ${admin} can't be both the admin and an operator`, {
      hint: 'Use another keystore: the admin is a cold key that only appoints operators.',
    })
  }
  const { blockchain } = network
  const chain = await findChain(store.db, blockchain)
  // The factory of an earlier version stays, and a new one is deployed beside it.
  const remembered = chain?.factory_version === CONTRACT_VERSION ? (chain.factory_address as Hex) : null
  const factory = remembered ?? known ?? null
  const version = remembered === null && known ? await readFactoryVersion(network, known) : CONTRACT_VERSION
  const former = (await listFactories(store.db, blockchain)).filter((address) => address !== factory)
  const pending = await findDeployment(store.db, blockchain)
  const isPending = pending !== null && !hasEnded(pending)
  const promised = (isPending ? deployedOperators(pending) : null) ?? operators
  if (factory !== null) await refuseOthersFactory(network, factory, admin)
  const missing: Appointment[] = []
  for (const appointment of appointmentsOf([...(factory === null ? [] : [factory]), ...former], operators)) {
    if (!(await isOperator(network, appointment.factory, appointment.operator))) missing.push(appointment)
  }
  // Nothing has to be sent to a factory that was handed over to another admin.
  for (const one of new Set(missing.map((appointment) => appointment.factory))) {
    await refuseOthersFactory(network, one, admin)
  }
  const unpromised = factory === null ? operators.filter((operator) => !promised.includes(operator)) : []
  const toAppoint = operators.filter(
    (operator) => unpromised.includes(operator) || missing.some((one) => one.operator === operator),
  )
  const states = await Promise.all(
    operators.map(async (address) => ({
      address,
      balance: await balanceOf(network, address),
      appointed: factory !== null && !toAppoint.includes(address),
    })),
  )
  const deploying = factory === null && !isPending ? deployFactoryGasLimit(operators) : 0n
  const gas = deploying + APPOINT_GAS * BigInt(missing.length + unpromised.length)
  const fees = await network.publicNetwork.suggestFees()
  return {
    ...{ factory, version, former },
    replaced: factory === null ? ((chain?.factory_address ?? null) as Hex | null) : null,
    operators: states,
    toAppoint,
    gas,
    fees,
    cost: gas * fees.maxFeePerGas,
    balance: await balanceOf(network, admin),
    isDone:
      factory !== null &&
      factory === chain?.factory_address &&
      toAppoint.length === 0 &&
      (await wereAppointed(
        network,
        appointmentsOf([factory, ...former], operators),
        await network.publicNetwork.head(),
      )) === true,
  }
}

/** Returns the transaction that deploys the factory of this version; null if it wasn't signed. */
export async function findDeployment(db: Db, blockchain: EvmBlockchain): Promise<TransactionRow | null> {
  const rows = await listFactoryTransactions(db, blockchain)
  return rows.find((row) => deployedOperators(row) !== null) ?? null
}

const deployedOperators = ({ raw }: TransactionRow) => operatorsOfDeployment(parseTransaction(raw as Hex).data ?? '0x')

/** Whether the factory's transaction had no effect. */
export const hasEnded = ({ state }: Pick<TransactionRow, 'state'>): boolean =>
  state === 'reverted' || state === 'lost' || state === 'cancelled'

async function refuseOthersFactory(network: RemoteNetwork, factory: Hex, admin: Hex): Promise<void> {
  const appointed = await readAdmin(network, factory)
  if (appointed === admin) return
  throw new GdnError(
    'invalid_config',
    appointed === null
      ? `${network.blockchain} has no gdn factory at ${factory}`
      : `the admin of the factory ${factory} is ${appointed}, not ${admin}`,
    { hint: 'Use the keystore of its admin, or the address of another factory.' },
  )
}

const balanceOf = async (network: RemoteNetwork, address: Hex) =>
  readQuantity(await network.request('eth_getBalance', [address, 'latest']))
