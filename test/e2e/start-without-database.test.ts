import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { freshDataDir } from '../helpers/backend.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../helpers/postgres-server.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { serve } from '../helpers/served-backend.ts'

const ROUNDS = process.env.GDN_SOAK === '1' ? 100 : 8
const WITHIN_MS = 60_000

// Without PostgreSQL, test/postgres-missing.test.ts reports it.
describe.each(findPostgres() === null ? [] : ['PostgreSQL'])('%s is killed while a backend starts', (name) => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres()
    await postgres.execute('create database gdn')
  })
  afterAll(() => postgres?.close())

  test('the backend either serves or exits for its service manager to restart it', async () => {
    const { random } = seededRandom(`${name} killed at a start`)
    const dataDir = await freshDataDir()
    const start = () => serve(dataDir.path, ['--database-url', postgres.url('gdn')])
    const ended = new Map<string, number>()
    try {
      const since = performance.now()
      const first = await start().ready
      const startMs = performance.now() - since
      await first.end('SIGTERM')
      for (let round = 0; round < ROUNDS; round++) {
        const starting = start()
        await sleep(startMs * (0.3 + 0.8 * random()))
        await postgres.kill()
        const how = await Promise.race([
          starting.ready.then(
            () => 'serves',
            () => 'ended',
          ),
          sleep(WITHIN_MS).then(() => 'neither'),
        ])
        ended.set(how, (ended.get(how) ?? 0) + 1)
        await starting.end('SIGKILL')
        await postgres.start()
      }
    } finally {
      await dataDir.remove()
    }
    report(Object.fromEntries(ended))
    expect([...ended.keys()].filter((how) => how !== 'serves' && how !== 'ended')).toEqual([])
  })
})
