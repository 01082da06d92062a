import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFileServer } from '../test/helpers/file-server.ts'
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
import { watchCpu } from './cpu.ts'
import { againstBefore, type Figure, median, percentile, reportRound } from './figures.ts'
import { familyOf } from './processes.ts'
import { BATCHED, type Images, ONE_AT_A_TIME, PIPELINED, READY, type Script } from './user-script.ts'

const ROUNDS = Number(process.env.GDN_BENCH_ROUNDS ?? 3)
const IMAGES = 48
const MANY = { count: 4000, perRequest: 50, clients: 8 }
const SINGLE = { count: 800, perRequest: 1, clients: 8 }

type Load = Omit<Order, 'image'>

interface Variant {
  what: string
  load: Load
  images: () => Images
  scripts: readonly { script: Script; atLeast?: number }[]
  /** Least ratios to the build before. */
  before: { deployed?: number; accepted?: number }
}

interface Round {
  /** One for each build. */
  runs: Run[]
  /** NFTs per second of each script. */
  scripts: number[]
}

interface Run {
  /** NFTs per second. */
  deployed: number
  accepted: number
  /** CPU time of the backend for 1,000 NFTs in milliseconds, without its dev chain. */
  cpu: number
}

/**
 * NFTs deployed per second through the API, compared with scripts that send transactions to a plain anvil. Writing
 * metadata and uploading or fetching images is part of every time.
 */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const web = await startFileServer()
    const backends: Backend[] = []
    try {
      for (const [index, build] of BUILDS.entries()) {
        backends.push(await serve(join(folder, String(index)), ['--allow-private-files'], [build]))
      }
      const variants = variantsWith(web.url)
      const rounds = variants.map((): Round[] => [])
      for (let round = 0; round < ROUNDS; round++) {
        reportRound(round, ROUNDS)
        for (const [index, variant] of variants.entries()) rounds[index]?.push(await runAll(variant, backends))
      }
      const figures = variants.flatMap((variant, index) => figuresOf(variant, rounds[index] ?? []))
      for (const backend of backends.slice(0, 1)) figures.push(...(await readsMeanwhile(backend)))
      return figures
    } finally {
      for (const backend of backends) await backend.end()
      await web.close()
    }
  })
}

function variantsWith(url: string): Variant[] {
  const shared = () => Array.from({ length: IMAGES }, () => randomBytes(2000))
  // Always a new URL, because recently fetched ones are cached.
  let fetched = 0
  const remote = () => () => `${url}/${fetched++}.png`
  const [one, many] = ['NFTs minted, 1 per request', 'NFTs minted, 50 per request']
  const [uploaded, fromWeb] = [`${IMAGES} uploaded images`, 'one image per NFT over HTTP']
  const toOne = [
    { script: ONE_AT_A_TIME, atLeast: 1 },
    { script: PIPELINED, atLeast: 3 },
  ]
  const toMany = [{ script: ONE_AT_A_TIME, atLeast: 3 }, { script: PIPELINED }, { script: BATCHED, atLeast: 6 }]
  const ready = { script: READY, atLeast: availableParallelism() < 4 ? 0.2 : 0.3 }
  const [uploads, fetches] = [{ images: shared }, { images: remote }]
  return [
    { what: `${many}, ${uploaded}`, load: MANY, ...uploads, scripts: [...toMany, ready], before: { accepted: 2.5 } },
    { what: `${one}, ${uploaded}`, load: SINGLE, ...uploads, scripts: toOne, before: { deployed: 4 } },
    { what: `${many}, ${fromWeb}`, load: MANY, ...fetches, scripts: toMany, before: { deployed: 3, accepted: 2.5 } },
    { what: `${one}, ${fromWeb}`, load: SINGLE, ...fetches, scripts: toOne, before: {} },
  ]
}

async function runAll({ load, images, scripts }: Variant, backends: readonly Backend[]): Promise<Round> {
  const round: Round = { runs: [], scripts: [] }
  for (const { script } of scripts) round.scripts.push(await script.time(images()))
  for (const backend of backends) round.runs.push(await throughApi(backend, load, images()))
  return round
}

function figuresOf({ what, scripts, before }: Variant, rounds: readonly Round[]): Figure[] {
  const of = (key: keyof Run, build = 0) => rounds.flatMap(({ runs }) => runs[build]?.[key] ?? [])
  const row = (name: string, unit: Figure['unit'], key: keyof Run, budget?: Figure['budget']) =>
    againstBefore({ what: name, unit, samples: of(key) }, of(key, 1), budget)
  const atLeast = (ratio: number | undefined) => (ratio === undefined ? undefined : { atLeast: ratio })
  const againstScript = ({ script, atLeast: ratio }: Variant['scripts'][number], index: number): Figure => ({
    ...{ what: '  the same', unit: '/s', samples: of('deployed') },
    against: { what: script.what, samples: rounds.map((round) => round.scripts[index] ?? Number.NaN) },
    ...(ratio && { budget: { atLeast: ratio } }),
  })
  return [
    row(what, '/s', 'deployed', atLeast(before.deployed)),
    ...scripts.map(againstScript),
    row('  accepted', '/s', 'accepted', atLeast(before.accepted)),
    row('  CPU time of the backend for 1,000 NFTs', 'ms', 'cpu', { atMost: 0.33 }),
  ]
}

/** Mints through the API. The clock includes the upload of shared images. */
export async function throughApi(backend: Backend, load: Load, images: Images): Promise<Run> {
  const collection = await createCollection(backend)
  const [, ...chain] = familyOf(backend.pid)
  const cpuOf = watchCpu({ all: [backend.pid], chain })
  const since = performance.now()
  const image = typeof images === 'function' ? images : await uploadAll(backend, images)
  const sent = performance.now()
  const ids = await order(backend, collection, { ...load, image })
  const accepted = performance.now()
  await untilDeployed(backend, ids)
  const deployed = performance.now()
  const { all = 0, chain: ofChain = 0 } = cpuOf()
  const perSecond = (milliseconds: number) => load.count / (milliseconds / 1000)
  return {
    deployed: perSecond(deployed - since),
    accepted: perSecond(accepted - sent),
    cpu: ((all - ofChain) * 1e6) / load.count,
  }
}

/** Latency of reads while the backend is as busy as it can be, compared with an idle one. */
async function readsMeanwhile(backend: Backend): Promise<Figure[]> {
  const collection = await createCollection(backend)
  const image = await uploadAll(backend, [randomBytes(2000)])
  const known = await order(backend, collection, { ...MANY, count: 100, image })
  await untilDeployed(backend, known)
  const read = async () => {
    const since = performance.now()
    await backend.post('/api/v1/getnfts', { nft_gdn_ids: known })
    const time = performance.now() - since
    await sleep(20)
    return time
  }
  const idle: number[] = []
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index < 100; index++) idle.push(await read())
    let busy = true
    const reading = (async () => {
      while (busy) times.push(await read())
    })()
    await untilDeployed(backend, await order(backend, collection, { ...MANY, count: 4 * MANY.count, image }))
    busy = false
    await reading
  }
  const against = { what: 'p50 when idle', samples: [median(idle)] }
  return [0.5, 0.99, 1].map((part) => ({
    what: `getnfts of 100 NFTs while minting, ${part === 1 ? 'slowest' : `p${part * 100}`}`,
    unit: 'ms',
    samples: [percentile(times, part)],
    against,
    ...(part === 0.99 ? { budget: { atMost: 3 } } : {}),
  }))
}
