import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { leaseStoredRun } from '../../src/batch/runs/open-stored-run.ts'
import { LOCK_TIMING, type LockHolder, type LockTiming, thisProcess } from '../../src/core/lock-holder.ts'
import { claimOperation } from '../../src/operations/leased-run.ts'
import { removeCommand } from '../../src/operations/remove-command.ts'
import type { Sql } from '../../src/sqlite/shared-database.ts'
import { forgetDrop } from '../../src/state/drops.ts'
import { openState, State } from '../../src/state/open-state.ts'
import { acquireRun, deleteRun, readLease, recordHeartbeat, releaseRun } from '../../src/state/runs.ts'
import { Machine } from '../batch/simulation.ts'
import { rowsUpTo } from '../batch/simulation-rows.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'

let machine: Machine
let state: State
/** Whether the manifest has a run. */
let isBegun: boolean
beforeEach(async () => {
  machine = await Machine.start()
  isBegun = false
  state = await openState(machine.stateDir)
})
afterEach(async () => {
  vi.restoreAllMocks()
  state.close()
  await machine.stop()
})

/** Watches a holder only for a moment. */
const TIMING = { ...LOCK_TIMING, watchMs: 1 }
const NAME = { origin: 'https://nft.example', blockchain: null, contract: null, identity: 'one' }

interface Held {
  runId: string
  write(work: (sql: Sql) => unknown): Promise<unknown>
  release(): Promise<void>
}

async function acquireCommand(timing: LockTiming = TIMING): Promise<Held> {
  const { signal } = new AbortController()
  const name = { ...NAME, kind: 'createcollection' as const }
  return (await claimOperation(state, name, { note: 'a test', signal, timing })).run
}

async function acquireManifest(timing: LockTiming = TIMING): Promise<Held> {
  if (!isBegun) await machine.run(new FakeHostedApi({ idempotency: true }), rowsUpTo(1))
  isBegun = true
  const run = await leaseStoredRun(state, machine.options(), timing)
  return { runId: run.id, write: (work) => run.write(work), release: () => run.release() }
}

describe.each([
  ['a single command', acquireCommand],
  ['a manifest', acquireManifest],
])('the run of %s', (_kind, acquire) => {
  let runId: string

  /** Has another process hold the run, whose last heartbeat was some time ago. */
  async function heldByAnother(other: Partial<LockHolder>, silentMs: number): Promise<void> {
    const run = await acquire()
    runId = run.runId
    await run.release()
    const holder = { ...(await thisProcess('another process')), ...other }
    await state.write((sql) => acquireRun(sql, runId, readLease(sql, runId), holder, Date.now() - silentMs))
  }

  const busy = { code: 'run_busy', message: expect.stringContaining('another process') }
  // No process of this machine can have that ID.
  const CONTAINER = { space: 'pid:[1]', pid: 2 ** 22 + 1 }

  test.each([
    ['in another container', CONTAINER],
    ['on another machine', { bootId: 'another', host: 'elsewhere' }],
    ['in a container of another machine with the same host name', { ...CONTAINER, bootId: null }],
  ])('a run that a process %s holds is busy until its heartbeat is two minutes old', async (_where, other) => {
    await heldByAnother(other, 60_000)
    await expect(acquire()).rejects.toMatchObject({ ...busy, hint: expect.stringMatching(/again in \d+ s/) })
    await heldByAnotherSince(121_000)
    await (await acquire()).release()
  })

  const heldByAnotherSince = (silentMs: number) =>
    state.write((sql) => sql.run('UPDATE runs SET beat_at = ? WHERE id = ?', Date.now() - silentMs, runId))

  test('a run that a process held before the machine was restarted is free', async () => {
    await heldByAnother({ bootId: 'another' }, 0)
    await (await acquire()).release()
  })

  test('a run that a process of this machine held, which has ended, is free without a wait', async () => {
    await heldByAnother({ pid: 2 ** 22 + 1 }, 0)
    await (await acquire({ ...TIMING, watchMs: 3_600_000 })).release()
  })

  test('is free although the clock was set back by an hour since the last heartbeat', async () => {
    await heldByAnother(CONTAINER, -3_600_000)
    await (await acquire()).release()
  })

  test('a run that a running process of this machine holds is busy, however old its heartbeat is', async () => {
    await heldByAnother({}, 3_600_000)
    await expect(acquire()).rejects.toMatchObject(busy)
  })

  /** Changes the run while a process that wants it watches its holder, before or after it looks again. */
  function whileWatched(when: 'before' | 'after', change: (sql: Sql) => unknown): void {
    const read = state.read.bind(state)
    vi.spyOn(state, 'read').mockImplementationOnce(async (work, signal) => {
      if (when === 'before') await state.write(change)
      const seen = await read(work, signal)
      if (when === 'after') await state.write(change)
      return seen
    })
  }

  const beating = (sql: Sql) => recordHeartbeat(sql, { runId, fence: readLease(sql, runId).fence }, Date.now())

  test.each([
    ['before', 'Wait until the process ends, or press Ctrl-C in its terminal.'],
    ['after', expect.stringMatching(/again in \d+ s/)],
  ] as const)('is busy if its holder writes a heartbeat while it is watched (%s the last look)', async (when, hint) => {
    await heldByAnother(CONTAINER, 130_000)
    whileWatched(when, beating)
    await expect(acquire()).rejects.toMatchObject({ ...busy, hint })
  })

  test('is watched for a while before it is acquired', async () => {
    await heldByAnother(CONTAINER, 130_000)
    const since = performance.now()
    await (await acquire({ ...TIMING, watchMs: 100 })).release()
    expect(performance.now() - since).toBeGreaterThan(95)
  })

  test('is busy if a third process acquires it first, in the same millisecond', async () => {
    await heldByAnother(CONTAINER, 130_000)
    const third = await thisProcess('a third process')
    whileWatched('after', (sql) => {
      const seen = readLease(sql, runId)
      acquireRun(sql, runId, seen, third, seen.beatAt)
    })
    await expect(acquire()).rejects.toMatchObject({ code: 'run_busy', message: expect.stringContaining('third') })
  })

  test('is no longer changed by a process from which it was taken over', async () => {
    const run = await acquire()
    const other = await thisProcess('another process')
    const seen = await state.read((sql) => readLease(sql, run.runId))
    await state.write((sql) => acquireRun(sql, run.runId, seen, other, 1))
    const late = { runId: run.runId, fence: seen.fence }
    await expect(run.write(() => 'written')).rejects.toMatchObject({ code: 'run_busy' })
    await expect(run.release()).rejects.toMatchObject({ code: 'run_busy' })
    await state.write((sql) => {
      recordHeartbeat(sql, late, 2)
      releaseRun(sql, late)
    })
    expect(await state.read((sql) => readLease(sql, run.runId))).toMatchObject({ holder: other, beatAt: 1 })
  })

  test('is held by heartbeats', async () => {
    const run = await acquire({ ...TIMING, beatMs: 1 })
    const { beatAt } = await state.read((sql) => readLease(sql, run.runId))
    await expect.poll(async () => (await state.read((sql) => readLease(sql, run.runId))).beatAt).toBeGreaterThan(beatAt)
    await run.release()
  })
})

test('a run that was removed and created again is not changed by the process that held the removed one', async () => {
  const removed = await leaseStoredRun(state, machine.options())
  await state.write((sql) => forgetDrop(sql, removed.id))
  const created = await leaseStoredRun(state, machine.options())
  expect(created.id).toBe(removed.id)
  await expect(removed.write(() => 'written')).rejects.toMatchObject({ code: 'run_busy' })
  await expect(removed.release()).rejects.toMatchObject({ code: 'run_busy' })
  await created.release()
})

describe('the record of a single command', () => {
  test('is created again if its holder ended and removed it while it was watched', async () => {
    const run = await acquireCommand()
    await run.release()
    const holder = { ...(await thisProcess('another process')), space: 'pid:[1]', pid: 2 ** 22 + 1 }
    await state.write((sql) => acquireRun(sql, run.runId, readLease(sql, run.runId), holder, Date.now() - 130_000))
    const read = state.read.bind(state)
    vi.spyOn(state, 'read').mockImplementationOnce(async (work, signal) => {
      await state.write((sql) => deleteRun(sql, run.runId))
      return await read(work, signal)
    })
    const again = await acquireCommand()
    expect(again.runId).not.toBe(run.runId)
    await again.release()
  })

  test('is not removed while a process holds it', async () => {
    const run = await acquireCommand()
    const { runId } = run
    await expect(removeCommand(machine.stateDir, runId)).rejects.toMatchObject({ code: 'run_busy' })
    await run.release()
    await removeCommand(machine.stateDir, runId)
    await expect(state.read((sql) => readLease(sql, runId))).rejects.toMatchObject({ code: 'run_busy' })
  })

  test('is not removed if a process acquires it in the meantime', async () => {
    const run = await acquireCommand()
    const { runId } = run
    await run.release()
    const other = await thisProcess('another process')
    const ended = { ...other, pid: 2 ** 22 + 1 }
    await state.write((sql) => acquireRun(sql, runId, readLease(sql, runId), ended, 1))
    const { write } = State.prototype
    vi.spyOn(State.prototype, 'write').mockImplementationOnce(async function (this: State, work, signal) {
      const seen: unknown = await write.call(this, work, signal)
      await write.call(this, (sql) => acquireRun(sql, runId, readLease(sql, runId), other, 1))
      return seen as never
    })
    await expect(removeCommand(machine.stateDir, runId)).rejects.toMatchObject({
      code: 'run_busy',
      message: expect.stringContaining('another process'),
    })
    vi.restoreAllMocks()
    expect(await state.read((sql) => readLease(sql, runId))).toMatchObject({ beatAt: 1 })
  })
})
