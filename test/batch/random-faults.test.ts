import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runResults } from '../../src/batch/runs/run-rows.ts'
import { openRun } from '../../src/batch/runs/runs.ts'
import type { BatchOptions, BatchSummary } from '../../src/batch/types.ts'
import { FakeHostedApi, type Fault } from '../helpers/fake-hosted-api.ts'
import { Killer, killableDatabase, Machine } from './simulation.ts'
import { RECEIVERS, row } from './simulation-rows.ts'

const SOAK = process.env.GDN_SOAK === '1'
const RUNS = SOAK ? 1000 : 60
const ROWS = SOAK ? 200 : 30
const ELSEWHERE = '0x2222222222222222222222222222222222222222'

const fault = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  {
    weight: 4,
    arbitrary: fc.record({
      fault: fc.constantFrom<Fault>(
        'not_sent',
        'cut_before',
        'cut_after',
        'status_before',
        'status_after',
        'rate_limited',
        'not_now',
        'fewer_ids',
        'more_ids',
        'other_order',
      ),
      status: fc.constantFrom(408, 409, 425, 500, 502, 503),
    }),
  },
)

const scenario = fc.record({
  idempotency: fc.boolean(),
  faults: fc.array(fault, { maxLength: 60 }),
  /** For how many turns of the event loop responses are held, so that they overtake each other. */
  held: fc.array(fc.nat(30), { minLength: 1, maxLength: 20 }),
  /** The step at which each process is killed. */
  kills: fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 4 }),
  chunkSize: fc.integer({ min: 1, max: 12 }),
  inFlight: fc.integer({ min: 1, max: 4 }),
  inOrder: fc.boolean(),
  /** How many rows have the same content. Each copy is a separate NFT. */
  copies: fc.integer({ min: 1, max: 3 }),
  markerKey: fc.constantFrom(undefined, undefined, 'mark'),
  listingLagMs: fc.constantFrom(0, 0, 300, 4_000),
  pollsToDeploy: fc.integer({ min: 0, max: 3 }),
  nullUntilDeployed: fc.boolean(),
  maxRows: fc.constantFrom(undefined, undefined, 4),
  rewrites: fc.constantFrom(false, false, false, true),
  /** Rows that another client mints too, and after which process. */
  duplicates: fc.array(fc.record({ row: fc.nat(ROWS - 1), life: fc.nat(4) }), { maxLength: 3 }),
  /** NFTs that get another owner, and after which process. */
  moves: fc.array(fc.record({ nft: fc.nat(ROWS - 1), life: fc.nat(4), to: fc.constantFrom(ELSEWHERE, ...RECEIVERS) }), {
    maxLength: 3,
  }),
})

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never

async function live(machine: Machine, chosen: Scenario): Promise<void> {
  const { idempotency, kills, chunkSize, inFlight, inOrder, markerKey } = chosen
  let killer = new Killer(Number.POSITIVE_INFINITY)
  const left = chosen.faults.slice()
  const step = () => killer.step()
  const server = new FakeHostedApi({
    idempotency,
    faultOf: () => left.shift() ?? null,
    async beforeResponse(attempt) {
      for (let turns = chosen.held[attempt % chosen.held.length] ?? 0; turns > 0; turns--) await setImmediate()
    },
    onArrival: step,
    onCommit: step,
    onRead: step,
    now: machine.time.now,
    listingLagMs: chosen.listingLagMs,
    pollsToDeploy: chosen.pollsToDeploy,
    nullUntilDeployed: chosen.nullUntilDeployed,
    ...(chosen.maxRows === undefined ? {} : { maxRows: chosen.maxRows }),
    rewrite: chosen.rewrites ? (metadata) => ({ ...metadata, description: 'rewritten' }) : undefined,
  })
  const rows = Array.from({ length: ROWS }, (_, index) => ({
    ...row(Math.floor(index / chosen.copies) * 3 + (index % 2)),
    line: index + 2,
  }))
  const titleOf = (line: number) => rows[line - 2]?.metadata.title ?? ''
  const expected = countBy(rows.map(({ metadata }) => metadata.title))
  const own = () => [...server.minted.values()].filter(({ by }) => by !== null)
  const ownTitles = () => countBy(own().map(({ metadata }) => (metadata as { title: string }).title))
  const noneTwice = () => {
    for (const [title, count] of ownTitles()) expect(count, title).toBeLessThanOrEqual(expected.get(title) ?? 0)
  }
  /** Titles whose outcome cannot be determined. */
  const disturbed = new Set<string>()
  const meddle = (life: number) => {
    for (const duplicate of chosen.duplicates.filter((each) => each.life === life)) {
      const { receiver, metadata } = rows[duplicate.row] ?? row(1)
      server.mintByOther(receiver, metadata)
      disturbed.add(metadata.title)
    }
    for (const { nft, to } of chosen.moves.filter((each) => each.life === life)) {
      const moved = own()[nft]
      if (moved === undefined) continue
      server.move(moved.id, to)
      disturbed.add((moved.metadata as { title: string }).title)
    }
  }

  const options: Partial<BatchOptions> = {
    chunkSize,
    inFlight,
    inOrder,
    timeout: 36_000_000,
    ...(markerKey === undefined ? {} : { markerKey }),
  }
  const run = async (changes: Partial<BatchOptions> = {}): Promise<BatchSummary | null> => {
    for (let go = 0; ; go++) {
      const summary = await machine.run(server, rows, { ...options, ...changes }).catch((error: { code?: string }) => {
        if (error.code !== 'run_finished') throw error
        return null
      })
      // A run that stopped because no request got through is resumed, as a user would do.
      if (summary === null || summary.stopped === null || go === 10) return summary
    }
  }

  for (const [life, kill] of kills.entries()) {
    killer = new Killer(kill)
    const openDatabase = killableDatabase(killer)
    await machine.run(server, rows, options, { openDatabase }).catch((error: { code?: string }) => {
      const isLost = error.code === 'run_finished' || error.code === 'seems_minted'
      if (!killer.crashed && !isLost) throw error
    })
    killer.revive()
    await machine.bury()
    meddle(life)
  }
  // What another client minted looks like rows that the state lost.
  const secondResult = await run({
    ...((await hasRun(machine)) && chosen.duplicates.length === 0 ? {} : { lookup: false }),
  })
  noneTwice()
  if (secondResult === null) {
    expect(own()).toHaveLength(ROWS)
    return
  }
  const { deployed, unknown } = secondResult.counts
  expect(deployed + unknown).toBe(ROWS)
  expect(secondResult.exitCode).toBe(unknown > 0 ? 9 : 0)
  // A retry that is rejected for its size stays unknown until the collection is read.
  if (idempotency && !chosen.rewrites && chosen.maxRows === undefined) expect(unknown).toBe(0)

  const reported = { deployed: [] as string[], absent: [] as string[], undecided: [] as string[] }
  const ids: string[] = []
  for await (const result of runResults(await openRun(machine.stateDir, secondResult.run.id))) {
    const title = titleOf(result.line)
    if (result.status === 'deployed') ids.push(result.nft_gdn_id ?? '')
    if (result.status === 'deployed') reported.deployed.push(title)
    else if (result.error?.startsWith('absent: ')) reported.absent.push(title)
    else if (result.error?.startsWith('undecided: ')) reported.undecided.push(title)
    else expect.unreachable(`line ${result.line} is ${result.status}: ${result.error}`)
  }
  expect(new Set(ids).size).toBe(ids.length)
  const taken = ownTitles()
  const absent = countBy(reported.absent)
  for (const [title, count] of absent) {
    expect(count, title).toBeLessThanOrEqual((expected.get(title) ?? 0) - (taken.get(title) ?? 0))
  }
  if (!chosen.rewrites) {
    expect(reported.undecided.filter((title) => !disturbed.has(title))).toEqual([])
    for (const [title, count] of countBy(reported.deployed)) {
      if (!disturbed.has(title)) expect(count, title).toBe(taken.get(title))
    }
  }

  left.length = 0
  const retried = await run({ retryAbsent: true }).catch((error: { code?: string }) => {
    // NFTs that another client minted in the meantime may look like them.
    if (error.code !== 'seems_minted' || disturbed.size === 0) throw error
    return null
  })
  noneTwice()
  if (retried !== null && !chosen.rewrites) expect(retried.counts.unknown).toBe(reported.undecided.length)
}

async function hasRun(machine: Machine): Promise<boolean> {
  return await openRun(machine.stateDir, 'drop').then(
    () => true,
    () => false,
  )
}

function countBy(titles: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const title of titles) counts.set(title, (counts.get(title) ?? 0) + 1)
  return counts
}

test(
  `under random faults, kills and other clients, no row is minted twice and outcomes are reported correctly (${RUNS} runs of ${ROWS} rows)`,
  async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (chosen) => {
        const machine = await Machine.start()
        try {
          await live(machine, chosen)
        } finally {
          await machine.stop()
        }
      }),
      { numRuns: RUNS },
    )
  },
  SOAK ? 7_200_000 : 180_000,
)
