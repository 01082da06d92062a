import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { freshDataDir } from '../helpers/backend.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { type HangingPostgres, startHangingPostgres } from '../helpers/hanging-postgres.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../helpers/postgres-server.ts'
import { processesWith } from '../helpers/processes.ts'

/** Far below the timeout of a query, and above what a busy machine needs. */
const WITHIN_MS = 60_000

interface Run {
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>
  /** The first line of stdout, as JSON. */
  firstLine: Promise<Record<string, string>>
  stderr(): string
  kill(signal: NodeJS.Signals): void
}

// Without PostgreSQL, test/postgres-missing.test.ts reports it.
describe.each(findPostgres() === null ? [] : ['PostgreSQL'])('%s does not respond', () => {
  let postgres: PostgresServer
  let home: { path: string; remove(): Promise<void> }
  const opened: { proxy: HangingPostgres; run: Run | null }[] = []
  beforeAll(async () => {
    postgres = await startPostgres()
    await postgres.execute('create database gdn')
    home = await freshDataDir()
    const line = await startHangingPostgres(postgres.url('gdn'), 'gdn')
    // Creates the tables for the tests.
    expect(await start(line, 'db', 'migrate').ended).toBe(0)
    await line.close()
  })
  afterAll(async () => {
    for (const { proxy, run } of opened) {
      run?.kill('SIGKILL')
      await proxy.close()
    }
    await postgres?.close()
    await home?.remove()
  })

  function start(proxy: HangingPostgres, ...argv: string[]): Run {
    const [command = ''] = argv
    const dataDir = join(home.path, `${command}-${opened.length}`)
    const env = { ...process.env, HOME: home.path, GDN_DATABASE_URL: proxy.url }
    const node = process.env.GDN_TEST_NODE ?? process.execPath
    const child = spawn(node, [GDN_BIN, ...argv, '--data-dir', dataDir, '--json'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    const firstLine = new Promise<Record<string, string>>((resolve) => {
      child.stdout.on('data', (bytes) => {
        stdout += bytes
        const end = stdout.indexOf('\n')
        if (end > 0) resolve(JSON.parse(stdout.slice(0, end)))
      })
    })
    child.stderr.on('data', (bytes) => {
      stderr += bytes
    })
    const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
    const run = { ended, firstLine, stderr: () => stderr, kill: (signal: NodeJS.Signals) => void child.kill(signal) }
    opened.push({ proxy, run })
    return run
  }

  const open = () => startHangingPostgres(postgres.url('gdn'), 'gdn')
  const endOf = (run: Run) => Promise.race([run.ended, sleep(WITHIN_MS).then(() => 'never')])

  test.concurrent.each([1, 4, 12])('serve stops during its start, while it waits for response %i', async (answer) => {
    const proxy = await open()
    proxy.hang(answer)
    const run = start(proxy, 'serve', '--port', '0')
    await proxy.waitedFor()
    run.kill('SIGTERM')
    expect(await endOf(run)).toBe(0)
    expect(run.stderr()).toBe('')
  })

  test.concurrent('serve stops while it works, and leaves no chain node behind', async () => {
    const proxy = await open()
    const run = start(proxy, 'serve', '--port', '0')
    const { url, data_dir: dataDir = '' } = await run.firstLine
    const ask = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }
    // The request starts the node of the chain.
    const answered = async () => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}/rpc/polygon`, { method: 'POST', headers, body: JSON.stringify(ask) })
      return ((await answer.json()) as { result?: string }).result
    }
    while ((await answered()) === undefined) await sleep(100)
    expect(existsSync(join(dataDir, 'chains', 'polygon.pid'))).toBe(true)
    proxy.hang()
    await proxy.waitedFor()
    run.kill('SIGTERM')
    expect(await endOf(run)).toBe(0)
    expect(processesWith(dataDir)).toEqual([])
  })

  test.concurrent('a worker stops while it works', async () => {
    const proxy = await open()
    const run = start(proxy, 'worker')
    await run.firstLine
    proxy.hang()
    await proxy.waitedFor()
    run.kill('SIGTERM')
    expect(await endOf(run)).toBe(0)
  })

  test.concurrent.each(['key list', 'db status', 'tx list', 'webhook list'])('gdn %s stops', async (words) => {
    const proxy = await open()
    proxy.hang(2)
    const run = start(proxy, ...words.split(' '))
    await proxy.waitedFor()
    run.kill('SIGTERM')
    expect(await endOf(run)).toBe(143)
    expect(JSON.parse(run.stderr()).error.code).toBe('terminated')
  })

  test.concurrent('an export stops, and leaves no file behind', async () => {
    const proxy = await open()
    const file = join(home.path, 'all.jsonl')
    proxy.hang(6)
    const run = start(proxy, 'db', 'export', file)
    await proxy.waitedFor()
    run.kill('SIGINT')
    expect(await endOf(run)).toBe(130)
    expect(existsSync(file)).toBe(false)
  })
})
