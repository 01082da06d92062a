import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { GdnError, messageOf } from '../core/errors.ts'

/**
 * A prepared statement. Parameters are text, numbers, bytes or null. IDs are text, because libsql rounds large
 * integers.
 */
export interface RawStatement {
  /** Whether the statement returns rows. */
  readonly reader: boolean
  all(parameters: readonly unknown[]): unknown[]
  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  iterate(parameters: readonly unknown[]): IterableIterator<unknown>
}

/** The part of a synchronous SQLite binding that gdn uses. Both bindings below implement it. */
export interface RawDatabase {
  exec(sql: string): void
  prepare(sql: string): RawStatement
  close(): void
}

// `import.meta.filename` isn't used, because Jest 29 doesn't set it.
const require = createRequire(import.meta.url)

/** Declares the part of `node:sqlite` that gdn uses, because the types for Node.js 20 don't have the module. */
interface NodeSqlite {
  StatementSync: { prototype: object }
  DatabaseSync: new (
    path: string,
    options: { readOnly: boolean },
  ) => {
    exec(sql: string): void
    close(): void
    prepare(sql: string): {
      columns(): unknown[]
      all(...parameters: unknown[]): unknown[]
      run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
      iterate(...parameters: unknown[]): IterableIterator<unknown>
    }
  }
}

/**
 * Returns `node:sqlite` if the runtime has all the functions that gdn uses (Node.js 22.16 and newer); null otherwise.
 */
function loadNodeSqlite(): NodeSqlite | null {
  // biome-ignore lint/style/noProcessEnv: not a setting; tests on newer versions use it to choose libsql
  if (process.env.GDN_TEST_SQLITE === 'libsql') return null
  // Node.js 22 warns that the module is experimental. Users can't act on this warning, so suppress only this one.
  const emitWarning = process.emitWarning
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    const nodeSqlite = require('node:sqlite') as NodeSqlite
    return 'columns' in nodeSqlite.StatementSync.prototype ? nodeSqlite : null
  } catch {
    return null
  } finally {
    process.emitWarning = emitWarning
  }
}

function openWithNode({ DatabaseSync }: NodeSqlite, path: string, readOnly: boolean): RawDatabase {
  const database = new DatabaseSync(path, { readOnly })
  return {
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...parameters),
        run: (parameters) => statement.run(...parameters),
        iterate: (parameters) => statement.iterate(...parameters),
      }
    },
  }
}

/**
 * Loads libsql with an empty diagnostic report of the process. libsql uses the report to distinguish glibc from musl.
 * Creating the report takes 5 ms and looks up the host name of each open connection. With an empty report, libsql reads
 * /usr/bin/ldd instead.
 */
function loadLibsql(): unknown {
  const { report } = process
  const { getReport } = report
  report.getReport = () => ({})
  const folder = libsqlFolder()
  try {
    return require(folder)
  } catch {
    // Systems without /usr/bin/ldd need the real report.
    report.getReport = getReport
    return require(folder)
  } finally {
    report.getReport = getReport
  }
}

/**
 * Finds libsql without using its `exports`, because Node.js would load the ES module resolver for them, which takes 2
 * ms.
 */
function libsqlFolder(): string {
  const places = require.resolve.paths('libsql') ?? []
  return places.map((place) => `${place}/libsql`).find((folder) => existsSync(folder)) ?? 'libsql'
}

interface RowsAsArrays extends RawStatement {
  all(parameters: readonly unknown[]): (readonly unknown[])[]
  iterate(parameters: readonly unknown[]): IterableIterator<readonly unknown[]>
}

/** Declares the part of libsql that gdn uses, because libsql's own types are those of better-sqlite3. */
interface Libsql extends Omit<RawDatabase, 'prepare'> {
  prepare(sql: string): RawStatement & { raw(): RowsAsArrays; columns(): readonly { name: string }[] }
}

function openWithLibsql(path: string, readOnly: boolean): RawDatabase {
  let Database: new (path: string) => Libsql
  try {
    Database = loadLibsql() as typeof Database
  } catch (cause) {
    throw new GdnError('native_missing', 'this Node.js has no built-in SQLite', {
      hint: 'Use Node.js 22.16 or newer, or install the optional package: `npm install --include=optional libsql@0.5`.',
      details: messageOf(cause),
      cause,
    })
  }
  const database = new Database(readOnly ? `${pathToFileURL(path).href}?mode=ro` : path)
  return {
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      if (statement.reader) return readWithLibsql(statement)
      const run: RawStatement['run'] = (parameters) => statement.run(parameters)
      // Don't return the statement itself, because each access to its `reader` property queries SQLite.
      return { reader: false, all: (parameters) => statement.all(parameters), run, iterate: () => [].values() }
    },
  }
}

/** Reads rows as arrays, because for objects libsql would convert each column name again for each row. */
function readWithLibsql(statement: ReturnType<Libsql['prepare']>): RawStatement {
  let names: readonly string[] = []
  const namedColumns = (values: readonly unknown[]): unknown => {
    // The number of columns differs on the first execution, or after a migration has added columns.
    if (values.length !== names.length) names = statement.columns().map(({ name }) => name)
    const row: Record<string, unknown> = {}
    names.forEach((name, index) => {
      row[name] = values[index]
    })
    return row
  }
  const raw = statement.raw()
  return {
    reader: true,
    all: (parameters) => raw.all(parameters).map(namedColumns),
    run: (parameters) => raw.run(parameters),
    *iterate(parameters) {
      for (const values of raw.iterate(parameters)) yield namedColumns(values)
    },
  }
}

interface SqliteOptions {
  /**
   * Whether to change neither the file nor its write-ahead log. A writable connection would move the log into the file
   * when it closes.
   */
  readOnly?: boolean
}

/** Opens a database file with `node:sqlite` if it is available; otherwise, with the optional package libsql. */
export function openSqlite(path: string, { readOnly = false }: SqliteOptions = {}): RawDatabase {
  const nodeSqlite = loadNodeSqlite()
  return nodeSqlite === null ? openWithLibsql(path, readOnly) : openWithNode(nodeSqlite, path, readOnly)
}
