import { encodeAbiParameters, getContractAddress, isAddress, isHex, parseTransaction } from 'viem'
import { GdnError } from '../../../core/errors.ts'
import { compilerVersion, deployedCode, standardInput } from '../../chain/evm/contracts/generated/verification.ts'
import { factoryAddress, implementationAddress, operatorsOfDeployment } from '../../chain/evm/factory.ts'
import { type Hex, parseQuantity } from '../../chain/evm/network.ts'
import { networkNotSetUpError, readDeploymentState } from '../../chain/evm/remote/remote-chains.ts'
import type { RemoteNetwork } from '../../chain/evm/remote/remote-network.ts'
import { findChain } from '../../store/chains.ts'
import type { Store } from '../../store/open-store.ts'
import { findFactoryTransaction, requireNonce } from '../../store/transactions.ts'

export { compilerVersion, standardInput }

/** A contract on chain, with the values that a verification service needs in addition to the sources. */
export interface DeployedContract {
  name: 'GdnFactory' | 'GdnCollection'
  /** File and name of the contract in the sources. */
  identifier: string
  address: Hex
  /** The ABI-encoded constructor arguments. Null if the transaction that deployed the factory is unknown. */
  constructorArguments: Hex | null
  /**
   * Hash of the transaction that deployed the contract; null if unknown. The factory's constructor deploys the
   * implementation.
   */
  creationTransaction: Hex | null
}

/**
 * Returns the factory of a network and the implementation that all collections clone. Collections are minimal proxies
 * (EIP-1167), which block explorers resolve.
 *
 * @param target.setup the command that sets up this network, for the error message
 * @param transaction hash of the transaction that deployed the factory. Default: the transaction in this database.
 */
export async function deployedContracts(
  target: { store: Store; network: Pick<RemoteNetwork, 'blockchain' | 'request' | 'publicNetwork'>; setup?: string },
  transaction?: Hex,
): Promise<DeployedContract[]> {
  const { store, network, setup } = target
  const chain = await findChain(store.db, network.blockchain)
  if (chain === null) {
    const state = await readDeploymentState(store.db, network, await network.publicNetwork.head())
    throw networkNotSetUpError(network.blockchain, state, setup)
  }
  const factory = chain.factory_address as Hex
  const deployment = await findFactoryTransaction(store.db, network.blockchain)
  const ownDeployment =
    deployment !== null && factoryAddress(deployment.signer as Hex, requireNonce(deployment)) === factory
      ? deployment
      : null
  const creation =
    transaction !== undefined
      ? { hash: transaction, ...(await readDeployment(network, transaction, factory)) }
      : ownDeployment === null
        ? null
        : { hash: ownDeployment.hash as Hex, data: parseTransaction(ownDeployment.raw as Hex).data ?? '0x' }
  const operators = creation === null ? null : operatorsOfDeployment(creation.data)
  const creationTransaction = creation?.hash ?? null
  const constructorArguments = operators === null ? null : encodeAbiParameters([{ type: 'address[]' }], [operators])
  const implementation = implementationAddress(factory)
  return [
    { ...contractIdentifier('GdnFactory'), address: factory, constructorArguments, creationTransaction },
    {
      ...contractIdentifier('GdnCollection'),
      address: implementation,
      constructorArguments: '0x',
      creationTransaction,
    },
  ]
}

const contractIdentifier = (name: DeployedContract['name']) => ({ name, identifier: `${name}.sol:${name}` })

async function readDeployment(
  network: Pick<RemoteNetwork, 'request'>,
  hash: Hex,
  factory: Hex,
): Promise<{ data: Hex }> {
  const transaction = await network.request<{ from: Hex; nonce: Hex; input: Hex } | null>('eth_getTransactionByHash', [
    hash,
  ])
  if (transaction !== null && !(isAddress(transaction.from) && isHex(transaction.input))) {
    throw new GdnError('unreachable', `a node returned an invalid transaction for ${hash}`, {
      hint: 'Try again, or configure another RPC URL.',
    })
  }
  const contractAddress =
    transaction === null
      ? null
      : getContractAddress({ from: transaction.from, nonce: parseQuantity(transaction.nonce) })
  if (transaction !== null && contractAddress === factory) return { data: transaction.input }
  throw new GdnError(
    'usage',
    transaction === null ? 'is not on this network' : `did not deploy the factory ${factory}`,
    {
      place: { flag: '--creation-tx' },
      hint: 'Look up the transaction that created this address in a block explorer.',
    },
  )
}

/**
 * Checks that a contract on chain was compiled from these sources.
 *
 * @throws GdnError `verify_failed`
 */
export async function checkCode(
  network: Pick<RemoteNetwork, 'request'>,
  { name, address }: DeployedContract,
): Promise<void> {
  const code = await network.request<Hex>('eth_getCode', [address, 'latest'])
  const expected = deployedCode[name]
  if (withoutImmutables(code, expected.immutables) === expected.code) return
  const problem = code === '0x' ? 'there is no contract' : 'the contract was compiled from different source code'
  throw new GdnError('verify_failed', `${problem} at ${address}, where ${name} is expected`, {
    hint: 'Use the version of gdn that deployed the contract.',
  })
}

/** Returns the code with zeros in place of the immutable values that the constructor writes. */
function withoutImmutables(code: string, places: readonly (readonly [start: number, length: number])[]): string {
  let digits = code.toLowerCase().slice(2)
  for (const [start, length] of places) {
    digits = `${digits.slice(0, 2 * start)}${'0'.repeat(2 * length)}${digits.slice(2 * (start + length))}`
  }
  return `0x${digits}`
}
