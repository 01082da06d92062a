/** @module-tag slow */
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { leaseStoredRun } from '../../src/batch/runs/open-stored-run.ts'
import { removeRun } from '../../src/batch/runs/remove-run.ts'
import { runResults } from '../../src/batch/runs/run-rows.ts'
import { listRuns, openRun, runStatus } from '../../src/batch/runs/runs.ts'
import { thisProcess } from '../../src/core/lock-holder.ts'
import { openSqlite, type RawDatabase } from '../../src/sqlite/driver.ts'
import type { Sql } from '../../src/sqlite/shared-database.ts'
import { openState } from '../../src/state/open-state.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { wrapDatabase } from '../helpers/wrap-database.ts'
import { Machine } from './simulation.ts'
import { CONTRACT, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const ROWS = rowsUpTo(6)
/** Tests only every nth statement at which the disk fills up. The soak tests all of them. */
const STRIDE = process.env.GDN_SOAK === '1' ? 1 : 3

/** Calls back before each statement of a database, with its number. */
const before = (act: (statement: number, sql: string) => void) => {
  let statement = 0
  return (path: string): RawDatabase => wrapDatabase(openSqlite(path), (sql) => act(++statement, sql))
}

test('reports an unusable state directory, and sends nothing', async () => {
  const server = new FakeHostedApi({ idempotency: false })
  const stateDir = `${machine.stateDir}/file`
  await writeFile(stateDir, '')
  await expect(machine.run(server, rowsUpTo(3), { stateDir })).rejects.toMatchObject({
    code: 'data_dir',
    hint: expect.stringContaining('--state-dir'),
  })
  expect(server.attempts).toBe(0)
})

test('lets only the owner read the state', { tags: ['promise'] }, async () => {
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(3))
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
  expect(await mode(`${machine.stateDir}/state.db`)).toBe('600')
})

test(`stops when the disk is full at a statement (one in ${STRIDE}), and resumes with free space`, async () => {
  for (let at = 1; ; at += STRIDE) {
    await machine.stop()
    machine = await Machine.start()
    const server = new FakeHostedApi({ idempotency: true })
    const openDatabase = before((statement, sql) => {
      if (statement < at || /^(ROLLBACK|PRAGMA|SELECT)/.test(sql.trim())) return
      throw Object.assign(new Error('database or disk is full'), { rawCode: 13 })
    })
    const error = await machine.run(server, rowsUpTo(7), {}, { openDatabase }).catch((reason: unknown) => reason)
    if (!(error instanceof Error)) {
      expect(at).toBeGreaterThan(100)
      return
    }
    expect(error, `statement ${at}`).toMatchObject({
      code: 'data_dir',
      message: expect.stringContaining('no space left'),
    })
    await machine.bury()
    const summary = await machine.run(server, rowsUpTo(7)).catch((reason: { code: string }) => reason.code)
    if (summary !== 'run_finished')
      expect(summary, `statement ${at}`).toMatchObject({ counts: { total: 7, deployed: 7 } })
    expect([...server.countsByTitle().values()], `statement ${at}`).toEqual([1, 1, 1, 1, 1, 1, 1])
  }
})

test('shows a run while another process works on it', { tags: ['promise'] }, async () => {
  const seen: unknown[] = []
  let looked: Promise<void> = Promise.resolve()
  const onEvent = (event: { type: string }) => {
    if (event.type !== 'sending') return
    looked = looked.then(async () => {
      const [run] = await listRuns(machine.stateDir)
      if (run !== undefined) seen.push((await runStatus(run)).counts.total)
    })
  }
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(9), {}, { onEvent })
  await looked
  expect(seen).toEqual([9, 9, 9])
  expect((await listRuns(machine.stateDir))[0]).toMatchObject({ contractAddress: CONTRACT, running: false })
})

/** Changes the state between the check of a removal and the removal itself. */
const meanwhile = (change: string) =>
  before((_statement, sql) => {
    if (sql !== 'BEGIN EXCLUSIVE') return
    const other = openSqlite(join(machine.stateDir, 'state.db'))
    other.exec(change)
    other.close()
  })

test('does not remove a run that a process is working on', { tags: ['promise'] }, async () => {
  const { run } = await machine.run(new FakeHostedApi({ idempotency: false }), ROWS)
  const opened = await openRun(machine.stateDir, run.id)
  const mine = JSON.stringify(await thisProcess('batch of drop.csv'))
  await machine.state((sql) => sql.run('UPDATE runs SET holder = ?', mine))
  await expect(removeRun(opened)).rejects.toMatchObject({ code: 'run_busy' })
  expect(await listRuns(machine.stateDir)).toHaveLength(1)
})

test('does not remove a run that another process starts to work on in the meantime', {
  tags: ['promise'],
}, async () => {
  const { run } = await machine.run(new FakeHostedApi({ idempotency: false }), ROWS)
  const mine = JSON.stringify(await thisProcess('batch of drop.csv'))
  const opened = await openRun(machine.stateDir, run.id)
  const open = meanwhile(`UPDATE runs SET holder = '${mine}'`)
  await expect(removeRun(opened, { open })).rejects.toMatchObject({ code: 'run_busy' })
  expect(await listRuns(machine.stateDir)).toHaveLength(1)
})

test('does not remove a run that gets a later run in the meantime', { tags: ['promise'] }, async () => {
  const server = new FakeHostedApi({ idempotency: false })
  const { run } = await machine.run(server, ROWS)
  const later = await machine.run(server, ROWS, { again: true })
  const opened = await openRun(machine.stateDir, run.id)
  const { family } = opened
  await machine.state((sql) => sql.run("UPDATE drops SET family = 'another' WHERE run_id = ?", later.run.id))
  const open = meanwhile(`UPDATE drops SET family = '${family}'`)
  await expect(removeRun(opened, { open })).rejects.toMatchObject({
    code: 'run_busy',
    hint: expect.stringContaining(later.run.name),
  })
  expect(await listRuns(machine.stateDir)).toHaveLength(2)
})

test('reports a run that is removed while its results are read', async () => {
  const { run } = await machine.run(new FakeHostedApi({ idempotency: false }), ROWS)
  const opened = await openRun(machine.stateDir, run.id)
  await removeRun(opened)
  await expect(runResults(opened).next()).rejects.toMatchObject({ code: 'not_found_locally' })
})

test('keeps what is written although another write of the same moment fails', { tags: ['promise'] }, async () => {
  const { run } = await machine.run(new FakeHostedApi({ idempotency: false }), ROWS)
  const state = await openState(machine.stateDir)
  onTestFinished(() => state.close())
  const store = await leaseStoredRun(state, machine.options())
  const note = (sql: Sql) => sql.run("UPDATE runs SET note = note || 'x' WHERE id = ?", run.id)
  const before = await store.read((sql) => sql.get<{ note: string }>('SELECT note FROM runs')?.note)
  const fails = () => {
    throw new Error('this row is taken')
  }
  const ends = await Promise.allSettled([store.write(note), store.write(fails), store.write(note)])
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await store.read((sql) => sql.get('SELECT note FROM runs'))).toEqual({ note: `${before}xx` })
  await store.release()
})

describe('the takeover of a run', () => {
  /** Pauses before a commit, while another process, which can't see this one, completes the run. */
  async function sleepAt(at: number, idempotency: boolean) {
    await machine.stop()
    machine = await Machine.start()
    const server = new FakeHostedApi({ idempotency, pollsToDeploy: 1 })
    let other: unknown = null
    let turn = 0
    const sleeping = async () => {
      if (++turn !== at) return
      await machine.bury()
      await machine.state((sql) => sql.run('UPDATE runs SET fence = fence + 1'))
      other = await machine.run(server, ROWS)
    }
    const send = server.send.bind(server)
    server.send = async (...request) => {
      await sleeping()
      return await send(...request)
    }
    const pacer = {
      take: async () => {
        await sleeping()
        return { done: () => {} }
      },
      hold: () => {},
    }
    const confirm = sleeping
    const slept = await machine.run(server, ROWS, { inFlight: 1 }, { pacer, confirm }).then(
      () => 'finished',
      (error: { code?: string }) => error.code,
    )
    return { slept, other, server }
  }

  test.each([
    ['a server that honors Idempotency-Key mints every row once', true],
    ['any other server mints no row twice', false],
  ])('stops a process that pauses in the meantime, so that %s', { tags: ['promise'] }, async (_what, idempotency) => {
    let at = 1
    for (; ; at++) {
      const { slept, other, server } = await sleepAt(at, idempotency)
      const counts = [...server.countsByTitle().values()]
      expect(
        counts.filter((count) => count > 1),
        `step ${at}`,
      ).toEqual([])
      if (other === null) break
      expect(slept, `step ${at}`).toBe('run_busy')
      expect(other).toMatchObject({ counts: { total: ROWS.length, pending: 0 } })
    }
    expect(at).toBeGreaterThan(4)
  })

  test('from a process in another container that stopped renewing it, succeeds after a timeout', async () => {
    const server = new FakeHostedApi({ idempotency: false })
    const stop = new AbortController()
    const aborted = { take: () => Promise.reject(new Error('stopped')), hold: () => {} }
    await machine.run(server, ROWS, {}, { pacer: aborted }).catch(() => stop.abort())
    const lost = { ...(await thisProcess('batch of drop.csv')), space: 'pid:[1]', host: 'box-7', pid: 12 }
    await machine.state((sql) => sql.run('UPDATE runs SET holder = ?, beat_at = 0', JSON.stringify(lost)))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let isDone = false
    const running = machine.run(server, ROWS).finally(() => {
      isDone = true
    })
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve))
      vi.advanceTimersByTime(100)
    }
    expect((await running).exitCode).toBe(0)
  })
})
