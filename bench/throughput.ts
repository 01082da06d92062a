import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { compileSolidity } from '../src/build/contracts.mjs'
import { startFileServer } from '../test/helpers/file-server.ts'
import { type Backend, createCollection, type Order, order, serve, untilDeployed, withFolder } from './backend.ts'
import { type Figure, percentile } from './figures.ts'
import { startPlainAnvil } from './processes.ts'
import { mintOneByOne } from './user-script.ts'

const ROUNDS = 3
const PICTURES = 48
const ALONE = 300
const CLIENTS = 8
const MANY = { count: 4000, perRequest: 50, clients: CLIENTS }
const SINGLE = { count: 800, perRequest: 1, clients: CLIENTS }

/**
 * NFTs deployed per second through the API, files and metadata included, compared with one transaction after the other.
 */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const backend = await serve(folder, ['--allow-private-files'])
    const web = await startFileServer()
    try {
      const pictures: string[] = []
      for (let index = 0; index < PICTURES; index++) pictures.push(await backend.upload(randomBytes(2000)))
      const stored = (index: number) => pictures[index % PICTURES] ?? ''
      // Always a new URL, because recently fetched ones are cached.
      let fetched = 0
      const remote = () => `${web.url}/${fetched++}.png`
      const variants = [
        { what: '50 to a request, stored files', order: { ...MANY, image: stored }, atLeast: 3 },
        { what: '1 to a request, stored files', order: { ...SINGLE, image: stored }, atLeast: 1 },
        { what: '50 to a request, a file each over HTTP', order: { ...MANY, image: remote }, atLeast: 3 },
        { what: '1 to a request, a file each over HTTP', order: { ...SINGLE, image: remote }, atLeast: 1 },
      ]
      const samples = variants.map((): number[] => [])
      const alone = variants.map((): number[] => [])
      for (let round = 0; round < ROUNDS; round++) {
        for (const [index, variant] of variants.entries()) {
          alone[index]?.push(await oneByOne(folder, stored))
          samples[index]?.push(await throughApi(backend, variant.order))
        }
      }
      const figures = variants.map(
        ({ what, atLeast }, index): Figure => ({
          what,
          unit: '/s',
          samples: samples[index] ?? [],
          against: { what: 'viem, one at a time', samples: alone[index] ?? [] },
          budget: { atLeast },
        }),
      )
      return [...figures, ...(await readsMeanwhile(backend, { ...MANY, image: stored }))]
    } finally {
      await web.close()
      await backend.end()
    }
  })
}

const { Baseline } = compileSolidity({ 'Baseline.sol': readFileSync('bench/contracts/Baseline.sol', 'utf8') })

async function oneByOne(folder: string, image: (index: number) => string): Promise<number> {
  if (Baseline === undefined) throw new Error('the baseline contract is missing')
  const anvil = await startPlainAnvil()
  try {
    const contract = { abi: Baseline.abi, bytecode: Baseline.bytecode as Hex }
    return await mintOneByOne({ url: anvil.url, contract, folder, count: ALONE, image })
  } finally {
    await anvil.end()
  }
}

async function throughApi(backend: Backend, what: Order): Promise<number> {
  const collection = await createCollection(backend)
  const since = performance.now()
  await untilDeployed(backend, await order(backend, collection, what))
  return what.count / ((performance.now() - since) / 1000)
}

/** Latency of reads while the backend is as busy as it can be. */
async function readsMeanwhile(backend: Backend, what: Order): Promise<Figure[]> {
  const collection = await createCollection(backend)
  const known = (await order(backend, collection, { ...what, count: 100 })).slice(0, 100)
  await untilDeployed(backend, known)
  let busy = true
  const times: number[] = []
  const reader = async () => {
    while (busy) {
      const since = performance.now()
      await backend.post('/api/v1/getnfts', { nft_gdn_ids: known })
      times.push(performance.now() - since)
      await sleep(20)
    }
  }
  const reading = reader()
  await untilDeployed(backend, await order(backend, collection, { ...what, count: 4 * what.count }))
  busy = false
  await reading
  return [0.5, 0.99, 1].map((part) => ({
    what: `getnfts of 100 while minting, ${part === 1 ? 'slowest' : `p${part * 100}`}`,
    unit: 'ms',
    samples: [percentile(times, part)],
  }))
}
