import { EVM_BLOCKCHAINS, type EvmBlockchain } from '../../api/blockchains.ts'
import { backoffMs } from '../../core/backoff.ts'
import { collectionInit } from '../chain/evm/collection-init.ts'
import { encodeDeployFactory, encodeMake } from '../chain/evm/factory.ts'
import { deployFactoryGasLimit, makeGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { AskSigning } from '../chain/evm/signers.ts'
import { failCollection } from '../state/collections.ts'
import {
  type CollectionRow,
  claimUndeployedCollections,
  lockCollection,
  nextCollectionDue,
  postponeCollection,
  updateCollection,
} from '../store/collections.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'
import { findFactoryTransaction } from '../store/transactions.ts'
import { claimMoment, leaseMs, withLeases } from './leases.ts'
import type { Turn } from './loop.ts'
import { type OnSigned, signAndStore } from './sign.ts'
import { freeSigners, takeLane } from './signed-ahead.ts'

const LEASE_MS = 30_000
const FACTORY_WAIT_MS = 25
const LANE_WAIT_MS = 100

export interface DeployStepOptions {
  store: Store
  signing: AskSigning
  now: () => number
  onSigned: OnSigned
  /** Blockchains that this process works on; by default all. */
  serves?: (blockchain: EvmBlockchain) => boolean
}

/** Signs the transactions that make collections, and before a chain's first one the transaction of its factory. */
export function createDeployStep({ store, signing, now, onSigned, serves = () => true }: DeployStepOptions): Turn {
  /**
   * True once the chain's factory is deployed and no reorg can undo it. After one, the network could take a collection
   * before the factory: the call has no effect, and its nonce is used up.
   */
  const factoryReady = async (blockchain: EvmBlockchain): Promise<boolean> => {
    const known = await findFactoryTransaction(store.db, blockchain)
    if (known !== null) return known.state === 'final' && known.watched === 0
    const { chainId, signers, fees } = await signing(blockchain)
    const { admin } = signers
    // Set up by whoever has the admin's key, before any collection was accepted.
    if (admin === null) return true
    const signed = await store.transaction(async (db) => {
      await lockUntilCommit(db, `factory ${blockchain}`)
      if ((await findFactoryTransaction(db, blockchain)) !== null) return null
      const operators = signers.operators.map(({ address }) => address)
      const draft = {
        ...{ blockchain, chainId, fees },
        kind: 'factory',
        to: null,
        data: encodeDeployFactory(operators),
        gas: deployFactoryGasLimit(operators),
      } as const
      return await signAndStore(db, admin, draft, now())
    })
    if (signed !== null) onSigned(blockchain, signed, [])
    return false
  }

  /** Why the chain's factory can never be deployed, or null. */
  const factoryFault = async (blockchain: EvmBlockchain): Promise<string | null> => {
    const { state, hash } = (await findFactoryTransaction(store.db, blockchain)) ?? {}
    if (state === 'reverted')
      return `the factory of ${blockchain} could not be deployed: its transaction ${hash} reverted`
    if (state !== 'lost') return null
    return `the factory of ${blockchain} could not be deployed: the admin's key was used for another transaction first`
  }

  const fail = (collection: CollectionRow, reason: string) =>
    store.transaction(async (db) => {
      if (!(await isStillOurs(db, collection))) return
      await failCollection(db, collection.id, reason)
    })

  const make = async (collection: CollectionRow): Promise<void> => {
    const blockchain = collection.blockchain as EvmBlockchain
    const { attempts } = collection
    const fault = await factoryFault(blockchain)
    if (fault !== null) return fail(collection, fault)
    if (!(await factoryReady(blockchain))) {
      return postponeCollection(store.db, collection, { attempts, nextAttemptAt: now() + FACTORY_WAIT_MS })
    }
    const { chainId, signers, fees } = await signing(blockchain)
    const [operator, ...others] = await freeSigners(store.db, blockchain, signers.operators)
    if (operator === undefined) {
      return postponeCollection(store.db, collection, { attempts, nextAttemptAt: now() + LANE_WAIT_MS })
    }
    const init = collectionInit(collection)
    const signed = await store.transaction(async (db) => {
      if (!(await isStillOurs(db, collection))) return null
      const transaction = await signAndStore(
        db,
        await takeLane(db, blockchain, [operator, ...others]),
        {
          ...{ blockchain, chainId, fees },
          kind: 'collection',
          to: collection.factory_address as Hex,
          data: encodeMake(init),
          gas: makeGasLimit(init),
          collectionId: collection.id,
        },
        now(),
      )
      await updateCollection(db, collection.id, { transaction_id: transaction.id, lease_until: 0 })
      return transaction
    })
    if (signed !== null) onSigned(blockchain, signed, [collection.request_id])
  }

  return async () => {
    const blockchains = EVM_BLOCKCHAINS.filter(serves)
    const options = { now: claimMoment(store, now), leaseMs: leaseMs(store, LEASE_MS), limit: 50 }
    const claimed = await claimUndeployedCollections(store.db, options, blockchains)
    let failure: unknown
    for (const collection of claimed) {
      const { attempts } = collection
      if (!serves(collection.blockchain as EvmBlockchain)) {
        // It is no longer this process's, which may be about to end: others have it at once.
        await postponeCollection(store.db, collection, { attempts, nextAttemptAt: now() })
        continue
      }
      await withLeases(store, 'collections', [collection], () => make(collection)).catch(async (error) => {
        const attempts = collection.attempts + 1
        await postponeCollection(store.db, collection, { attempts, nextAttemptAt: now() + backoffMs(attempts) })
        failure ??= error
      })
    }
    if (failure !== undefined) throw failure
    const due = await nextCollectionDue(store.db, blockchains)
    return due === null ? null : Math.max(0, due - now())
  }
}

/** Whether the claim still holds: whoever has lost it writes nothing. */
async function isStillOurs(db: Db, { id, generation }: CollectionRow): Promise<boolean> {
  const current = await lockCollection(db, id)
  return current?.generation === generation && current.transaction_id === null
}
