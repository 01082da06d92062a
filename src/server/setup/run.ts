import { getContractAddress } from 'viem'
import { GdnError } from '../../core/errors.ts'
import { encodeDeployFactory } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import { signerAt } from '../chain/evm/signers.ts'
import { createChainStep } from '../pipeline/chain-step.ts'
import { createEvmObserver } from '../pipeline/evm/driver.ts'
import { signAndStore } from '../pipeline/evm/sign.ts'
import { rememberChain } from '../store/chains.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import { findFactoryTransaction, forgetFactoryTransaction, nonceOf, raiseNonce } from '../store/transactions.ts'
import { hasWatched } from '../store/watched.ts'
import { appoint } from './appoint.ts'
import { findMissing, wereAppointed } from './appointed.ts'
import type { SetupOptions } from './options.ts'
import { hasEnded } from './plan.ts'
import { until } from './until.ts'

/**
 * Deploys the factory and appoints the operators, as far as that isn't done yet; resolves with the factory's address once
 * nothing of it can be undone. Interrupted at any point, it goes on where it was: what is sent stands in the database
 * before, and is the same the next time.
 */
export async function runSetup(options: SetupOptions): Promise<Hex> {
  const { store, network, admin, plan, now } = options
  const { blockchain, chainId } = network
  await raiseNonce(store.db, blockchain, admin.address, await network.publicNetwork.nextNonce(admin.address))
  const factory = plan.factory ?? (await deploy(options))
  const newestHead = createNewestHead(options)
  for (;;) {
    const { missing } = await untilAppointmentsFinal(options, factory, newestHead)
    if (missing === null) break
    await appoint(options, factory, missing, newestHead)
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

/** What a node that is behind says of the newest state has been true before: an appointment would be paid for twice. */
function createNewestHead({ network }: SetupOptions): () => Promise<number> {
  let newest = 0
  return async () => {
    const head = await network.publicNetwork.head()
    if (head < newest) throw new GdnError('unreachable', 'a node is behind')
    newest = head
    return head
  }
}

/**
 * Resolves when no appointment can be undone any more or, earlier, when one is missing: with who is. That of an earlier
 * run may be as new as one of this.
 */
async function untilAppointmentsFinal(
  options: SetupOptions,
  factory: Hex,
  newestHead: () => Promise<number>,
): Promise<{ missing: Hex | null }> {
  const { network, operators } = options
  let final: number | null = null
  return await until(options, 'Waiting until no appointment can be undone', async () => {
    const head = await newestHead()
    const missing = await findMissing(network, factory, operators, head)
    if (missing !== null) return { missing }
    const isOver = final !== null && head >= final
    if (final !== null && !isOver) return null
    final ??= head + network.publicNetwork.finality - 1
    // Where nobody says how it was then, the blocks that came meanwhile are enough.
    const wereKnown = (await wereAppointed(network, factory, operators, head)) ?? isOver
    return wereKnown ? { missing: null } : null
  })
}

async function deploy(options: SetupOptions): Promise<Hex> {
  const { store, network, admin, operators, plan, now } = options
  const { blockchain, chainId } = network
  await store.transaction(async (db) => {
    await lockUntilCommit(db, `factory ${blockchain}`)
    const known = await findFactoryTransaction(db, blockchain)
    if (known !== null && !hasEnded(known)) return
    // Nothing depends on it: collections are accepted only once the factory is there.
    if (known !== null) await forgetFactoryTransaction(db, known.id)
    const draft = {
      ...{ blockchain, chainId, fees: plan.fees },
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

/** The step of the pipeline that sends, watches and raises fees, for this one transaction. */
async function untilFinal(options: SetupOptions): Promise<{ nonce: number }> {
  const { store, network, admin, now, log } = options
  const { blockchain } = network
  const findSigner = async (_: string, address: string) => signerAt({ admin, operators: [] }, address)
  const driver = createEvmObserver({ store, blockchain, network: async () => network, findSigner, now, log })
  const turn = createChainStep({ store, driver, now, log, onSettled: () => {} })
  return await until(options, 'Waiting until the factory is deployed and can’t be undone', async () => {
    await turn()
    const found = await findFactoryTransaction(store.db, blockchain)
    if (found === null) throw new Error('the transaction of the factory is gone from the database')
    if (found.state === 'final' && !(await hasWatched(store.db, blockchain))) return { nonce: nonceOf(found) }
    if (!hasEnded(found)) return null
    throw new GdnError(
      'refused',
      found.state === 'lost'
        ? `the admin's key was used for another transaction meanwhile, in place of ${found.hash}`
        : `the transaction ${found.hash} of the factory failed`,
      { hint: 'the same command again deploys it anew' },
    )
  })
}
