import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { Secret } from '../../../src/core/secret.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { gdnAt } from '../../helpers/gdn-at.ts'
import { type PostgresServer, startPostgres } from '../../helpers/postgres-server.ts'
import { CERTIFIED, SELF_SIGNED } from '../../helpers/self-signed.ts'
import { serverFolder } from '../../helpers/server-folder.ts'

const PASSWORD = 'c4nary-of-the-database'

let server: PostgresServer
let folder: string
const at = (name: string) => encodeURIComponent(join(folder, name))
const urlOf = (parameters: string, { host = 'localhost', password = PASSWORD, port = server.port } = {}) =>
  `postgres://shop:${password}@${host}:${port}/gdn?${parameters}`
const open = (parameters: string, place = {}) => openPostgres({ url: new Secret(urlOf(parameters, place)) })
const refusal = (parameters: string, place = {}) =>
  open(parameters, place).then(
    async (store) => {
      await store.close()
      throw new Error('it was opened')
    },
    (error: unknown) => error as GdnError,
  )

beforeAll(async () => {
  server = await startPostgres({ certificate: CERTIFIED })
  await server.execute(`create role shop login superuser password '${PASSWORD}'`)
  await server.execute('create database gdn owner shop')
  folder = await mkdtemp(join(tmpdir(), 'gdn-tls-'))
  await writeFile(join(folder, 'ca.pem'), CERTIFIED.authority)
  await writeFile(join(folder, 'other.pem'), SELF_SIGNED.cert)
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

describe('a server that requires TLS', () => {
  test.each(['sslmode=require', 'sslmode=verify-ca&sslrootcert=CA', 'sslmode=verify-full&sslrootcert=CA'])(
    'is opened with %s over an encrypted connection',
    async (parameters) => {
      const store = await open(parameters.replace('CA', at('ca.pem')))
      const { rows } = await sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(store.db)
      expect(rows).toEqual([{ ssl: true }])
      await store.close()
    },
  )

  test.each([
    ['an unknown authority', 'sslmode=verify-full', {}, /sslrootcert/],
    ["another's authority", 'sslmode=verify-full&sslrootcert=OTHER', {}, /sslrootcert/],
    ["another's authority, with require too", 'sslmode=require&sslrootcert=OTHER', {}, /sslrootcert/],
    [
      'another name',
      'sslmode=verify-full&sslrootcert=CA',
      { host: '127.0.0.1' },
      /host name of the server certificate/,
    ],
    ['a wrong password', 'sslmode=require', { password: `${PASSWORD}-wrong` }, /user and password/],
    ['a connection without TLS', 'sslmode=disable', {}, /pg_hba|user and password/],
  ])('%s is rejected without retries, with a hint and without the password', async (_, parameters, place, hint) => {
    const error = await refusal(parameters.replace('OTHER', at('other.pem')).replace('CA', at('ca.pem')), place)
    expect(error).toBeInstanceOf(GdnError)
    expect(error).toMatchObject({ code: 'invalid_config', hint: expect.stringMatching(hint) })
    expect(inspect(error, { depth: 12, showHidden: true })).not.toContain(PASSWORD)
  })

  test('the name in its certificate is not checked with verify-ca and a private authority', async () => {
    await (await open(`sslmode=verify-ca&sslrootcert=${at('ca.pem')}`, { host: '127.0.0.1' })).close()
  })
})

test('command errors of a database that rejects the login contain no password, even with --debug', async () => {
  const gdn = gdnAt({ url: 'http://127.0.0.1:1', apiKey: '' }, folder)
  const wrong = urlOf('sslmode=require', { password: `${PASSWORD}-wrong` })
  await writeFile(join(folder, 'backend.yaml'), `database_url: '${wrong}'\n`, { mode: 0o600 })
  for (const argv of [
    ['serve', '--port', '0'],
    ['db', 'status'],
    ['db', 'migrate'],
  ]) {
    const { exitCode, stdout, stderr } = await gdn.run(...argv, '--data-dir', folder, '--debug')
    expect([exitCode, stderr.includes('user and password')], stderr).toEqual([2, true])
    expect(stdout + stderr).not.toContain(PASSWORD)
  }
})

test('a server older than 15 is rejected with its version', async () => {
  const old = await pretendOlder(server.url('postgres'))
  const opened = openPostgres({ url: new Secret(`postgres://gdn@/postgres?host=${encodeURIComponent(old.folder)}`) })
  await expect(opened).rejects.toMatchObject({
    code: 'invalid_config',
    message: expect.stringMatching(/is PostgreSQL 14$/),
    hint: expect.stringContaining('15 or newer'),
  })
  await old.close()
})

/** A relay to the server that reports an older version. */
async function pretendOlder(url: string): Promise<{ folder: string; close(): Promise<void> }> {
  const { searchParams } = new URL(url.replace('@/', '@x/'))
  const socket = join(searchParams.get('host') ?? '', `.s.PGSQL.${searchParams.get('port') ?? 5432}`)
  const own = serverFolder('gdn-older-')
  const relay: Server = createServer((client) => {
    const upstream = connect(socket)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.pipe(upstream)

    upstream.on('data', (chunk) => client.write(older(chunk)))
    upstream.on('end', () => client.end())
  })
  await new Promise<void>((resolve) => relay.listen(join(own, '.s.PGSQL.5432'), resolve))
  return {
    folder: own,
    async close() {
      await new Promise((resolve) => relay.close(resolve))
      await rm(own, { recursive: true, force: true })
    },
  }
}

const older = (chunk: Buffer) =>
  Buffer.from(chunk.toString('latin1').replace(/(?<!\d)1[5-9]0(\d{3})(?!\d)/, '140$1'), 'latin1')
