import { randomBytes } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbeddedSolana } from '../src/server/chain/solana/embedded/embedded-solana.ts'
import { blockJournal } from '../src/server/store/block-journal.ts'
import { findChain } from '../src/server/store/chains.ts'
import { openStore } from '../src/server/store/open-store.ts'
import {
  type Backend,
  BUILDS,
  createCollection,
  type Order,
  order,
  serve,
  untilDeployed,
  uploadAll,
  withFolder,
} from './backend.ts'
import { againstBefore, type Figure, report } from './figures.ts'
import { memoryOf } from './processes.ts'

const WALLET = '7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q'
const ROUNDS = 3
const IMAGES = 48
const MANY = { count: 2000, perRequest: 50, clients: 8, receiver: WALLET }
const SINGLE = { count: 800, perRequest: 1, clients: 8, receiver: WALLET }
/** Number of NFTs for the figures of memory and replay. */
const TOKENS = Number(process.env.GDN_BENCH_SOLANA_NFTS ?? 20_000)
const SNAPSHOT = join('chains', 'solana.snapshot')

/** NFTs a second on the embedded Solana chain through the API, metadata included, and the cost of a later start. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const backend = await serve(folder)
    const older: Backend[] = []
    const [many, single, manyBefore]: [number[], number[], number[]] = [[], [], []]
    const before = memoryOf([backend.pid]).rss
    let after: number
    try {
      for (const build of BUILDS.slice(1)) older.push(await serve(join(folder, 'before'), [], [build]))
      for (let round = 0; round < ROUNDS; round++) {
        many.push(await mintAll(backend, MANY))
        for (const other of older) manyBefore.push(await mintAll(other, MANY))
        single.push(await mintAll(backend, SINGLE))
      }
      const rest = TOKENS - ROUNDS * (MANY.count + SINGLE.count)
      if (rest > 0) await mintAll(backend, { ...MANY, count: rest })
      after = memoryOf([backend.pid]).rss
    } finally {
      for (const one of [backend, ...older]) await one.end()
    }
    const figures = report([
      againstBefore({ what: '50 per request, stored files', unit: '/s', samples: many }, manyBefore, { atLeast: 3 }),
      { what: '1 per request, stored files', unit: '/s', samples: single, budget: { atLeast: 300 } },
    ])
    await rm(join(folder, 'before'), { recursive: true, force: true })
    const fromSnapshot = await replay(folder)
    await rm(join(folder, SNAPSHOT), { force: true })
    const whole = await replay(folder)
    const tokens = whole.transactions.toLocaleString('en-US')
    return [
      ...figures,
      { what: 'replay of the journal', unit: '/s', samples: [whole.transactions / (whole.milliseconds / 1000)] },
      { what: `start of the chain with ${tokens} NFTs, no snapshot`, unit: 'ms', samples: [whole.milliseconds] },
      { what: 'start of the chain from its snapshot', unit: 'ms', samples: [fromSnapshot.milliseconds] },
      { what: 'RSS of the backend before Solana is used', unit: 'MiB', samples: [before] },
      { what: `RSS right after minting ${tokens}`, unit: 'MiB', samples: [after] },
      {
        what: 'size of the data directory, including the snapshot',
        unit: 'MiB',
        samples: [(await sizeOf(folder)) / 2 ** 20],
      },
    ]
  })
}

/** The images are uploaded before the clock starts. */
async function mintAll(backend: Backend, what: Omit<Order, 'image'>): Promise<number> {
  const image = await uploadAll(
    backend,
    Array.from({ length: IMAGES }, () => randomBytes(2000)),
  )
  const facts = { blockchain: 'solana', wallet_address: WALLET, description: 'Bench', image: image(0) }
  const collection = await createCollection(backend, facts)
  const since = performance.now()
  await untilDeployed(backend, await order(backend, collection, { ...what, image }))
  return what.count / ((performance.now() - since) / 1000)
}

/** Starts only the chain of a data directory. */
async function replay(folder: string): Promise<{ transactions: number; milliseconds: number }> {
  const store = await openStore(join(folder, 'gdn.db'))
  try {
    const known = await findChain(store.db, 'solana')
    if (known === null) throw new Error('the data directory has no such chain')
    let transactions = 0
    const since = performance.now()
    const chain = await startEmbeddedSolana({
      blockchain: 'solana',
      journal: blockJournal(store.db, 'solana', known.genesis_timestamp),
      payer: known.factory_address,
      snapshotPath: join(folder, SNAPSHOT),
      onEvent: (event) => {
        if (event.type === 'ready') transactions = event.transactions
      },
    })
    const milliseconds = performance.now() - since
    await chain.close()
    return { transactions, milliseconds }
  } finally {
    await store.close()
  }
}

async function sizeOf(folder: string): Promise<number> {
  let size = 0
  for (const name of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, name))
    if (found.isFile()) size += found.size
  }
  return size
}
