import { unresolvedContents } from '../../operations/reconcile/unresolved.ts'
import { givenNfts } from '../../state/known-nfts.ts'
import type { StoredRun } from '../runs/stored-run.ts'

/** This machine's records of a collection, except those of one run. */
export interface Others {
  /** Contents of rows and commands with an unknown outcome. An NFT with the same content may belong to one of them. */
  unresolved: ReadonlySet<string>
  /** The given NFTs that are already assigned to rows or commands. */
  given: ReadonlySet<string>
}

export async function readOthers(store: StoredRun, ids: readonly string[]): Promise<Others> {
  const collection = { ...store.drop, backendId: store.drop.backend.id }
  return await store.read((sql) => ({
    unresolved: unresolvedContents(sql, collection, store.id),
    given: givenNfts(sql, ids),
  }))
}
