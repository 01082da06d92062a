import { getContractAddress } from 'viem'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { sleep } from '../../core/time.ts'
import type { Chains } from '../chain/chains.ts'
import { encodeDeployFactory } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import { isOperator } from '../chain/evm/registry.ts'
import { signerAt } from '../chain/signers.ts'
import { createChainStep } from '../pipeline/chain-step.ts'
import { signAndStore } from '../pipeline/sign.ts'
import { rememberChain } from '../store/chains.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import { alignLane, findFactoryTransaction, forgetFactoryTransaction } from '../store/transactions.ts'
import { hasWatched } from '../store/watched.ts'
import { appoint } from './appoint.ts'
import type { SetupOptions } from './options.ts'

/**
 * Deploys the factory and appoints the operators, as far as that isn't done yet; resolves with the factory's address once
 * nothing of it can be undone. Interrupted at any point, it goes on where it was: what is sent stands in the database
 * before, and is the same the next time.
 */
export async function runSetup(options: SetupOptions): Promise<Hex> {
  const { store, network, admin, plan, now } = options
  const { blockchain, chainId } = network
  await alignLane(store.db, blockchain, admin.address, await network.shared.nextNonce(admin.address))
  const factory = plan.factory ?? (await deploy(options))
  for (let missing = plan.toAppoint; missing.length > 0; missing = await untilNoneIsUndone(options, factory)) {
    for (const operator of missing) await appoint(options, factory, operator)
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
 * Resolves when no appointment can be undone any more or, earlier, when one was: with those that the factory doesn't know.
 */
async function untilNoneIsUndone(options: SetupOptions, factory: Hex): Promise<readonly Hex[]> {
  const { network, plan, signal, say } = options
  const { shared } = network
  const final = (await shared.head()) + shared.finality - 1
  say('Waiting until no appointment can be undone')
  for (;;) {
    const head = await shared.head()
    const known = await Promise.all(plan.toAppoint.map((operator) => isOperator(network, factory, operator)))
    const missing = plan.toAppoint.filter((_, index) => !known[index])
    if (missing.length > 0 || head >= final) return missing
    await sleep(shared.pollMs, signal)
  }
}

/** It came to nothing. */
const ENDED: ReadonlySet<string> = new Set(['reverted', 'lost', 'cancelled'])

async function deploy(options: SetupOptions): Promise<Hex> {
  const { store, network, admin, operators, plan, now, say } = options
  const { blockchain, chainId } = network
  await store.transaction(async (db) => {
    await lockUntilCommit(db, `factory ${blockchain}`)
    const known = await findFactoryTransaction(db, blockchain)
    if (known !== null && !ENDED.has(known.state)) return
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
  say('Waiting until the factory is deployed and can’t be undone')
  const { nonce } = await untilFinal(options)
  return getContractAddress({ from: admin.address, nonce: BigInt(nonce) })
}

/** The step of the pipeline that sends, watches and raises fees, for this one transaction. */
async function untilFinal({ store, network, admin, now, log, signal }: SetupOptions): Promise<{ nonce: number }> {
  const { blockchain, shared } = network
  const chains: Pick<Chains, 'network'> = { network: async (_: EvmBlockchain) => network }
  const findSigner = (_: EvmBlockchain, address: string) => signerAt({ admin, operators: [] }, address)
  const turn = createChainStep({ ...{ store, chains, findSigner, blockchain, now, log }, onSettled: () => {} })
  for (;;) {
    signal.throwIfAborted()
    const wait = await turn()
    const found = await findFactoryTransaction(store.db, blockchain)
    if (found === null) throw new Error('the transaction of the factory is gone from the database')
    if (found.state === 'final' && !(await hasWatched(store.db, blockchain))) return found
    if (ENDED.has(found.state)) {
      throw new GdnError(
        'refused',
        found.state === 'lost'
          ? `the admin's key was used for another transaction meanwhile, in place of ${found.hash}`
          : `the transaction ${found.hash} of the factory failed`,
        { hint: 'the same command again deploys it anew' },
      )
    }
    await sleep(wait === null || wait === 0 ? shared.pollMs : wait, signal)
  }
}
