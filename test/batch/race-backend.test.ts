import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runBatch } from '../../src/batch/run.ts'
import { createClient } from '../../src/client/client.ts'
import { createTransport } from '../../src/client/create-transport.ts'
import { readManifest } from '../../src/manifest/read.ts'
import { backendForFile, call, createTestCollection, type TestBackend, WALLETS } from '../helpers/backend.ts'
import { bundleProcess } from '../helpers/bundle-process.ts'
import { gate } from '../helpers/gate.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { inMemory } from '../operations/world.ts'
import type { DropEnd, DropJob } from './drop-process.ts'

const ROUNDS = process.env.GDN_SOAK === '1' ? 500 : 6
const MAX_PROCESSES = 8
const MAX_ROWS = 12
/** Errors of a process whose state directory is shared with another one that has the rows. */
const SHARED_ENDS = ['already_accepted', 'run_busy']

/** A separate namespace for process IDs, as in a container. */
const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

/** A process that is reused in every round, unless it is killed. */
class Runner {
  readonly #argv: readonly string[]
  #child: ChildProcess | null = null

  constructor(argv: readonly string[]) {
    this.#argv = argv
  }

  run(job: DropJob, killAfterMs: number | null): Promise<DropEnd | 'killed'> {
    const [command = '', ...argv] = this.#argv
    this.#child ??= spawn(command, argv, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const child = this.#child
    return new Promise((resolve) => {
      const ended = (end: DropEnd | 'killed') => {
        clearTimeout(timer)
        child.removeAllListeners()
        resolve(end)
      }
      child.once('exit', () => {
        this.#child = null
        ended('killed')
      })
      child.once('message', (end: DropEnd) => ended(end))
      const kill = () => {
        child.removeAllListeners('message')
        child.kill('SIGKILL')
      }
      const timer = killAfterMs === null ? undefined : setTimeout(kill, killAfterMs)
      child.send(job)
    })
  }

  end(): void {
    this.#child?.kill('SIGKILL')
  }
}

let folder: string
let backend: TestBackend
let runners: Runner[]
let script: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-race-backend-'))
  script = join(folder, 'drop.mjs')
  await bundleProcess(new URL('./drop-process.ts', import.meta.url), script, import.meta.url)
  backend = await backendForFile()
  runners = Array.from({ length: MAX_PROCESSES }, () => new Runner([process.execPath, script]))
})
afterAll(async () => {
  for (const runner of runners) runner.end()
  await rm(folder, { recursive: true, force: true })
})

/** Rows with IDs, or without IDs and with copies among them. */
function manifestOf(rows: number, withIds: boolean): string {
  const lines = Array.from({ length: rows }, (_, n) => {
    const id = withIds ? `row-${n},` : ''
    return `${id}Piece ${withIds ? n : Math.floor(n / 2)},One,${WALLETS[Math.floor(n / 2) % 2]}`
  })
  return `${withIds ? 'id,' : ''}title,description,receiver\n${lines.join('\n')}\n`
}

interface Race {
  rows: number
  withIds: boolean
  /** Number of state directories that the processes share. */
  states: number
  /** Milliseconds after which each process is killed. */
  kills: readonly (number | null)[]
  random: () => number
}

/** Starts one manifest at once in all processes, and restarts those that did not finish. */
async function race(processes: readonly Runner[], { rows, withIds, states, kills, random }: Race) {
  const below = (count: number) => Math.floor(random() * count)
  const place = await mkdtemp(join(inMemory, 'gdn-race-'))
  const { address } = await createTestCollection(backend)
  const jobs: DropJob[] = []
  for (const n of processes.keys()) {
    const manifestPath = join(place, `folder-${n}`, 'drop.csv')
    await mkdir(join(place, `folder-${n}`))
    await writeFile(manifestPath, manifestOf(rows, withIds))
    jobs.push({
      url: backend.url,
      apiKey: backend.apiKey.reveal(),
      options: {
        ...{ manifestPath, stateDir: join(place, `state-${n % states}`), origin: backend.url },
        ...{ contractAddress: address, chunkSize: 1 + below(rows), inFlight: 1 + below(3), inOrder: random() < 0.2 },
      },
    })
  }
  const figures = { killed: 0, refused: 0 }
  const known = new Map<number, Record<number, string>>()
  const run = async (n: number, killAfterMs: number | null) => {
    const [job, runner] = [jobs[n], processes[n]]
    if (job === undefined || runner === undefined) throw new Error('there is no such process')
    const end = await runner.run(job, killAfterMs)
    if (end === 'killed') figures.killed++
    else if ('ids' in end) known.set(n % states, end.ids)
    else {
      expect(states < processes.length ? SHARED_ENDS : [], `process ${n}`).toContain(end.error)
      figures.refused++
    }
  }
  await Promise.all(jobs.map((_, n) => run(n, kills[n] ?? null)))
  for (const n of jobs.keys()) if (!known.has(n % states)) await run(n, null)
  // Each state directory has the same result.
  expect(known.size).toBe(states)
  const request = { contract_addresses: address, blockchain: 'polygon' }
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', request)
  expect(nft_gdn_ids).toHaveLength(rows)
  for (const ids of known.values()) expect(ids).toEqual(known.get(0))
  expect(Object.values(known.get(0) ?? {}).sort()).toEqual([...nft_gdn_ids].sort())
  await rm(place, { recursive: true, force: true })
  return figures
}

test(`mints each row once when 2 to ${MAX_PROCESSES} processes start one manifest at once and some are killed (rounds: ${ROUNDS})`, async () => {
  const { random } = seededRandom('race on a backend')
  const below = (count: number) => Math.floor(random() * count)
  const figures = { rounds: 0, processes: 0, killed: 0, refused: 0 }
  while (figures.rounds < ROUNDS) {
    const processes = runners.slice(0, 2 + below(MAX_PROCESSES - 1))
    const isKilling = random() < 0.4
    const { killed, refused } = await race(processes, {
      ...{ random, rows: 1 + below(MAX_ROWS), withIds: random() < 0.5 },
      states: random() < 0.5 ? processes.length : 1 + below(processes.length),
      kills: processes.map(() => (isKilling && random() < 0.6 ? random() * 150 : null)),
    })
    figures.rounds++
    figures.processes += processes.length
    figures.killed += killed
    figures.refused += refused
    if (figures.rounds % 100 === 0) report(figures)
  }
  report(figures)
})

test('assigns rows that two runs of one state directory adopt at the same time to the first run', async () => {
  const place = await mkdtemp(join(inMemory, 'gdn-race-'))
  const { address } = await createTestCollection(backend)
  const run = async (state: string, confirm = async () => {}) => {
    const manifestPath = join(await mkdtemp(join(place, 'folder-')), 'drop.csv')
    await writeFile(manifestPath, manifestOf(4, true))
    const { apiKey, url: baseUrl } = backend
    const client = createClient({ baseUrl, apiKey, transport: await createTransport('single'), userAgent: 'gdn/test' })
    return await runBatch(
      {
        ...{ stateDir: join(place, state), origin: baseUrl, blockchain: 'polygon', contractAddress: address },
        ...{ manifestPath, wait: false },
      },
      {
        ...{ client, confirm, pacer: { take: async () => ({ done: () => {} }), hold: () => {} } },
        readManifest: () => readManifest({ path: manifestPath }, { blockchain: 'polygon', localFiles: false }),
      },
    ).finally(() => client.close())
  }
  try {
    await run('elsewhere')
    const prompt = gate()
    const second = run('here', prompt.pass)
    await prompt.reached
    await run('here')
    prompt.open()
    await expect(second).rejects.toMatchObject({ code: 'already_accepted', details: { count: 4 } })
  } finally {
    await rm(place, { recursive: true, force: true })
  }
})

test('mints each row once when several containers with one state directory start one manifest at once', async (context) => {
  const [inContainer = '', ...argv] = [...CONTAINER, 'true']
  if (spawnSync(inContainer, argv).status !== 0) return context.skip('namespaces of processes are not allowed here')
  const { random } = seededRandom('race in containers')
  const contained = Array.from({ length: 3 }, () => new Runner([...CONTAINER, process.execPath, script]))
  try {
    for (let round = 0; round < ROUNDS; round += 3) {
      const processes = [...contained, ...runners.slice(0, 1)]
      const rows = 1 + Math.floor(random() * MAX_ROWS)
      await race(processes, { random, rows, withIds: random() < 0.5, states: 1, kills: [] })
    }
  } finally {
    for (const runner of contained) runner.end()
  }
})
