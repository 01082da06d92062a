import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openStore } from '../src/server/store/open-store.ts'
import { type Backend, type Collection, createCollection, serve, untilDeployed, WALLET, withFolder } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { memoryOf } from './processes.ts'

const STORED = 1_000_000
const PER_REQUEST = 1000
const ROUNDS = 11
const AT_ONCE = 50_000

/** Reference IDs of the n-th request. */
type Naming = (request: number) => string[]

const numbers = (request: number) => Array.from({ length: PER_REQUEST }, (_, row) => request * PER_REQUEST + row)
const inOrder: Naming = (request) => numbers(request).map((row) => `bench/${String(row).padStart(9, '0')}`)
/** Hashes are spread over the whole index, which is the worst case for reads and writes. */
const hashed: Naming = (request) =>
  numbers(request).map((row) => createHash('sha256').update(`bench ${row}`).digest('base64url'))

/** createnft of 1,000 NFTs with reference IDs and a million stored, compared with requests without them; one client. */
export async function measure(): Promise<Figure[]> {
  const figures = report(await withFolder(measureTimes))
  const [without, withReferences] = [
    await withFolder((folder) => memory(folder, null)),
    await withFolder((folder) => memory(folder, hashed)),
  ]
  const rss = `RSS of node after ${ROUNDS} requests`
  const against = { what: 'without reference IDs', samples: [without] }
  return [...figures, { what: rss, unit: 'MiB', samples: [withReferences], against, budget: { atMost: 1.2 } }]
}

async function measureTimes(folder: string): Promise<Figure[]> {
  const first = await serve(folder)
  const collection = await createCollection(first)
  await first.end()
  await storeReferences(folder, collection)
  const backend = await serve(folder)
  try {
    const plain: number[] = []
    const samples = { ordered: [] as number[], random: [] as number[], again: [] as number[], asked: [] as number[] }
    for (let round = -1; round < ROUNDS; round++) {
      const without = await create(backend, collection, null)
      const ordered = await create(backend, collection, inOrder(round + 1))
      const random = await create(backend, collection, hashed(round + 1))
      const again = await create(backend, collection, hashed(round + 1))
      const asked = await lookUp(backend, collection, hashed(round + 1))
      // The first round is a warm-up.
      if (round < 0) continue
      plain.push(without)
      samples.ordered.push(ordered)
      samples.random.push(random)
      samples.again.push(again)
      samples.asked.push(asked)
    }
    const against = { what: 'without reference IDs', samples: plain }
    const figure = (what: string, times: readonly number[], atMost: number): Figure => ({
      ...{ what: `${what}, ${STORED.toLocaleString('en-US')} stored`, unit: 'ms', samples: times, against },
      budget: { atMost },
    })
    return [
      figure('createnft of 1,000, sequential IDs', samples.ordered, 2.5),
      figure('createnft of 1,000, hashes as IDs', samples.random, 3),
      figure('createnft of 1,000 existing NFTs', samples.again, 1.2),
      figure('getreferences of 1,000', samples.asked, 1),
    ]
  } finally {
    await backend.end()
  }
}

async function storeReferences(folder: string, { transaction_gdn_ids: scope }: Collection): Promise<void> {
  const store = await openStore(join(folder, 'gdn.db'))
  try {
    for (let at = 0; at < STORED; at += AT_ONCE) {
      await sql`insert into operation_references (scope_id, operation, reference_id, digest, target_id)
        with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${sql.lit(AT_ONCE)})
        select ${scope}, 'createnft', hex(randomblob(22)), 'v1:' || hex(randomblob(32)), hex(randomblob(18))
        from numbers`.execute(store.db)
    }
  } finally {
    await store.close()
  }
}

const metadata = numbers(0).map((row) => ({
  title: `Number ${row}`,
  description: 'One of many, created for a benchmark.',
  file_fields: [],
}))

/** Milliseconds until the NFTs are accepted. The next request must not overlap with these mints. */
async function create(
  backend: Backend,
  { contract_address, blockchain }: Collection,
  reference_ids: readonly string[] | null,
): Promise<number> {
  const references = reference_ids === null ? {} : { reference_ids }
  const body = { contract_address, blockchain, receiver_wallet_address: WALLET, metadata, ...references }
  const since = performance.now()
  const { nfts } = await backend.post('/api/v1/createnft', body)
  const time = performance.now() - since
  await untilDeployed(
    backend,
    nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids),
  )
  return time
}

async function lookUp(
  backend: Backend,
  { contract_address, blockchain }: Collection,
  reference_ids: readonly string[],
): Promise<number> {
  const since = performance.now()
  await backend.post('/api/v1/getreferences', { contract_address, blockchain, operation: 'createnft', reference_ids })
  return performance.now() - since
}

async function memory(folder: string, naming: Naming | null): Promise<number> {
  const backend = await serve(folder)
  try {
    const collection = await createCollection(backend)
    for (let n = 0; n < ROUNDS; n++) await create(backend, collection, naming?.(n) ?? null)
    return memoryOf([backend.pid]).rss
  } finally {
    await backend.end()
  }
}
