import { getContractAddress } from 'viem'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { signerAt } from '../chain/evm/evm-signer.ts'
import { encodeDeployFactory, factoryAddress } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import { createChainStep } from '../pipeline/chain-step.ts'
import { commitSigned } from '../pipeline/evm/commit-signed.ts'
import { createEvmObserver } from '../pipeline/evm/driver.ts'
import { signAndStore } from '../pipeline/evm/sign-and-store.ts'
import { rememberChain } from '../store/chains.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import type { Store } from '../store/open-store.ts'
import { findFactoryTransaction, forgetFactoryTransaction, nonceOf, raiseNonce } from '../store/transactions.ts'
import { hasWatched } from '../store/watched.ts'
import { authorizeOperator } from './authorize-operator.ts'
import { findMissing, wereAuthorized } from './authorized-operators.ts'
import type { SetupOptions } from './options.ts'
import { hasEnded, notApprovedError, offerOf } from './plan.ts'
import { pollUntil, pricedOut } from './poll-until.ts'

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
  const newestHead = createNewestHead(options)
  for (;;) {
    const { missing } = await untilAuthorizationsFinal(options, factory, newestHead)
    if (missing === null) break
    await authorizeOperator(options, factory, missing, newestHead)
  }
  await rememberChain(store.db, {
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
function createNewestHead({ network }: SetupOptions): () => Promise<number> {
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
async function untilAuthorizationsFinal(
  options: SetupOptions,
  factory: Hex,
  newestHead: () => Promise<number>,
): Promise<{ missing: Hex | null }> {
  const { network, operators, sayLeft } = options
  let final: number | null = null
  const message = 'Waiting for finality of the authorizations'
  return await pollUntil(options, message, async () => {
    const head = await newestHead()
    const missing = await findMissing(network, factory, operators, head)
    if (missing !== null) return { missing }
    const isOver = final !== null && head >= final
    if (final !== null && !isOver) return null
    final ??= head + network.publicNetwork.finality - 1
    // If no node has the old state, waiting for enough blocks is sufficient.
    const areAuthorized = (await wereAuthorized(network, factory, operators, head)) ?? isOver
    if (!areAuthorized && final > head) sayLeft?.(message, final - head)
    return areAuthorized ? { missing: null } : null
  })
}

async function deploy(options: SetupOptions): Promise<Hex> {
  const { store, network, admin, operators, plan, now } = options
  const { blockchain, chainId } = network
  await commitSigned(store, async (db) => {
    await lockUntilCommit(db, `factory ${blockchain}`)
    const deployment = await findFactoryTransaction(db, blockchain)
    if (deployment !== null && !hasEnded(deployment)) return
    if (!plan.deploys) throw notApprovedError('the deployment of the factory')
    // No row depends on the failed transaction, because collections are accepted only when the factory exists.
    if (deployment !== null) await forgetFactoryTransaction(db, deployment.id)
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
  const { nonce } = await untilFinal(options)
  return getContractAddress({ from: admin.address, nonce: BigInt(nonce) })
}

/**
 * Waits until the factory's deployment is final. Runs the pipeline step that sends, watches and replaces transactions.
 */
async function untilFinal(options: SetupOptions): Promise<{ nonce: number }> {
  const { store, network, admin, plan, now, log, say, sayLeft } = options
  const { blockchain } = network
  const message = 'Waiting for finality of the factory deployment'
  const findSigner = async (_: string, address: string) => signerAt({ admin, operators: [] }, address)
  // The user approved this price for a replacement. If the plan has no replacement, fees must not be raised.
  const maxFee = plan.raises ? plan.fees.maxFeePerGas : 0n
  const driver = createEvmObserver({ store, blockchain, network: async () => network, findSigner, now, log, maxFee })
  let isPricedOut = false
  const turn = createChainStep({ store, driver, now, log, onSettled: () => {} })
  return await pollUntil(options, message, async () => {
    await turn()
    const deployment = await findFactoryTransaction(store.db, blockchain)
    if (deployment === null) throw new Error("the factory's transaction is missing from the database")
    if (deployment.state === 'final' && !(await hasWatched(store.db, blockchain))) return { nonce: nonceOf(deployment) }
    if (!hasEnded(deployment)) {
      const { block_number: block } = deployment
      const blocksLeft =
        block === null ? 0 : block + network.publicNetwork.finality - 1 - (await network.publicNetwork.head())
      if (blocksLeft > 0) sayLeft?.(message, blocksLeft)
      const wasPricedOut = isPricedOut
      isPricedOut = block === null && offerOf(deployment) < ((await network.publicNetwork.suggestFees()).baseFee ?? 0n)
      if (isPricedOut !== wasPricedOut) say(isPricedOut ? pricedOut(offerOf(deployment)) : message)
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
  if (factoryAddress(deployment.signer as Hex, nonceOf(deployment)) !== factory) return null
  return { gas: BigInt(deployment.gas_used), paid: BigInt(deployment.fee_paid) }
}
