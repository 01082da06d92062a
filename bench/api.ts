import { type Collection, createCollection, untilDeployed, WALLET, withFolder } from './backend.ts'
import { type Figure, percentile, report } from './figures.ts'
import { type Filled, fill, LARGE, pick, SMALL } from './filled.ts'

const CLIENTS = 8
const ROUNDS = 7
const PER_REQUEST = 50
const ASKED = 100

interface Load {
  what: string
  /** Number of requests in one round, by all clients together. */
  requests: number
  ask(stock: Stock): Promise<unknown>
}

interface Stock extends Filled {
  /** A separate collection for created NFTs, because the stored ones are on no chain. */
  target: Collection
  /** NFTs created in this round. */
  created: string[]
}

const LOADS: readonly Load[] = [
  { what: `getnfts of ${ASKED} IDs`, requests: 1200, ask: read },
  { what: `createnft of ${PER_REQUEST}`, requests: 120, ask: create },
]

async function stockUp(folder: string, total: number): Promise<Stock> {
  const filled = await fill(folder, total)
  return { ...filled, target: await createCollection(filled.backend), created: [] }
}

/** Throughput of the API with 8 clients that send as fast as they get responses, with few and with many stored NFTs. */
export function measure(): Promise<Figure[]> {
  return withFolder((large) =>
    withFolder(async (small) => {
      const full = await stockUp(large, LARGE)
      const nearlyEmpty = await stockUp(small, SMALL)
      try {
        const figures: Figure[] = []
        for (const load of LOADS) figures.push(...report(await compare(load, full, nearlyEmpty)))
        return figures
      } finally {
        await full.backend.end()
        await nearlyEmpty.backend.end()
      }
    }),
  )
}

/** In turns, so that a disturbance of the machine affects both. */
async function compare(load: Load, full: Stock, nearlyEmpty: Stock): Promise<Figure[]> {
  const many: Round[] = []
  const few: Round[] = []
  await runRound(load, nearlyEmpty)
  await runRound(load, full)
  for (let round = 0; round < ROUNDS; round++) {
    few.push(await runRound(load, nearlyEmpty))
    many.push(await runRound(load, full))
  }
  const what = `${load.what}, ${LARGE.toLocaleString('en-US')} stored`
  const against = `with ${SMALL.toLocaleString('en-US')} stored`
  const figure = (name: string, unit: Figure['unit'], pickOut: (round: Round) => number): Figure => ({
    what: `${what}, ${name}`,
    unit,
    samples: many.map(pickOut),
    against: { what: against, samples: few.map(pickOut) },
  })
  return [
    figure('requests', '/s', ({ perSecond }) => perSecond),
    figure('p50', 'ms', ({ times }) => percentile(times, 0.5)),
    figure('p99', 'ms', ({ times }) => percentile(times, 0.99)),
  ]
}

interface Round {
  perSecond: number
  /** Duration of each request in milliseconds. */
  times: number[]
}

async function runRound({ requests, ask }: Load, stock: Stock): Promise<Round> {
  const times: number[] = []
  let left = requests
  const client = async () => {
    while (left-- > 0) {
      const since = performance.now()
      await ask(stock)
      times.push(performance.now() - since)
    }
  }
  const since = performance.now()
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const perSecond = requests / ((performance.now() - since) / 1000)
  // The next round must not overlap with the mints of this one.
  await untilDeployed(stock.backend, stock.created.splice(0))
  return { perSecond, times }
}

/** Sends requests until all are accepted. Mints of earlier requests continue in the meantime, as in production. */
async function create({ backend, target: { contract_address, blockchain }, created }: Stock): Promise<void> {
  const metadata = Array.from({ length: PER_REQUEST }, (_, index) => ({
    title: `Number ${index}`,
    description: 'One of many, created for a benchmark.',
    file_fields: [],
  }))
  const body = { contract_address, blockchain, receiver_wallet_address: WALLET, metadata }
  for (const nft of (await backend.post('/api/v1/createnft', body)).nfts) created.push(nft.nft_gdn_ids)
}

function read({ backend, ids }: Stock): Promise<unknown> {
  return backend.post('/api/v1/getnfts', { nft_gdn_ids: pick(ids, ASKED) })
}
