import { type Blockchain, isEvm, type SolanaBlockchain } from '../../api/blockchains.ts'
import { messageOf } from '../../core/errors.ts'
import type { CollectionRow } from '../store/collections.ts'
import { isBehind } from '../store/followers.ts'
import { openMintsOf } from '../store/unknown-mints.ts'
import { nothingAccepted, notNow } from './refusal.ts'
import type { ServiceDeps } from './services.ts'

const RETRY_SECONDS = 5

type Deps = Pick<ServiceDeps, 'store' | 'chains' | 'comparedGroups'>

/**
 * Rejects NFTs that may already be on chain: the database was restored or lost commits, and clients resend what was
 * accepted after the backup.
 */
export async function requireExplained(deps: Deps, collection: CollectionRow): Promise<void> {
  const { db } = deps.store
  const blockchain = collection.blockchain as Blockchain
  const open = await openMintsOf(db, collection.id)
  const tokens = open.reduce((sum, { token_count }) => sum + token_count, 0)
  if (open.some(({ state }) => state === 'unexplained')) {
    throw nothingAccepted(
      `the collection has ${tokens} tokens on ${blockchain} that this backend does not know, so nothing was accepted. The backend's operator can list them with gdn tx unknown, and release the collection with gdn tx release`,
    )
  }
  const isRead = isEvm(blockchain) ? !(await isBehind(db, blockchain)) : await isCompared(deps, collection, blockchain)
  if (open.length > 0 || !isRead) {
    throw notNow(`this backend is synchronizing with ${blockchain}; nothing was accepted, try again`, RETRY_SECONDS)
  }
}

/**
 * Whether this process has verified that the database has all members of a collection on a Solana cluster. Once is
 * enough, since members are compared again before each group of NFTs is signed.
 */
async function isCompared(
  { store, chains: { solana }, comparedGroups }: Deps,
  collection: CollectionRow,
  blockchain: SolanaBlockchain,
): Promise<boolean> {
  if (comparedGroups.has(collection.id) || !solana.clusters.has(blockchain)) return true
  const { checkGroup } = await import('../pipeline/solana/group-members.ts')
  const members = await checkGroup(store, solana.clusters.network(blockchain), collection).catch((error: unknown) => {
    throw notNow(`${blockchain} can't be read (${messageOf(error)}); nothing was accepted`, RETRY_SECONDS)
  })
  if (members === 'known') comparedGroups.add(collection.id)
  return members === 'known'
}
