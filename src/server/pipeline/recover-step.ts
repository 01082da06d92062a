import type { Log } from '../log.ts'
import { lockCollection, updateCollection } from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import { listFoundMints, removeUnknownMint, type UnknownMintRow, updateUnknownMint } from '../store/unknown-mints.ts'
import type { ChainDriver, MintRecovery } from './driver.ts'
import type { Turn } from './loop.ts'

export interface RecoverStepOptions {
  store: Store
  driver: Pick<ChainDriver, 'blockchain' | 'recoverMint'>
  log: Log
  /** Called when mints of the collection may be signed again. */
  onMintable: (collectionId: string) => void
}

/**
 * Creates a turn that examines tokens on chain that the database doesn't have. Such tokens were minted after a restored
 * backup was made, or a failover lost their commits. If the tokens match pending rows, they are assigned to the rows.
 * Otherwise, mints of the collection are blocked until an operator releases the collection, because clients may repeat
 * the requests for these tokens.
 */
export function createRecoverStep({ store, driver, log, onMintable }: RecoverStepOptions): Turn {
  const { blockchain } = driver

  const blockMints = async (row: UnknownMintRow, recovery: Exclude<MintRecovery, string>): Promise<void> => {
    const { collection_id, hash, start_id } = row
    const { unexplained: reason, tokens: token_count = row.token_count, nextTokenId } = recovery
    await store.transaction(async (db) => {
      const current = await lockCollection(db, collection_id)
      if (current === null) return
      await updateUnknownMint(db, row, { state: 'unexplained', token_count, reason })
      if (nextTokenId === undefined || nextTokenId <= BigInt(current.next_token_id)) return
      await updateCollection(db, collection_id, { next_token_id: String(nextTokenId) })
    })
    log.error(
      { blockchain, collection: collection_id, hash, start_id, token_count, reason },
      'a collection has tokens that this backend has no record of: its mints are blocked until an operator releases the collection',
    )
  }

  return async () => {
    let failure: unknown
    let hasProgress = false
    /**
     * Collections in which an unknown mint can't be examined yet. Their later unknown mints wait too, because mints
     * contain NFTs in the order of acceptance.
     */
    const waiting = new Set<string>()
    for (const row of await listFoundMints(store.db, blockchain)) {
      if (waiting.has(row.collection_id)) continue
      try {
        const recovery = await driver.recoverMint(row)
        if (recovery === 'wait') {
          waiting.add(row.collection_id)
          continue
        }
        if (recovery === 'recovered') await removeUnknownMint(store.db, row)
        else await blockMints(row, recovery)
        hasProgress = true
        onMintable(row.collection_id)
      } catch (error) {
        failure ??= error
        waiting.add(row.collection_id)
      }
    }
    if (failure !== undefined) throw failure
    return hasProgress ? 0 : null
  }
}
