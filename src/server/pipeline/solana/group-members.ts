import type { SolanaNetwork } from '../../chain/solana/network.ts'
import { decodeMintAccount } from '../../chain/solana/read-mint.ts'
import type { CollectionRow } from '../../store/collections.ts'
import type { Store } from '../../store/open-store.ts'
import type { Db } from '../../store/schema.ts'
import { addUnknownMembers, knownMembers, listUnreleasedMints } from '../../store/unknown-mints.ts'

export interface GroupComparison {
  /** Number of group members on chain that are neither in a row nor covered by an operator's release. */
  unknown: number
  /**
   * Number of signed transactions that weren't final when the database was read. While there are any, `unknown` may be
   * too high.
   */
  pending: number
}

/**
 * Compares the members of a collection's group on chain with the database. The chain has more members if the database
 * was restored from a backup or lost commits.
 *
 * The order of the reads ensures that no unknown member is missed: a transaction that becomes final between them can
 * only raise `unknown`.
 */
export async function compareGroup(
  db: Db,
  network: SolanaNetwork,
  { id, contract_address }: Pick<CollectionRow, 'id' | 'contract_address'>,
): Promise<GroupComparison> {
  const { count, pending } = await knownMembers(db, id)
  // Read the height, so that later responses from nodes that lag behind this block are ignored.
  await network.blockHeight()
  const minted = pending.length === 0 ? [] : (await network.mintsExist(pending)).filter((exists) => exists)
  const group = await network.account(contract_address)
  const members = group === null ? 0 : (decodeMintAccount(group.data).members ?? 0)
  return { unknown: Math.max(0, members - count - minted.length), pending: pending.length }
}

/**
 * Checks whether the database has all members of a collection's group, so that more may be minted. `unknown`: the
 * database lacks members, and the number of missing members is stored for the recover step. `unclear`: transactions
 * that aren't final yet may explain the members.
 */
export async function checkGroup(
  store: Store,
  network: SolanaNetwork,
  collection: CollectionRow,
): Promise<'known' | 'unknown' | 'unclear'> {
  // An embedded chain is part of the database, so the database can't lack members.
  if (network.pollMs === undefined) return 'known'
  if ((await listUnreleasedMints(store.db, collection.id)).length > 0) return 'unknown'
  const { unknown, pending } = await compareGroup(store.db, network, collection)
  if (unknown === 0) return 'known'
  if (pending > 0) return 'unclear'
  await store.transaction((db) => addUnknownMembers(db, collection, unknown))
  return 'unknown'
}
