/** @module-tag slow */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../src/sqlite/driver.ts'
import { openState, openStateIfExists, type State, statePath } from '../../src/state/open-state.ts'
import { moveOperation, type OperationState, TRANSITIONS } from '../../src/state/transitions.ts'
import { bundleProcess } from '../helpers/bundle-process.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'
import { wrapDatabase } from '../helpers/wrap-database.ts'

let stateDir: string
const opened: State[] = []
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'gdn-state-'))
})
afterEach(async () => {
  for (const state of opened.splice(0)) state.close()
  await rm(stateDir, { recursive: true, force: true })
})

async function open(dir = stateDir, options = {}): Promise<State> {
  const state = await openState(dir, options)
  opened.push(state)
  return state
}

/** Mounts of this process only, as in a container. */
const NAMESPACE = ['unshare', '--mount'] as const

const addServer = (state: State, origin: string, signal?: AbortSignal) =>
  state.write((sql) => sql.run('INSERT INTO servers (origin) VALUES (?)', origin), signal)
const servers = (state: State) =>
  state.read((sql) => sql.all<{ origin: string }>('SELECT origin FROM servers ORDER BY id').map(({ origin }) => origin))

describe('the file', () => {
  test('is readable by its owner only, and has no journal after a commit', async () => {
    await addServer(await open(), 'a')
    for (const name of ['state.db', 'state.db-seal', 'state.db-holder'])
      expect((await stat(join(stateDir, name))).mode & 0o777).toBe(0o600)
    expect(existsSync(join(stateDir, 'state.db-journal'))).toBe(false)
  })

  test('is written through a rollback journal, and synced before a commit returns', async () => {
    const pragmas = await (await open()).read((sql) => [
      sql.get('PRAGMA journal_mode'),
      sql.get('PRAGMA synchronous'),
      sql.get('PRAGMA fullfsync'),
      sql.get('PRAGMA foreign_keys'),
    ])
    expect(pragmas).toEqual([{ journal_mode: 'delete' }, { synchronous: 3 }, { fullfsync: 1 }, { foreign_keys: 1 }])
  })

  test.each([
    ['a command that sends', openState],
    ['a command that only reads', openStateIfExists],
  ])('has its temporary tables in a file, not in memory, for %s', async (_, openIt) => {
    await open()
    const state = await openIt(stateDir)
    expect(await state?.read((sql) => sql.get('PRAGMA temp_store'))).toEqual({ temp_store: 1 })
    state?.close()
  })

  test('needs no folder for temporary files', async (context) => {
    const script = join(stateDir, 'process.mjs')
    await bundleProcess(new URL('no-temporary-folder-process.ts', import.meta.url), script, import.meta.url)
    const home = process.getuid?.() === 0 && existsSync('/dev/shm') ? await mkdtemp('/dev/shm/gdn-state-') : null
    const readOnly = (path: string) => `mount --bind ${path} ${path} && mount -o remount,bind,ro ${path}`
    const both = `${readOnly('/tmp')} && ${readOnly('/var/tmp')}`
    const isolated = (...argv: string[]) => {
      const [command, ...before] = [...NAMESPACE, 'sh', '-c', `${both} && cd /tmp && exec "$@"`, 'sh']
      return spawnSync(command, [...before, ...argv], { env: { PATH: process.env.PATH }, encoding: 'utf8' })
    }
    if (home === null || isolated('true').status !== 0) return context.skip('needs a mount namespace')
    onTestFinished(() => rm(home, { recursive: true }))
    await copyFile(script, join(home, 'process.mjs'))
    const { stdout, stderr } = isolated(process.execPath, join(home, 'process.mjs'), home)
    expect([stdout, stderr]).toEqual(['changed 5000', ''])
  })

  test('is not created by a command that only reads', async () => {
    expect(await openStateIfExists(stateDir)).toBeNull()
    expect(existsSync(statePath(stateDir))).toBe(false)
  })

  test('the file of another program is rejected and left unchanged, also in WAL mode', async () => {
    const raw = openSqlite(statePath(stateDir))
    raw.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n)')
    raw.close()
    const before = await readFile(statePath(stateDir))
    for (const openIt of [openState, openStateIfExists]) {
      await expect(openIt(stateDir)).rejects.toMatchObject({
        code: 'data_dir',
        message: expect.stringContaining('not a gdn database'),
      })
    }
    expect(await readFile(statePath(stateDir))).toEqual(before)
  })

  test('the file that is damaged is detected after an unclean end, and rejected', async () => {
    const state = await open()
    for (let n = 0; n < 400; n++) await addServer(state, `https://${n}.example/${'x'.repeat(100)}`)
    const bytes = await readFile(statePath(stateDir))
    const copy = join(stateDir, 'copy')
    await mkdir(copy)
    bytes.fill(0xa5, bytes.length - 3 * 4096)
    await writeFile(statePath(copy), bytes)
    // A different inode, which was not used here before.
    await expect(openState(copy)).rejects.toMatchObject({
      code: 'data_dir',
      message: expect.stringMatching(/^.+state\.db is damaged: [^*\n]+$/),
    })
  })

  test.each([
    ['a command that sends', openState],
    ['a command that only reads', openStateIfExists],
  ])(
    'with an overwritten first page is reported as damaged by %s, without suggesting another folder',
    async (_, openIt) => {
      await open()
      const bytes = await readFile(statePath(stateDir))
      await writeFile(statePath(stateDir), bytes.fill(0xa5, 0, 4096))
      await expect(openIt(stateDir)).rejects.toMatchObject({
        code: 'data_dir',
        message: expect.stringContaining('state.db is damaged: '),
        hint: expect.not.stringContaining('--state-dir'),
      })
    },
  )

  test('the file that is replaced while in use rejects writes', async () => {
    const state = await open()
    await copyFile(statePath(stateDir), join(stateDir, 'new.db'))
    await rm(statePath(stateDir))
    await copyFile(join(stateDir, 'new.db'), statePath(stateDir))
    await expect(addServer(state, 'a')).rejects.toMatchObject({ code: 'data_dir', message: /was replaced/ })
  })
})

describe('errors of the disk', () => {
  test('report the path and a fix if no database can be created', async () => {
    // Root can write to read-only folders, so a file replaces the folder there.
    const folder = join(stateDir, 'state')
    if (process.getuid?.() === 0) await writeFile(folder, '')
    else {
      await mkdir(folder)
      await chmod(folder, 0o500)
    }
    await expect(openState(folder)).rejects.toMatchObject({
      code: 'data_dir',
      message: expect.stringContaining(folder),
      hint: expect.stringContaining('--state-dir'),
    })
  })

  test('report a full disk, and leave the data unchanged', async (context) => {
    const disk = await createSmallDisk(512)
    if (typeof disk === 'string') return context.skip(disk)
    try {
      const state = await open(disk.path)
      await addServer(state, 'first')
      await disk.fill()
      const full = { code: 'data_dir', message: expect.stringContaining('no space left') }
      await expect(addServer(state, 'x'.repeat(20_000))).rejects.toMatchObject(full)
      expect(await servers(state)).toEqual(['first'])
      await disk.makeRoom()
      await addServer(state, 'second')
      expect(await servers(state)).toEqual(['first', 'second'])
      await expect(openState(join(disk.path, 'state'))).resolves.toBeDefined()
    } finally {
      await disk.remove()
    }
  })

  test('leave the state unchanged if the disk is full at any statement', async () => {
    let left = Number.POSITIVE_INFINITY
    const full = Object.assign(new Error('database or disk is full'), { rawCode: 13 })
    const state = await open(stateDir, {
      open: (path: string) =>
        wrapDatabase(openSqlite(path), (sql) => {
          if (left-- === 0 && sql !== 'ROLLBACK') throw full
        }),
    })
    await addServer(state, 'first')
    for (let at = 0; ; at++) {
      left = at
      const before = await servers(state).catch(() => null)
      left = at
      const done = await addServer(state, `at-${at}`).then(
        () => true,
        (error: unknown) => error,
      )
      left = Number.POSITIVE_INFINITY
      if (done === true) {
        expect(at).toBeGreaterThan(4)
        break
      }
      expect(done).toMatchObject({ code: 'data_dir', message: expect.stringContaining('no space left') })
      if (before !== null) expect(await servers(state)).toEqual(before)
    }
    // Only an error after the seal was written looks like a copy: at the last statements of a transaction.
    const epoch = await state.read((sql) => sql.get<{ epoch: number }>('SELECT epoch FROM state')?.epoch)
    expect(epoch).toBeLessThanOrEqual(2)
  })
})

describe('while another process has the lock', () => {
  async function holder(how: 'SIGSTOP' | 'wait'): Promise<ChildProcess> {
    const script = join(stateDir, 'locked.mjs')
    await bundleProcess(new URL('./locked-process.ts', import.meta.url), script, import.meta.url)
    const child = spawn(process.execPath, [script, stateDir, how], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('it ended before it had the lock')))
    if (child.stdout !== null) await Promise.race([once(child.stdout, 'data'), ended])
    ended.catch(() => undefined)
    return child
  }

  test('the event loop is not blocked, and Ctrl-C ends the wait', async () => {
    const state = await open()
    await holder('wait')
    const stop = new AbortController()
    // Timers run only between the attempts to get the lock, which end after 5 s without progress.
    let ticks = 0
    const ticking = setInterval(() => {
      ticks += 1
      if (ticks === 10) stop.abort(new Error('interrupted'))
    }, 5)
    onTestFinished(() => clearInterval(ticking))
    await expect(addServer(state, 'a', stop.signal)).rejects.toThrow('interrupted')
  })

  test('a process that is stopped inside a transaction is named after 5 s, and nothing is written', async () => {
    const state = await open()
    const { pid } = await holder('SIGSTOP')
    const began = performance.now()
    await expect(addServer(state, 'a')).rejects.toMatchObject({
      code: 'run_busy',
      message: expect.stringContaining(`pid ${pid}`),
      hint: expect.stringContaining('kill -CONT'),
    })
    expect(performance.now() - began).toBeGreaterThanOrEqual(5_000)
  })

  test('a process that is killed inside a transaction releases the lock, and its changes are rolled back', async () => {
    const state = await open()
    await addServer(state, 'first')
    const child = await holder('SIGSTOP')
    const waiting = addServer(state, 'second')
    child.kill('SIGKILL')
    await waiting
    expect(await servers(state)).toEqual(['first', 'second'])
  })
})

describe('operations', () => {
  const ALL = Object.keys(TRANSITIONS) as OperationState[]
  const insert = `INSERT INTO operations (id, run_id, server_id, kind, identity, state) VALUES (?, 'run', 1, 'createnft', ?, 'planned')`

  async function withRun(): Promise<State> {
    const state = await open()
    await state.write((sql) => {
      sql.script(`INSERT INTO servers (id, origin) VALUES (1, 'a');
        INSERT INTO runs (id, kind, name, note, started_at, fence, beat_at) VALUES ('run', 'command', 'run', '', 0, 1, 0);
        INSERT INTO requests (id, idempotency_key, body, sha256, backend_url) VALUES (1, 'k', '', '', '')`)
    })
    return state
  }

  /** Finds a path from `planned` to a state by allowed transitions. */
  function wayTo(
    goal: OperationState,
    from: OperationState = 'planned',
    seen: OperationState[] = [],
  ): OperationState[] | null {
    if (from === goal) return []
    for (const next of TRANSITIONS[from]) {
      if (seen.includes(next)) continue
      const rest = wayTo(goal, next, [...seen, from])
      if (rest !== null) return [next, ...rest]
    }
    return null
  }

  test('change their state only as the table of transitions allows', async () => {
    const state = await withRun()
    for (const from of ALL) {
      for (const to of ALL) {
        if (from === to) continue
        const id = `${from}-${to}`
        await state.write((sql) => {
          sql.run(insert, id, id)
          sql.run('UPDATE operations SET request_id = 1, accepted_at = 1, accepted_by = ? WHERE id = ?', 'answer', id)
          for (const step of wayTo(from) ?? []) moveOperation(sql, id, step)
        })
        const moved = await state
          .write((sql) => moveOperation(sql, id, to))
          .then(
            () => true,
            () => false,
          )
        expect(moved, id).toBe(TRANSITIONS[from].includes(to))
      }
    }
  })

  test('operations of the same name are live one at a time, by a constraint of the database', async () => {
    const state = await withRun()
    await state.write((sql) => sql.run(insert, 'one', 'same'))
    await expect(state.write((sql) => sql.run(insert, 'two', 'same'))).rejects.toThrow(/UNIQUE/)
    await state.write((sql) => sql.run('UPDATE operations SET released_at = 1 WHERE id = ?', 'one'))
    await state.write((sql) => sql.run(insert, 'two', 'same'))
  })

  test('are never intended without bytes, and the bytes of a request never change', async () => {
    const state = await withRun()
    await state.write((sql) => sql.run(insert, 'one', 'same'))
    await expect(state.write((sql) => moveOperation(sql, 'one', 'intended'))).rejects.toThrow(/CHECK/)
    await expect(state.write((sql) => sql.run('UPDATE requests SET body = ?', 'x'))).rejects.toThrow(/never change/)
  })
})
