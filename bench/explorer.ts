import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { request } from 'undici'
import { Secret } from '../src/core/secret.ts'
import { findCollectionById } from '../src/server/store/collections.ts'
import { openStore, type Store } from '../src/server/store/open-store.ts'
import { openPostgres } from '../src/server/store/postgres/open-postgres.ts'
import { startRun } from '../src/server/store/runs.ts'
import { insertNfts } from '../test/helpers/rows.ts'
import { type Backend, createCollection, serve, withFolder } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { deployedNft, untilIndexed } from './filled.ts'

const [SMALL, LARGE] = [10_000, 1_000_000]
const RUNS = 100
const ROWS = 10_000
const RUN = '0123456789abcdef'
/** Number of NFTs per owner, and NFTs per failed one. */
const [PER_OWNER, PER_FAILURE] = [100, 1000]

const numbered = (count: number) => count.toLocaleString('en-US')

interface Filled {
  backend: Backend
  collection: string
  /** ID and owner of an NFT in the middle. */
  nft: string
  owner: string
}

/** Requests of the web explorer's pages on a large collection, compared with a small one. */
export const measure = (): Promise<Figure[]> => measureOn(async () => undefined)

/** Same, with the data directory imported into the database of `databaseOf`; undefined for its own database. */
export function measureOn(databaseOf: (name: 'full' | 'few') => Promise<string | undefined>): Promise<Figure[]> {
  return withFolder((large) =>
    withFolder(async (small) => {
      const full = await fill(large, LARGE, await databaseOf('full'))
      const few = await fill(small, SMALL, await databaseOf('few'))
      try {
        const figures: Figure[] = []
        const add = async (what: string, path: (filled: Filled, total: number) => string) =>
          figures.push(...report([await compare(what, full, few, path)]))
        await add('overview', () => 'overview')
        await add('collection page', ({ collection }) => `collections/${collection}`)
        await add('first 60 NFTs of the collection', ({ collection }) => `collections/${collection}/nfts`)
        await add(
          '60 NFTs at 90 % of the list',
          ({ collection }, total) => `collections/${collection}/nfts?offset=${total * 0.9}`,
        )
        await add(
          '60 failed NFTs in the middle of the list',
          ({ collection }, total) =>
            `collections/${collection}/nfts?status=failed&offset=${Math.floor(total / PER_FAILURE / 2)}`,
        )
        await add('NFTs of an owner', ({ owner }) => `owners/${owner}/nfts`)
        await add('NFT page', ({ nft }) => `nfts/${nft}`)
        await add('run page', () => `runs/${RUN}`)
        await add('search by ID', ({ nft }) => `search?q=${nft}`)
        await add('search for two words, one of them rare', (_, total) => `search?q=number%20${total / 2}`)
        await add('search for a word in all titles', () => 'search?q=number')
        await add('search for a word in no title', () => 'search?q=nowhere')
        return figures
      } finally {
        await full.backend.end()
        await few.backend.end()
      }
    }),
  )
}

/** A data directory with one collection of this many NFTs, with many owners, from one run; one in a thousand failed. */
export async function fill(folder: string, total: number, databaseUrl?: string): Promise<Filled> {
  const flags = databaseUrl === undefined ? [] : ['--database-url', databaseUrl]
  const first = await serve(folder, flags)
  const { transaction_gdn_ids: id } = await createCollection(first)
  await first.end()
  const store = await open(folder, databaseUrl)
  try {
    const collection = await findCollectionById(store.db, id)
    if (collection === null) throw new Error('the collection does not exist')
    const { account_id, request_id } = collection
    await store.db.updateTable('requests').set({ run: RUN }).where('id', '=', request_id).execute()
    await startRun(store.db, { account_id, run: RUN, collection_id: id, started_at: Date.now() })
    let nft = ''
    for (let at = 0; at < total; at += ROWS) {
      const rows = Array.from({ length: Math.min(ROWS, total - at) }, (_, index) => rowOf(collection, at + index))
      await store.transaction((db) => insertNfts(db, rows))
      if (at <= total / 2) nft = rows.at(-1)?.id ?? ''
    }
    // As PostgreSQL does by itself after some time.
    if (databaseUrl !== undefined) await sql`vacuum analyze`.execute(store.db)
    const backend = await serve(folder, flags)
    await untilIndexed(backend, total)
    return { backend, collection: id, nft, owner: ownerOf(total / 2) }
  } finally {
    await store.close()
  }
}

const open = (folder: string, databaseUrl: string | undefined): Promise<Store> =>
  databaseUrl === undefined ? openStore(join(folder, 'gdn.db')) : openPostgres({ url: new Secret(databaseUrl) })

/** Lower-case letters would need a checksum; digits don't. */
const ownerOf = (index: number) => `0x${String(Math.floor(index / PER_OWNER)).padStart(40, '1')}`

function rowOf(collection: { id: string; request_id: string }, index: number) {
  const row = deployedNft(collection, index)
  if (index % PER_FAILURE !== PER_FAILURE - 1) return { ...row, owner: ownerOf(index), receiver: ownerOf(index) }
  return {
    ...row,
    status: 'failed' as const,
    owner: null,
    token_id: null,
    error: `the file answered ${400 + (index % 7)}`,
  }
}

async function compare(
  what: string,
  full: Filled,
  few: Filled,
  path: (filled: Filled, total: number) => string,
): Promise<Figure> {
  const ask = async (filled: Filled, total: number) => {
    const since = performance.now()
    const answer = await request(`${filled.backend.url}/explorer/${path(filled, total)}`)
    await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${what} returned ${answer.statusCode}`)
    return performance.now() - since
  }
  for (let run = 0; run < RUNS / 4; run++) await Promise.all([ask(full, LARGE), ask(few, SMALL)])
  const samples: number[] = []
  const against: number[] = []
  for (let run = 0; run < RUNS; run++) {
    samples.push(await ask(full, LARGE))
    against.push(await ask(few, SMALL))
    await sleep(1)
  }
  const pair = { what: `${numbered(SMALL)} NFTs`, samples: against }
  return {
    what: `${what}, ${numbered(LARGE)} NFTs in the collection`,
    unit: 'ms',
    samples,
    against: pair,
    budget: { atMost: 3 },
  }
}
