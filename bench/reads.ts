import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../src/core/ids.ts'
import { findCollectionById, insertCollection } from '../src/server/store/collections.ts'
import { insertNfts } from '../src/server/store/nfts.ts'
import { openStore, type Store } from '../src/server/store/open-store.ts'
import { type Backend, type Collection, createCollection, serve, WALLET, withFolder } from './backend.ts'
import type { Figure } from './figures.ts'

const SMALL = 1000
const LARGE = 1_000_000
const RUNS = 200
const OTHER_ADDRESS = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const DIRECTORY = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'

interface Filled {
  backend: Backend
  collection: Collection
  ids: string[]
}

/** Reading from a full backend against the same from one that holds only what is asked for. */
export function measure(): Promise<Figure[]> {
  return withFolder((large) =>
    withFolder(async (small) => {
      const [full, nearlyEmpty] = [await fill(large, LARGE), await fill(small, SMALL)]
      try {
        return [
          await compare('getnfts of 100 ids', full, nearlyEmpty, (filled) =>
            filled.backend.post('/api/v1/getnfts', { nft_gdn_ids: pick(filled.ids, 100) }),
          ),
          await compare('getnftgdnids of a collection of 1,000', full, nearlyEmpty, ({ backend, collection }) =>
            backend.post('/api/v1/getnftgdnids', {
              contract_addresses: collection.contract_address,
              blockchain: collection.blockchain,
            }),
          ),
        ]
      } finally {
        await full.backend.end()
        await nearlyEmpty.backend.end()
      }
    }),
  )
}

async function compare(
  what: string,
  full: Filled,
  nearlyEmpty: Filled,
  ask: (filled: Filled) => Promise<unknown>,
): Promise<Figure> {
  const timed = async (filled: Filled) => {
    const since = performance.now()
    await ask(filled)
    return performance.now() - since
  }
  for (let run = 0; run < RUNS / 2; run++) await Promise.all([ask(full), ask(nearlyEmpty)])
  const samples: number[] = []
  const against: number[] = []
  for (let run = 0; run < RUNS; run++) {
    samples.push(await timed(full))
    against.push(await timed(nearlyEmpty))
    await sleep(1)
  }
  const pair = { what: `with ${SMALL.toLocaleString('en-US')} stored`, samples: against }
  return { what: `${what}, ${LARGE.toLocaleString('en-US')} stored`, unit: 'ms', samples, against: pair, budget }
}

const budget = { atMost: 2 }

function pick(ids: readonly string[], count: number): string[] {
  return Array.from({ length: count }, () => ids[Math.floor(Math.random() * ids.length)] ?? '')
}

/** A data dir with so many deployed NFTs, 1,000 of them in the collection that is asked about, spread among all. */
async function fill(folder: string, total: number): Promise<Filled> {
  const first = await serve(folder)
  const collection = await createCollection(first)
  await first.end()
  const store = await openStore(join(folder, 'gdn.db'))
  try {
    const ids = await insertAll(store, collection.transaction_gdn_ids, total)
    return { collection, ids, backend: await serve(folder) }
  } finally {
    await store.close()
  }
}

const ROWS = 10_000

async function insertAll(store: Store, collectionId: string, total: number): Promise<string[]> {
  const asked = await findCollectionById(store.db, collectionId)
  if (asked === null) throw new Error('the collection is not there')
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

function deployedNft({ id: collection_id, request_id }: { id: string; request_id: string }, index: number) {
  return {
    id: newId(),
    request_id,
    collection_id,
    receiver: WALLET,
    owner: WALLET,
    metadata: JSON.stringify({
      title: `Number ${index}`,
      description: 'One of many, made to see how long it takes.',
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
