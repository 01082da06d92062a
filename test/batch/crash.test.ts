import { cpSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { runResults } from '../../src/batch/runs/run-rows.ts'
import { listRuns, openRun, runStatus } from '../../src/batch/runs/runs.ts'
import type { BatchSummary } from '../../src/batch/types.ts'
import { FakeHostedApi, type Fault } from '../helpers/fake-hosted-api.ts'
import { Killer, killableDatabase, Machine } from './simulation.ts'
import { rowsUpTo } from './simulation-rows.ts'

const ROWS = rowsUpTo(9)
const TITLES = ROWS.map(({ metadata }) => metadata.title)

let machine: Machine | null = null
afterEach(() => machine?.stop())

/** Faults of the first requests, so that some outcomes are unknown. */
const FAULTS: (Fault | null)[] = ['cut_after', 'cut_before', null]

/** Runs the batch, kills it at a step, and resumes it from a copy of the files at that step, with any hot journal. */
async function killAndResume(at: number, idempotency: boolean) {
  await machine?.stop()
  machine = await Machine.start()
  const { stateDir } = machine
  const copy = `${stateDir}-copy`
  const killer = new Killer(at, () => cpSync(stateDir, copy, { recursive: true }))
  const faults = FAULTS.slice()
  const server = new FakeHostedApi({
    idempotency,
    faultOf: () => {
      const fault = faults.shift() ?? null
      return fault === null ? null : { fault }
    },
    onArrival: killer.step,
    onCommit: killer.step,
    onRead: killer.step,
    pollsToDeploy: 1,
  })
  const openDatabase = killableDatabase(killer)
  let summary = await machine.run(server, ROWS, {}, { openDatabase }).catch((error: unknown) => {
    if (killer.crashed) return null
    throw error
  })
  killer.revive()
  if (killer.crashed) {
    await machine.stop()
    await rename(copy, stateDir)
  }
  await machine.bury()
  const ended = (await machine.state((sql) => sql.get('SELECT 1 FROM runs WHERE ended_at IS NOT NULL'))) !== undefined
  if (killer.crashed && !ended) summary = await machine.run(server, ROWS)
  return { machine, killed: killer.crashed, summary, server }
}

interface End {
  machine: Machine
  summary: BatchSummary
  server: FakeHostedApi
}

async function everyKill(idempotency: boolean, check: (end: End, at: number) => Promise<void> | void) {
  let at = 1
  for (; ; at++) {
    const { summary, killed, ...end } = await killAndResume(at, idempotency)
    // Killed between the last record and the return, after all work was done.
    if (summary !== null) await check({ ...end, summary }, at)
    else expect([...end.server.countsByTitle().values()]).toEqual(TITLES.map(() => 1))
    if (!killed) break
  }
  // Each request has at least nine steps. Fewer would mean that the killer missed some.
  expect(at).toBeGreaterThan(50)
}

describe('a batch killed at any statement or request of its lookup, sending and reconciliation, and resumed', () => {
  test('on a server that honors Idempotency-Key, mints every row once and leaves none unknown', {
    timeout: 240_000,
  }, async () => {
    await everyKill(true, ({ summary, server }, at) => {
      expect([...server.countsByTitle()].sort(), `step ${at}`).toEqual(TITLES.map((title) => [title, 1]).sort())
      expect(summary.counts, `step ${at}`).toMatchObject({ total: 9, deployed: 9, unknown: 0 })
      expect(summary.exitCode).toBe(0)
    })
  })

  test('on any other server, mints no row twice, and reports sent rows as deployed and the others as absent', {
    timeout: 240_000,
  }, async () => {
    await everyKill(false, async ({ machine, summary, server }, at) => {
      const counts = server.countsByTitle()
      expect(Math.max(...counts.values()), `step ${at}`).toBe(1)
      expect(summary.counts, `step ${at}`).toMatchObject({ deployed: counts.size, unknown: 9 - counts.size })
      expect(summary.absentRows, `step ${at}`).toHaveLength(9 - counts.size)
      expect(summary.exitCode).toBe(counts.size < 9 ? 9 : 0)
      const run = await openRun(machine.stateDir, summary.run.name)
      for await (const result of runResults(run)) {
        const title = ROWS[result.line - 2]?.metadata.title ?? ''
        expect(result.status, `step ${at}`).toBe(counts.has(title) ? 'deployed' : 'unknown')
        if (counts.has(title)) expect(server.idsOf(title), `step ${at}`).toEqual([result.nft_gdn_id])
      }
    })
  })
})

test('a batch killed at any statement or request of a retry of absent rows mints none of them twice', {
  timeout: 240_000,
}, async () => {
  for (let at = 1; ; at++) {
    await machine?.stop()
    machine = await Machine.start()
    let killer = new Killer(Number.POSITIVE_INFINITY)
    const step = () => killer.step()
    const faults: Fault[] = ['cut_before', 'cut_after']
    const server = new FakeHostedApi({
      idempotency: false,
      faultOf: () => {
        const fault = faults.shift()
        return fault === undefined ? null : { fault }
      },
      onArrival: step,
      onCommit: step,
      onRead: step,
    })
    const first = await machine.run(server, ROWS, { inFlight: 1 })
    expect(first.absentRows).toHaveLength(3)
    killer = new Killer(at)
    const openDatabase = killableDatabase(killer)
    await machine.run(server, ROWS, { retryAbsent: true }, { openDatabase }).catch((error: unknown) => {
      if (!killer.crashed) throw error
    })
    killer.revive()
    await machine.bury()
    const retried = { retryAbsent: true, inFlight: 1 }
    const second = await machine.run(server, ROWS, retried).catch((error: { code?: string }) => error.code)
    if (typeof second === 'object') expect(second.doubledRows, `step ${at}`).toEqual([])
    // The second retry finds what the first sent just before it was killed. A third sends the rest.
    const third = await machine.run(server, ROWS, retried).catch((error: { code?: string }) => error.code)
    expect([...server.countsByTitle().values()], `step ${at}`).toEqual(TITLES.map(() => 1))
    if (typeof third === 'object') expect(third.counts, `step ${at}`).toMatchObject({ deployed: 9 })
    if (!killer.crashed) break
  }
})

test('a batch killed repeatedly, also on every resume, mints every row once', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    await machine?.stop()
    machine = await Machine.start()
    let killer = new Killer(seed)
    const server = new FakeHostedApi({
      idempotency: true,
      onArrival: () => killer.step(),
      onCommit: () => killer.step(),
    })
    let deployed = 0
    for (let life = 1; deployed < 9; life++) {
      killer = new Killer(seed + 37 * life)
      const openDatabase = killableDatabase(killer)
      await machine.run(server, ROWS, {}, { openDatabase }).catch((error: unknown) => {
        if (!killer.crashed) throw error
      })
      killer.revive()
      await machine.bury()
      const [run] = await listRuns(machine.stateDir)
      deployed = run === undefined ? 0 : (await runStatus(run)).counts.deployed
    }
    expect([...server.countsByTitle().values()]).toEqual(TITLES.map(() => 1))
  }
})
