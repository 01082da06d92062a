import childProcess from 'node:child_process'
import fs, { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openSqlite, type RawDatabase } from '../../src/sqlite/driver.ts'
import { fileProblem, isBusyError } from '../../src/sqlite/sqlite-error.ts'
import { openState } from '../../src/state/open-state.ts'

type Driver = 'libsql' | 'node:sqlite'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
/** Before 22.16, `node:sqlite` doesn't tell whether a statement returns rows. */
const hasNodeSqlite = major >= 24 || (major === 22 && minor >= 16)
const PAIRS = [
  ['libsql', 'node:sqlite'],
  ['node:sqlite', 'libsql'],
] as const

let folder: string
let opened: RawDatabase[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gdn-sqlite-'))
  opened = []
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  for (const database of opened) database.close()
  rmSync(folder, { recursive: true, force: true })
})

function openWith(driver: Driver, path: string, options = {}): RawDatabase {
  vi.stubEnv('GDN_TEST_SQLITE', driver === 'libsql' ? 'libsql' : '')
  return openSqlite(path, options)
}

function open(driver: Driver, name = 'a.db'): RawDatabase {
  const database = openWith(driver, join(folder, name))
  opened.push(database)
  return database
}

const close = (database: RawDatabase) => opened.splice(opened.indexOf(database), 1)[0]?.close()

const errorOf = (act: () => unknown): unknown => {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('no error')
}

describe.runIf(process.platform === 'linux')('when libsql is loaded', () => {
  const one = () => open('libsql').prepare('SELECT 1 AS one').all([])
  const spyOnReport = () => {
    const { cache } = createRequire(import.meta.url)
    for (const file of Object.keys(cache)) {
      if (/node_modules\/(libsql|detect-libc|@neon-rs)\//.test(file)) delete cache[file]
    }
    return vi.spyOn(process.report, 'getReport')
  }

  test('no diagnostic report of the process is made', () => {
    const getReport = spyOnReport()
    expect(one()).toEqual([{ one: 1 }])
    expect(getReport).not.toHaveBeenCalled()
    expect(process.report.getReport).toBe(getReport)
  })

  test('a report is made on a system without /usr/bin/ldd and a shell', () => {
    const getReport = spyOnReport()
    const { readFileSync } = fs
    vi.spyOn(fs, 'readFileSync').mockImplementation((path, ...options) => {
      if (path === '/usr/bin/ldd') throw new Error('ENOENT')
      return Reflect.apply(readFileSync, fs, [path, ...options])
    })
    vi.spyOn(childProcess, 'execSync').mockImplementation(() => {
      throw new Error('ENOENT')
    })
    expect(one()).toEqual([{ one: 1 }])
    expect(getReport).toHaveBeenCalled()
  })
})

test('the built-in driver is used if the runtime supports it completely, and its warning is hidden', () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const rows = openWith('node:sqlite', ':memory:').prepare('SELECT 1 AS one').all([])
  // Rows of libsql are ordinary objects.
  expect(Object.getPrototypeOf(rows[0]) === null).toBe(hasNodeSqlite)
  expect(emitWarning).not.toHaveBeenCalled()
})

describe.each(['libsql', 'node:sqlite'] as const)('%s', (driver) => {
  const it = test.skipIf(driver === 'node:sqlite' && !hasNodeSqlite)

  it('names the columns of rows, also of a column that was added to a prepared statement', () => {
    const database = open(driver)
    database.exec('CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)')
    const select = database.prepare('SELECT * FROM t')
    expect(select.all([]).map((row) => ({ ...(row as object) }))).toEqual([{ a: 1 }])
    database.exec('ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 2')
    expect(select.all([]).map((row) => ({ ...(row as object) }))).toEqual([{ a: 1, b: 2 }])
    expect([...select.iterate([])].map((row) => ({ ...(row as object) }))).toEqual([{ a: 1, b: 2 }])
    const returning = database.prepare('INSERT INTO t (a) VALUES (?) RETURNING b AS second, a')
    expect(returning.all([3]).map((row) => ({ ...(row as object) }))).toEqual([{ second: 2, a: 3 }])
  })

  it('returns what was stored: text, bytes, numbers and null', () => {
    const database = open(driver)
    database.exec('CREATE TABLE t (text TEXT, bytes BLOB, number INTEGER, real REAL, missing TEXT) STRICT')
    const insert = database.prepare('INSERT INTO t VALUES (?, ?, ?, ?, ?)')
    const bytes = new Uint8Array([9, 0, 255, 1, 9]).subarray(1, 4)
    expect(insert.run(['Zoë 🎨', bytes, Number.MAX_SAFE_INTEGER, 0.1, null])).toMatchObject({ changes: 1 })
    expect(insert.run(['', new Uint8Array(), -1, -0.5, null])).toMatchObject({ changes: 1 })
    const rows = database.prepare('SELECT * FROM t ORDER BY rowid').all([]) as { bytes: Uint8Array }[]
    expect(rows.map((row) => ({ ...row, bytes: [...new Uint8Array(row.bytes)] }))).toEqual([
      { text: 'Zoë 🎨', bytes: [0, 255, 1], number: Number.MAX_SAFE_INTEGER, real: 0.1, missing: null },
      { text: '', bytes: [], number: -1, real: -0.5, missing: null },
    ])
  })

  it('reports which statements return rows', () => {
    const database = open(driver)
    database.exec('CREATE TABLE t (n INTEGER)')
    const readers = ['SELECT 1', 'PRAGMA user_version', 'INSERT INTO t VALUES (1) RETURNING n']
    const others = ['INSERT INTO t VALUES (1)', 'BEGIN', 'WITH one AS (SELECT 1) INSERT INTO t SELECT * FROM one']
    for (const sql of readers) expect(database.prepare(sql).reader, sql).toBe(true)
    for (const sql of others) expect(database.prepare(sql).reader, sql).toBe(false)
  })

  it('iterates again after an iteration that stopped early', () => {
    const database = open(driver)
    const statement = database.prepare('SELECT value AS n FROM json_each(?)')
    for (const row of statement.iterate(['[1,2,3]'])) {
      expect(row).toEqual({ n: 1 })
      break
    }
    expect([...statement.iterate(['[4,5]'])]).toEqual([{ n: 4 }, { n: 5 }])
  })

  it('reads what a killed process left in the log, and changes neither file nor log if it may only read', () => {
    const database = open(driver)
    database.prepare('PRAGMA journal_mode = WAL').all([])
    database.exec('CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7)')
    // A name with characters that have a meaning in a URL.
    const copy = join(folder, 'b 100%?#.db')
    for (const part of ['', '-wal']) copyFileSync(join(folder, `a.db${part}`), `${copy}${part}`)
    const contents = () => ['', '-wal'].map((part) => readFileSync(`${copy}${part}`, 'base64'))
    const before = contents()
    const reading = openWith(driver, copy, { readOnly: true })
    expect(reading.prepare('SELECT n FROM t').all([])).toEqual([{ n: 7 }])
    expect(() => reading.exec('INSERT INTO t VALUES (8)')).toThrow('readonly')
    reading.close()
    expect(contents()).toEqual(before)
  })

  it('reports a lock of another connection as busy', () => {
    const [holder, other] = [open(driver), open(driver)]
    other.exec('PRAGMA busy_timeout = 0')
    holder.exec('BEGIN EXCLUSIVE')
    expect(isBusyError(errorOf(() => other.exec('BEGIN EXCLUSIVE')))).toBe(true)
    holder.exec('ROLLBACK')
  })

  it.each([
    ['it cannot be written to', (database: RawDatabase) => database.exec('PRAGMA query_only = ON')],
    ['no space left on the disk', (database: RawDatabase) => database.exec('PRAGMA max_page_count = 3')],
  ])('reports the problem of a file: %s', (reason, spoil) => {
    const database = open(driver)
    database.exec('CREATE TABLE t (text TEXT)')
    spoil(database)
    const insert = () => database.prepare('INSERT INTO t VALUES (?)').run(['x'.repeat(100_000)])
    expect(fileProblem(errorOf(insert))).toMatch(new RegExp(`^${reason}`))
  })

  it('reports a file that is damaged, is not a database, or cannot be opened', () => {
    const database = open(driver)
    database.exec('CREATE TABLE t (text TEXT)')
    database.prepare('INSERT INTO t VALUES (?)').run(['x'.repeat(3000)])
    close(database)
    const path = join(folder, 'a.db')
    const read = () => open(driver).prepare('SELECT * FROM t').all([])
    writeFileSync(path, Buffer.alloc(4096, 0xa5), { flag: 'r+' })
    expect(fileProblem(errorOf(read))).toMatch(/^it is not a database/)
    const missing = join(folder, 'none', 'a.db')
    const use = () => openWith(driver, missing).exec('CREATE TABLE t (n)')
    expect(fileProblem(errorOf(use))).toMatch(/^it cannot be opened/)
  })
})

describe.each(PAIRS)('a file of %s', (writer, reader) => {
  const it = test.skipIf(!hasNodeSqlite)

  it(`is read and written by ${reader}`, async () => {
    const add = async (driver: Driver, origin: string) => {
      const state = await openState(folder, { open: (path) => openWith(driver, path) })
      await state.write((sql) => sql.run('INSERT INTO servers (origin) VALUES (?)', origin))
      const found = await state.read((sql) => ({
        origins: sql.all<{ origin: string }>('SELECT origin FROM servers ORDER BY id').map((row) => row.origin),
        ...sql.get<{ epoch: number; copied_because: string | null }>('SELECT epoch, copied_because FROM state'),
      }))
      state.close()
      return found
    }
    const first = await add(writer, 'a')
    expect(await add(reader, 'b')).toEqual({ ...first, origins: ['a', 'b'] })
    expect(await add(writer, 'c')).toEqual({ ...first, origins: ['a', 'b', 'c'] })
  })

  it.each([
    ['DELETE', '-journal', 1],
    ['WAL', '-wal', 2],
  ])(`that was left open in mode %s is recovered by ${reader}`, (mode, suffix, expected) => {
    const database = open(writer)
    database.prepare(`PRAGMA journal_mode = ${mode}`).all([])
    database.exec('CREATE TABLE t (text TEXT); INSERT INTO t VALUES (1); PRAGMA cache_size = 1')
    if (mode === 'WAL') database.exec('INSERT INTO t VALUES (2)')
    database.exec('BEGIN')
    const insert = database.prepare('INSERT INTO t VALUES (?)')
    for (let n = 0; n < 100; n++) insert.run(['x'.repeat(4000)])
    expect(existsSync(join(folder, `a.db${suffix}`))).toBe(true)
    for (const part of ['', suffix]) copyFileSync(join(folder, `a.db${part}`), join(folder, `b.db${part}`))
    const copy = open(reader, 'b.db')
    expect(copy.prepare('SELECT count(*) AS n FROM t').all([])).toEqual([{ n: expected }])
    expect(copy.prepare('PRAGMA integrity_check').all([])).toEqual([{ integrity_check: 'ok' }])
    database.exec('ROLLBACK')
  })
})
