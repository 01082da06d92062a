import { parseTransaction } from 'viem'
import { GdnError } from '../../core/errors.ts'
import { computeDebt, parsePendingCall } from '../chain/evm/cost/debt.ts'
import { ENVELOPE_BYTES } from '../chain/evm/cost/drop-gas.ts'
import { minSignerFunds } from '../chain/evm/cost/funding.ts'
import { computeMaxCost, readDataFee } from '../chain/evm/cost/network-fees.ts'
import { encodeDeployFactory, operatorsOfDeployment } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import { type Fees, type Hex, parseQuantity } from '../chain/evm/network.ts'
import { isOperator, readAdmin, readFactoryVersion } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { findChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import { findFactoryTransaction, type TransactionRow } from '../store/transactions.ts'
import { wereOperatorsAuthorized } from './authorized-operators.ts'

/** Gas limit of a transaction that authorizes an operator, which writes one storage slot and emits one event. */
export const AUTHORIZE_GAS = 80_000n
const AUTHORIZE_BYTES = ENVELOPE_BYTES + 68

/** The `version` in `GdnFactory.sol`. Collections of another version have other addresses. */
const FACTORY_VERSION = 2n

export interface PlannedOperator {
  address: Hex
  /** Balance in wei. */
  balance: bigint
  isAuthorized: boolean
}

/** The steps and the cost of setting up a network. */
export interface SetupPlan {
  /** The factory's address; null if it has to be deployed. */
  factory: Hex | null
  operators: readonly PlannedOperator[]
  /** Operators that need a transaction for their authorization. A new factory authorizes its own operators. */
  operatorsToAuthorize: readonly Hex[]
  /** Maximum gas of all transactions. */
  gas: bigint
  /** The highest fees that the setup offers. With these fees, all transactions together cost at most `cost`. */
  fees: Fees
  /** Whether the setup deploys the factory, or replaces its pending transaction. */
  deploysFactory: boolean
  /** Whether the pending transaction of the factory has to be replaced, because its price is too low for a block. */
  replacesDeployment: boolean
  /** Maximum cost in wei, including the data fee. */
  cost: bigint
  /** Maximum cost in wei of the pending deployment, unless `cost` includes its replacement. */
  owed: bigint
  /** Balance in wei that each operator needs to sign. */
  neededPerOperator: bigint
  /** Balance of the admin's account in wei. */
  balance: bigint
  /** Whether all transactions of the setup were sent and are final. */
  isDone: boolean
}

export interface SetupTarget {
  store: Store
  network: RemoteNetwork
  admin: Hex
  operators: readonly Hex[]
  /** An existing factory to use if the database has none. */
  knownFactory?: Hex | undefined
}

/**
 * Plans the setup of a network. Reads the network and the database without changing them.
 *
 * @throws GdnError `invalid_config` if the factory has another admin or version, or if the admin is also an operator
 */
export async function planSetup({ store, network, admin, operators, knownFactory }: SetupTarget): Promise<SetupPlan> {
  if (operators.includes(admin)) {
    throw new GdnError('invalid_config', `the key ${admin} can't be both the admin and an operator`, {
      hint: 'Use another keystore: the admin is a cold key that only authorizes operators.',
    })
  }
  const { blockchain } = network
  const storedFactory = (await findChain(store.db, blockchain))?.factory_address as Hex | undefined
  const factory = storedFactory ?? knownFactory ?? null
  const pending = await findFactoryTransaction(store.db, blockchain)
  const isPending = pending !== null && !hasFailed(pending)
  const deployed = isPending ? operatorsOfDeployment(parseTransaction(pending.raw as Hex).data ?? '0x') : null
  const deploymentOperators = deployed ?? operators
  if (factory !== null) await refuseOtherFactories(network, factory, admin)
  const states = await Promise.all(
    operators.map(async (address) => ({
      address,
      balance: await readBalance(network, address),
      isAuthorized: factory !== null && (await isOperator(network, factory, address)),
    })),
  )
  const operatorsToAuthorize = states
    .filter(({ address, isAuthorized }) => (factory === null ? !deploymentOperators.includes(address) : !isAuthorized))
    .map(({ address }) => address)
  const [fees, data] = await Promise.all([network.publicNetwork.suggestFees(), readDataFee(network.request)])
  const replacesDeployment =
    isPending && pending.block_number === null && parseMaxGasPrice(pending) < (fees.baseFee ?? 0n)
  const deploysFactory = replacesDeployment || (factory === null && !isPending)
  const deployment = deploysFactory
    ? { gas: deployFactoryGasLimit(deploymentOperators), data: encodeDeployFactory(deploymentOperators) }
    : null
  const gas = (deployment?.gas ?? 0n) + AUTHORIZE_GAS * BigInt(operatorsToAuthorize.length)
  const bytes =
    (deployment === null ? 0 : deployment.data.length / 2 + ENVELOPE_BYTES) +
    AUTHORIZE_BYTES * operatorsToAuthorize.length
  return {
    factory,
    operators: states,
    operatorsToAuthorize,
    gas,
    fees,
    deploysFactory,
    replacesDeployment,
    cost: computeMaxCost({ gasLimit: gas, bytes }, { offered: fees.maxFeePerGas, data }),
    owed:
      isPending && !replacesDeployment
        ? computeDebt(
            [parsePendingCall(pending.raw as Hex)],
            await network.publicNetwork.nextNonce(pending.signer as Hex),
          ).owed
        : 0n,
    neededPerOperator: minSignerFunds(fees),
    balance: await readBalance(network, admin),
    isDone:
      storedFactory !== undefined &&
      operatorsToAuthorize.length === 0 &&
      (await wereOperatorsAuthorized(network, storedFactory, operators, await network.publicNetwork.head())) === true,
  }
}

/**
 * Returns the error for a transaction whose cost isn't part of the plan, because it was mined or pending when the plan
 * was made.
 */
export const notApprovedError = (step: string): GdnError =>
  new GdnError('refused', `${step} is no longer on the network`, {
    hint: 'Nothing was sent for this step. Run the same command again to see the cost.',
  })

/** Returns the maximum gas price of a transaction, in wei. */
export function parseMaxGasPrice({ raw }: Pick<TransactionRow, 'raw'>): bigint {
  const { maxFeePerGas, gasPrice } = parseTransaction(raw as Hex)
  return maxFeePerGas ?? gasPrice ?? 0n
}

/** Returns whether the factory's transaction has ended without effect. */
export const hasFailed = ({ state }: Pick<TransactionRow, 'state'>): boolean =>
  state === 'reverted' || state === 'lost' || state === 'cancelled'

async function refuseOtherFactories(network: RemoteNetwork, factory: Hex, admin: Hex): Promise<void> {
  const currentAdmin = await readAdmin(network, factory)
  if (currentAdmin !== admin) {
    throw new GdnError(
      'invalid_config',
      currentAdmin === null
        ? `${network.blockchain} has no gdn factory at ${factory}`
        : `the admin of the factory ${factory} is ${currentAdmin}, not ${admin}`,
      { hint: "Use the keystore of the factory's admin, or the address of another factory." },
    )
  }
  if ((await readFactoryVersion(network, factory)) === FACTORY_VERSION) return
  throw new GdnError('invalid_config', `another version of gdn deployed the factory ${factory}`, {
    hint: 'Use that version of gdn, or the address of another factory.',
  })
}

const readBalance = async (network: RemoteNetwork, address: Hex) =>
  parseQuantity(await network.request('eth_getBalance', [address, 'latest']))
