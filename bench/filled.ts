import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { newId } from '../src/core/ids.ts'
import { findCollectionById } from '../src/server/store/collections.ts'
import { openStore, type Store } from '../src/server/store/open-store.ts'
import { insertCollection, insertNfts } from '../test/helpers/rows.ts'
import { type Backend, type Collection, createCollection, serve, WALLET } from './backend.ts'

export const SMALL = 1000
export const LARGE = 1_000_000

const OTHER_ADDRESS = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const DIRECTORY = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'

export interface Filled {
  backend: Backend
  collection: Collection
  /** IDs of NFTs in the collection. */
  ids: string[]
}

/** A data directory with this many deployed NFTs, of which 1,000 are in the measured collection, spread among all. */
export async function fill(folder: string, total: number): Promise<Filled> {
  const first = await serve(folder)
  const collection = await createCollection(first)
  await first.end()
  const store = await openStore(join(folder, 'gdn.db'))
  try {
    const ids = await insertAll(store, collection.transaction_gdn_ids, total)
    const backend = await serve(folder)
    await untilIndexed(backend, total)
    return { collection, ids, backend }
  } finally {
    await store.close()
  }
}

/**
 * Resolves when the last title can be found. A backend indexes titles in the background. 1,000,000 titles written at
 * once take 40 s, during which requests take 10 ms longer.
 */
export async function untilIndexed({ url }: Backend, total: number): Promise<void> {
  for (;;) {
    const answer = await request(`${url}/explorer/search?q=number%20${total - 1}`)
    const { hits } = (await answer.body.json()) as { hits: unknown[] }
    if (hits.length > 0) return
    await sleep(100)
  }
}

const ROWS = 10_000

async function insertAll(store: Store, collectionId: string, total: number): Promise<string[]> {
  const asked = await findCollectionById(store.db, collectionId)
  if (asked === null) throw new Error('the collection does not exist')
  const other = { ...asked, id: newId(), contract_address: OTHER_ADDRESS }
  await insertCollection(store.db, other)
  const every = total / SMALL
  const ids: string[] = []
  for (let at = 0; at < total; at += ROWS) {
    const rows = Array.from({ length: Math.min(ROWS, total - at) }, (_, index) => {
      const isAsked = (at + index) % every === 0
      return deployedNft(isAsked ? asked : other, at + index)
    })
    await store.transaction((db) => insertNfts(db, rows))
    ids.push(...rows.filter((row) => row.collection_id === collectionId).map((row) => row.id))
  }
  return ids
}

export function deployedNft({ id: collection_id, request_id }: { id: string; request_id: string }, index: number) {
  return {
    id: newId(),
    request_id,
    collection_id,
    receiver: WALLET,
    owner: WALLET,
    metadata: JSON.stringify({
      title: `Number ${index}`,
      description: 'One of many, created for a benchmark.',
      file_fields: [{ key: 'image', url: `ipfs://${DIRECTORY}` }],
    }),
    files: JSON.stringify({ image: DIRECTORY }),
    status: 'deployed' as const,
    step: 'done' as const,
    token_id: String(index + 1),
    metadata_url: `ipfs://${DIRECTORY}/${index % 200}.json`,
    next_attempt_at: 0,
  }
}

/** Returns this many random items. */
export function pick(ids: readonly string[], count: number): string[] {
  return Array.from({ length: count }, () => ids[Math.floor(Math.random() * ids.length)] ?? '')
}
