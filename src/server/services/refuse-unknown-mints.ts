import { count } from '../../core/count.ts'
import { messageOf } from '../../core/errors.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { CollectionRow } from '../store/collections.ts'
import { isBehind } from '../store/followers.ts'
import { listUnreleasedMints } from '../store/unknown-mints.ts'
import { nothingAcceptedError, temporarilyUnavailableError } from './refusals.ts'
import type { ServiceDeps } from './services.ts'

const RETRY_SECONDS = 5

/**
 * Rejects NFTs that may already be on chain. If the database was restored from a backup or lost commits, clients may
 * repeat requests that the database no longer has.
 */
export async function refuseUnknownMints(
  { store, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  collection: CollectionRow,
): Promise<void> {
  const { db } = store
  const { blockchain } = collection
  const openMints = await listUnreleasedMints(db, collection.id)
  const tokens = openMints.reduce((sum, { token_count }) => sum + token_count, 0)
  if (openMints.some(({ state }) => state === 'unexplained')) {
    throw nothingAcceptedError(
      `the collection has ${count(tokens, 'token')} on ${blockchain} that this backend has no record of, so nothing was accepted. The backend's operator can list them with gdn tx unknown, and release the collection with gdn tx release`,
    )
  }
  const { hasAllTokens } = chainFacts(chains, blockchain)
  const isRead =
    hasAllTokens === undefined
      ? !(await isBehind(db, blockchain))
      : await hasAllTokens(store, collection).catch((error: unknown) => {
          throw temporarilyUnavailableError(
            `${blockchain} can't be read (${messageOf(error)}); nothing was accepted`,
            RETRY_SECONDS,
          )
        })
  if (openMints.length > 0 || !isRead) {
    throw temporarilyUnavailableError(
      `this backend is synchronizing with ${blockchain}, so nothing was accepted: try again`,
      RETRY_SECONDS,
    )
  }
}
