import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync } from 'node:fs'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { sleep } from '../../src/core/time.ts'
import { serverFolder } from './server-folder.ts'
import type { Pooler } from './transaction-pooler.ts'

const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer']
const PORT = 5432
const READY_WITHIN_MS = 60_000

/** Returns the path of pgbouncer on this machine, or null. */
export const findPgbouncer = (): string | null => PLACES.find((path) => existsSync(path)) ?? null

/**
 * Starts pgbouncer in transaction mode as documented, except for its address.
 *
 * @param folder of the server's Unix socket, where all users are trusted
 */
export async function startPgbouncer(folder: string, database: string, connections: number): Promise<Pooler> {
  const program = findPgbouncer()
  if (program === null) throw new Error('pgbouncer is not on this machine: apt-get install pgbouncer')
  const own = serverFolder('gdn-pgbouncer-')
  const users = join(own, 'users.txt')
  const settings = join(own, 'pgbouncer.ini')
  await writeFile(users, '"gdn" ""\n')
  await writeFile(
    settings,
    `[databases]
${database} = host=${folder} port=${PORT}
[pgbouncer]
listen_port = ${PORT}
unix_socket_dir = ${own}
auth_type = trust
auth_file = ${users}
admin_users = gdn
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 200
`,
  )
  for (const path of [users, settings]) await chmod(path, 0o644)
  await chmod(own, 0o755)
  // It refuses to run as root, like the server.
  const user = process.getuid?.() === 0 ? idsOf('postgres') : { uid: undefined, gid: undefined }
  if (user.uid !== undefined && user.gid !== undefined) chownSync(own, user.uid, user.gid)
  const child = spawn(program, ['-q', settings], {
    ...(user.uid === undefined ? {} : user),
    cwd: own,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)

  const ask = async (sql: string) => {
    const client = new pg.Client({ host: own, port: PORT, user: 'gdn', database: 'pgbouncer' })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }
  for (const late = Date.now() + READY_WITHIN_MS; ; await sleep(30)) {
    try {
      await ask('show version')
      break
    } catch (error) {
      if (Date.now() > late || child.exitCode !== null) throw error
    }
  }
  let most = 0
  let looking = true
  const look = async () => {
    for (; looking; await sleep(50)) {
      const servers = await ask('show servers').catch(() => [])
      most = Math.max(most, servers.filter((one) => one.database === database && one.state === 'active').length)
    }
  }
  const watching = look()
  return {
    folder: own,
    get most() {
      return most
    },
    async close() {
      looking = false
      await watching
      process.off('exit', end)
      const exited = once(child, 'exit')
      end()
      await exited
      await rm(own, { recursive: true, force: true })
    },
  }
}

function idsOf(name: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
