import { copyFile, mkdir, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { claimFolder, familyId, lockFolder } from '../../src/batch/run-files.ts'
import type { AppendFile } from '../../src/batch/types.ts'
import { thisProcess } from '../../src/core/lock-holder.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { Machine, recordsOf } from './simulation.ts'
import { rowsUpTo } from './simulation-rows.ts'

const ROWS = rowsUpTo(6)

/** Called before a file is written durably: the process may sleep here. */
const hook = vi.hoisted(() => ({ beforeWrite: async (_path: string) => {} }))
vi.mock('../../src/core/durable-file.ts', async (original) => {
  const real = await original<typeof import('../../src/core/durable-file.ts')>()
  const writeDurably: typeof real.writeDurably = async (path, write) => {
    await hook.beforeWrite(path)
    await real.writeDurably(path, write)
  }
  return { ...real, writeDurably }
})

let machine: Machine | null = null
afterEach(() => machine?.stop())

/** Calls back at a step of a journal's file: before and after each write, after each sync. */
function interrupted(at: number, act: () => Promise<void>) {
  let steps = 0
  const step = async () => {
    if (++steps === at) await act()
  }
  return (file: AppendFile): AppendFile => ({
    ...file,
    async append(bytes) {
      await step()
      await file.append(bytes)
      await step()
    },
    async sync() {
      await file.sync()
      await step()
    },
  })
}

/** As somebody who took the lock from a sleeping one and ended at once: what follows from it must still be done. */
const takeLock = (here: Machine) =>
  takeLocks([lockFolder(here.stateDir, familyId(here.options())), claimFolder(here.stateDir, here.options())])

async function takeLocks(folders: readonly string[]): Promise<void> {
  const between = { ...(await thisProcess('batch')), released: true, mayWake: true }
  for (const folder of folders) {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'lock.2'), JSON.stringify(between))
  }
}

/** A runner sleeps at a step of its own; another, which can't see it, does the whole run meanwhile; the first wakes. */
async function sleepAt(at: number, idempotency: boolean) {
  await machine?.stop()
  const here = await Machine.start()
  machine = here
  const server = new FakeHostedApi({ idempotency, pollsToDeploy: 1 })
  let other: unknown = null
  const wrapJournal = interrupted(at, async () => {
    await takeLock(here)
    other = await here.run(server, ROWS)
  })
  const slept = await here.run(server, ROWS, { inFlight: 1 }, { wrapJournal }).then(
    () => 'finished',
    (error: { code?: string }) => error.code,
  )
  return { slept, other, server, records: await recordsOf(here.journal()) }
}

test.each([
  ['that honours Idempotency-Key: every row once', true],
  ['that does not: no row twice', false],
])('a runner that is taken over while it sleeps, and wakes, sends nothing more; on a server %s', async (_, honours) => {
  let at = 1
  for (; ; at++) {
    const { slept, other, server, records } = await sleepAt(at, honours)
    const counts = [...server.countsByTitle().values()]
    expect(
      counts.filter((count) => count > 1),
      `step ${at}`,
    ).toEqual([])
    if (honours) expect(counts, `step ${at}`).toHaveLength(ROWS.length)
    if (other === null) break
    expect(slept, `step ${at}`).toBe('run_busy')
    // The journal is the other's, and whole.
    expect(
      records.filter(({ t }) => t === 'plan'),
      `step ${at}`,
    ).toHaveLength(at <= 1 ? 1 : 2)
    expect(other).toMatchObject({ counts: { total: ROWS.length, pending: 0 } })
  }
  expect(at).toBeGreaterThan(15)
})

test('a runner that is taken over while it waits for a word to begin with begins nothing', async () => {
  const here = await Machine.start()
  machine = here
  const server = new FakeHostedApi({ idempotency: false, pollsToDeploy: 1 })
  const confirm = async () => {
    await takeLock(here)
    await here.run(server, ROWS)
  }
  await expect(here.run(server, ROWS, {}, { confirm })).rejects.toMatchObject({ code: 'run_busy' })
  expect([...server.countsByTitle().values()]).toEqual(ROWS.map(() => 1))
  expect(await recordsOf(here.journal())).toContainEqual(expect.objectContaining({ t: 'end' }))
})

test('a runner whose claim is taken over before its journal is written sends nothing', async () => {
  const here = await Machine.start()
  machine = here
  const server = new FakeHostedApi({ idempotency: false, pollsToDeploy: 1 })
  const other = { manifestPath: '/copy/drop.csv' }
  hook.beforeWrite = async (path) => {
    if (path !== here.journal()) return
    hook.beforeWrite = async () => {}
    await takeLocks([claimFolder(here.stateDir, here.options())])
    expect((await here.run(server, ROWS, other)).exitCode).toBe(0)
  }
  await expect(here.run(server, ROWS)).rejects.toMatchObject({ code: 'run_busy' })
  await expect(here.run(server, ROWS)).rejects.toMatchObject({ code: 'already_accepted' })
  expect([...server.countsByTitle().values()]).toEqual(ROWS.map(() => 1))
})

test('a run whose runner is out of sight and gives no sign is gone on with, after a while, and that is told', async () => {
  const here = await Machine.start()
  machine = here
  const folder = lockFolder(here.stateDir, familyId(here.options()))
  await mkdir(folder, { recursive: true })
  const lost = { ...(await thisProcess('batch of drop.csv')), space: 'pid:[1]', host: 'box-7', pid: 12 }
  await writeFile(join(folder, 'lock.1'), JSON.stringify(lost))
  await utimes(join(folder, 'lock.1'), new Date(0), new Date(0))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let isDone = false
  const running = here.run(new FakeHostedApi({ idempotency: false }), ROWS).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(100)
  }
  expect((await running).exitCode).toBe(0)
  const planned = here.events.find((event) => event.type === 'planned')
  expect(planned?.notes).toEqual([expect.stringMatching(/pid 12 of another machine or container, box-7\. It gives no/)])
})

test('a runner whose journal was replaced by another file sends nothing that stands in no journal', async () => {
  const here = await Machine.start()
  machine = here
  const server = new FakeHostedApi({ idempotency: false })
  const path = here.journal()
  // The first steps write the plan; then comes the first intent.
  const wrapJournal = interrupted(4, async () => {
    await copyFile(path, `${path}.copy`)
    await rename(`${path}.copy`, path)
  })
  await expect(here.run(server, ROWS, { inFlight: 1 }, { wrapJournal })).rejects.toMatchObject({ code: 'run_busy' })
  expect(server.minted.size).toBe(0)
})
