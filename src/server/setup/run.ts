import { getContractAddress } from 'viem'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { findSignerByAddress } from '../chain/evm/evm-signer.ts'
import { encodeDeployFactory, factoryAddress } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import { createChainStep } from '../pipeline/chain-step.ts'
import { commitSigned } from '../pipeline/evm/commit-signed.ts'
import { createEvmObserver } from '../pipeline/evm/driver.ts'
import { signAndStore } from '../pipeline/evm/sign-and-store.ts'
import { recordChain } from '../store/chains.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import type { Store } from '../store/open-store.ts'
import { deleteFactoryTransaction, findFactoryTransaction, raiseNonce, requireNonce } from '../store/transactions.ts'
import { hasWatchedTransactions } from '../store/watched.ts'
import { authorizeOperator } from './authorize-operator.ts'
import { findUnauthorizedOperator, wereOperatorsAuthorized } from './authorized-operators.ts'
import type { SetupOptions } from './options.ts'
import { hasFailed, notApprovedError, parseMaxGasPrice } from './plan.ts'
import { pollUntil, pricedOutMessage } from './poll-until.ts'

/**
 * Deploys the factory and authorizes the operators, skipping steps that are already done. Resolves with the factory's
 * address when all transactions are final. After an interruption, the next run resumes: the deployment is stored before
 * it is sent, and authorizations are found on chain or sent with the same nonce.
 */
export async function runSetup(options: SetupOptions): Promise<Hex> {
  const { store, network, admin, plan, now } = options
  const { blockchain, chainId } = network
  await raiseNonce(store.db, blockchain, admin.address, await network.publicNetwork.nextNonce(admin.address))
  const factory = plan.factory ?? (await deploy(options))
  const newestHead = createHeadReader(options)
  for (;;) {
    const { missing } = await waitForAuthorizations(options, factory, newestHead)
    if (missing === null) break
    await authorizeOperator(options, factory, missing, newestHead)
  }
  await recordChain(store.db, {
    blockchain,
    network: 'remote',
    chain_id: chainId,
    genesis_timestamp: 0,
    factory_address: factory,
    created_at: now(),
  })
  return factory
}

/**
 * Returns a function that reads the number of the newest block and rejects a lagging node. With the outdated state of
 * such a node, the setup would authorize an operator a second time and pay for gas again.
 */
function createHeadReader({ network }: SetupOptions): () => Promise<number> {
  let newest = 0
  return async () => {
    const head = await network.publicNetwork.head()
    if (head < newest) throw new GdnError('unreachable', 'a node lags behind the network')
    newest = head
    return head
  }
}

/**
 * Waits until all authorizations are final, including those of an earlier run, which may also be recent. `missing` is
 * null, or an operator that isn't authorized. If an operator isn't authorized, resolves immediately.
 */
async function waitForAuthorizations(
  options: SetupOptions,
  factory: Hex,
  newestHead: () => Promise<number>,
): Promise<{ missing: Hex | null }> {
  const { network, operators, reportBlocksLeft } = options
  let finalBlock: number | null = null
  const message = 'Waiting for finality of the authorizations'
  return await pollUntil(options, message, async () => {
    const head = await newestHead()
    const missing = await findUnauthorizedOperator(network, factory, operators, head)
    if (missing !== null) return { missing }
    const isOver = finalBlock !== null && head >= finalBlock
    if (finalBlock !== null && !isOver) return null
    finalBlock ??= head + network.publicNetwork.finality - 1
    // If no node has the old state, waiting for enough blocks is sufficient.
    const areAuthorized = (await wereOperatorsAuthorized(network, factory, operators, head)) ?? isOver
    if (!areAuthorized && finalBlock > head) reportBlocksLeft?.(message, finalBlock - head)
    return areAuthorized ? { missing: null } : null
  })
}

async function deploy(options: SetupOptions): Promise<Hex> {
  const { store, network, admin, operators, plan, now } = options
  const { blockchain, chainId } = network
  await commitSigned(store, async (db) => {
    await lockUntilCommit(db, `factory ${blockchain}`)
    const deployment = await findFactoryTransaction(db, blockchain)
    if (deployment !== null && !hasFailed(deployment)) return
    if (!plan.deploysFactory) throw notApprovedError('the deployment of the factory')
    // No row depends on the failed transaction, because collections are accepted only when the factory exists.
    if (deployment !== null) await deleteFactoryTransaction(db, deployment.id)
    const draft = {
      blockchain,
      chainId,
      fees: plan.fees,
      kind: 'factory',
      to: null,
      data: encodeDeployFactory(operators),
      gas: deployFactoryGasLimit(operators),
    } as const
    await signAndStore(db, admin, draft, now())
  })
  const { nonce } = await waitForDeployment(options)
  return getContractAddress({ from: admin.address, nonce: BigInt(nonce) })
}

/**
 * Waits until the factory's deployment is final. Runs the pipeline step that sends, watches and replaces transactions.
 */
async function waitForDeployment(options: SetupOptions): Promise<{ nonce: number }> {
  const { store, network, admin, plan, now, log, report, reportBlocksLeft } = options
  const { blockchain } = network
  const message = 'Waiting for finality of the factory deployment'
  const findSigner = async (_: string, address: string) => findSignerByAddress({ admin, operators: [] }, address)
  // The user approved this price for a replacement. If the plan has no replacement, fees must not be raised.
  const maxFee = plan.replacesDeployment ? plan.fees.maxFeePerGas : 0n
  const driver = createEvmObserver({ store, blockchain, network: async () => network, findSigner, now, log, maxFee })
  let isPricedOut = false
  const turn = createChainStep({ store, driver, now, log, onSettled: () => {} })
  return await pollUntil(options, message, async () => {
    await turn()
    const deployment = await findFactoryTransaction(store.db, blockchain)
    if (deployment === null) throw new Error("the factory's transaction is missing from the database")
    if (deployment.state === 'final' && !(await hasWatchedTransactions(store.db, blockchain)))
      return { nonce: requireNonce(deployment) }
    if (!hasFailed(deployment)) {
      const { block_number: block } = deployment
      const blocksLeft =
        block === null ? 0 : block + network.publicNetwork.finality - 1 - (await network.publicNetwork.head())
      if (blocksLeft > 0) reportBlocksLeft?.(message, blocksLeft)
      const wasPricedOut = isPricedOut
      isPricedOut =
        block === null && parseMaxGasPrice(deployment) < ((await network.publicNetwork.suggestFees()).baseFee ?? 0n)
      if (isPricedOut !== wasPricedOut) report(isPricedOut ? pricedOutMessage(parseMaxGasPrice(deployment)) : message)
      return null
    }
    throw new GdnError(
      'refused',
      deployment.state === 'lost'
        ? `the admin's key was used for another transaction instead of ${deployment.hash}`
        : `the transaction ${deployment.hash} of the factory failed`,
      { hint: 'Run the same command again to deploy the factory.' },
    )
  })
}

/**
 * Returns the gas and the cost in wei of the transaction that deployed a factory, according to its receipt; null if
 * this database doesn't have the transaction.
 */
export async function deploymentCost(
  { db }: Store,
  blockchain: EvmBlockchain,
  factory: Hex,
): Promise<{ gas: bigint; paid: bigint } | null> {
  const deployment = await findFactoryTransaction(db, blockchain)
  if (deployment === null || deployment.gas_used === null || deployment.fee_paid === null) return null
  if (factoryAddress(deployment.signer as Hex, requireNonce(deployment)) !== factory) return null
  return { gas: BigInt(deployment.gas_used), paid: BigInt(deployment.fee_paid) }
}
