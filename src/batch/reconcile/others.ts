import { contentOf, sentMetadata } from '../../operations/reconcile/content.ts'
import { contestedBodies } from '../../state/row-requests.ts'
import type { RunStore } from '../run-store.ts'

/** What this machine knows of a collection beside one run. */
export interface Others {
  /** What rows and commands say whose outcome isn't known: an NFT that says the same may be theirs. */
  contested: ReadonlySet<string>
  /** Of the NFTs that were asked about, those that something was given meanwhile. */
  given: ReadonlySet<string>
}

export async function readOthers(store: RunStore, ids: readonly string[]): Promise<Others> {
  const { bodies, given } = await store.read((sql) => ({
    bodies: contestedBodies(sql, store.collections(sql), store.id),
    given: sql.all<{ id: string }>(
      'SELECT value AS id FROM json_each(?) WHERE EXISTS (SELECT 1 FROM nfts WHERE nft_gdn_id = value)',
      JSON.stringify(ids),
    ),
  }))
  const contested = bodies.flatMap(({ body, position }) => {
    const metadata = sentMetadata(body)
    return (position === null ? metadata : metadata.slice(position, position + 1)).map(contentOf)
  })
  return { contested: new Set(contested), given: new Set(given.map(({ id }) => id)) }
}
