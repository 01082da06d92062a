import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { sleep } from '../../src/core/time.ts'
import { ownPort } from './own-port.ts'
import { serverFolder } from './server-folder.ts'

const PORT = 5432
const DEBIAN = '/usr/lib/postgresql'
const READY_WITHIN_MS = 60_000

/** Returns the folder of PostgreSQL's programs on this machine, of the newest version, or null. */
export function findPostgres(): string | null {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))) ?? null
}

export interface PostgresServer {
  pid(): number
  /** Its TCP port, if it listens on one besides its socket. */
  port: number
  /** The URL of a database of this server. */
  url(database: string): string
  /** Runs a statement outside of a transaction, in the default database. */
  execute(sql: string): Promise<void>
  /** Ends the server like a power cut. `start` starts it again. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops the server at once, and removes its files. */
  close(): Promise<void>
}

/** The server refuses to run as root, so it runs as the user of its package then. */
function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

export interface PostgresOptions {
  /** Also listens on loopback, only for clients with TLS and a password. */
  certificate?: { key: string; cert: string }
  /** More settings in the format of the server's `-c`. */
  settings?: readonly string[]
}

/**
 * Starts a separate PostgreSQL server in a temporary folder, with a Unix socket there. It syncs nothing to disk unless
 * settings enable it.
 */
export async function startPostgres({
  certificate,
  settings: more = [],
}: PostgresOptions = {}): Promise<PostgresServer> {
  // The driver reads them. Those of the person who runs the tests are for another server.
  for (const name of Object.keys(process.env)) if (/^PG[A-Z]+$/.test(name)) delete process.env[name]
  const port = certificate === undefined ? PORT : await ownPort()
  const programs = findPostgres()
  if (programs === null) throw new Error('PostgreSQL is not on this machine: apt-get install postgresql')
  const user = serverUser()
  const folder = serverFolder('gdn-postgres-')
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const initdb = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'gdn', '-A', 'trust', '-E', 'UTF8', '--locale', 'C', '--no-sync', '--no-instructions'],
    { ...user, cwd: folder, encoding: 'utf8', env: { PATH: process.env.PATH } },
  )
  if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.stderr}${initdb.error?.message ?? ''}`)
  const own = (path: string) => {
    if (user.uid !== undefined && user.gid !== undefined) chownSync(path, user.uid, user.gid)
  }
  const network = certificate === undefined ? ['listen_addresses='] : ['listen_addresses=127.0.0.1', 'ssl=on']
  if (certificate !== undefined) {
    for (const [name, text] of [
      ['server.crt', certificate.cert],
      ['server.key', certificate.key],
    ] as const) {
      writeFileSync(join(data, name), `${text}\n`, { mode: 0o600 })
      own(join(data, name))
    }
    const rules = ['local all all trust', 'hostssl all all 127.0.0.1/32 scram-sha-256']
    writeFileSync(join(data, 'pg_hba.conf'), `${rules.join('\n')}\n`)
  }
  let child: ChildProcess | undefined
  const end = () => void child?.kill('SIGQUIT')
  const url = (database: string) =>
    `postgres://gdn@/${database}?host=${encodeURIComponent(folder)}${port === PORT ? '' : `&port=${port}`}`

  const connect = async () => {
    const client = new pg.Client({ host: folder, port, user: 'gdn', database: 'postgres' })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const server: PostgresServer = {
    pid: () => child?.pid ?? 0,
    port,
    url,
    async execute(sql) {
      const client = await connect()
      try {
        await client.query(sql)
      } finally {
        await client.end()
      }
    },
    async kill() {
      if (child === undefined) return
      const exited = once(child, 'exit')
      // Stops at once without a checkpoint. SIGQUIT also ends its child processes, unlike SIGKILL.
      child.kill('SIGQUIT')
      await exited
      child = undefined
    },
    async start() {
      const settings = [...network, `unix_socket_directories=${folder}`, 'fsync=off', 'max_connections=200', ...more]
      child = spawn(
        join(programs, 'postgres'),
        ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
        { ...user, cwd: folder, stdio: 'ignore', env: { PATH: process.env.PATH } },
      )
      for (const late = Date.now() + READY_WITHIN_MS; ; await sleep(30)) {
        try {
          await (await connect()).end()
          return
        } catch (error) {
          if (Date.now() > late || child.exitCode !== null) throw error
        }
      }
    },
    async close() {
      process.off('exit', end)
      await server.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  process.once('exit', end)
  await server.start()
  return server
}
