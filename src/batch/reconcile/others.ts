import { contentOf, sentMetadata } from '../../operations/reconcile/content.ts'
import { givenNfts } from '../../state/known-nfts.ts'
import { unresolvedBodies } from '../../state/row-requests.ts'
import type { RunStore } from '../run-store.ts'

/** What this machine knows of a collection apart from one run. */
export interface Others {
  /** Content of rows and commands with an unknown outcome. An NFT with the same content may be theirs. */
  unresolved: ReadonlySet<string>
  /** Of the given NFTs, those that were assigned meanwhile. */
  given: ReadonlySet<string>
}

export async function readOthers(store: RunStore, ids: readonly string[]): Promise<Others> {
  const { bodies, given } = await store.read((sql) => ({
    bodies: unresolvedBodies(sql, store.collections(sql), store.id),
    given: givenNfts(sql, ids),
  }))
  const unresolved = bodies.flatMap(({ body, position }) => {
    const metadata = sentMetadata(body)
    return (position === null ? metadata : metadata.slice(position, position + 1)).map(contentOf)
  })
  return { unresolved: new Set(unresolved), given }
}
