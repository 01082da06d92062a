/** @module-tag slow */
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CURRENT_SCHEMA } from '../../src/server/store/migrate.ts'
import { openSqlite } from '../../src/sqlite/driver.ts'
import { OWNER } from '../helpers/addresses.ts'
import { until } from '../helpers/backend.ts'
import { digestsOf } from '../helpers/digests.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'

interface Status {
  running: boolean
  url: string | null
  data_dir: string
  pid: number | null
}

function isProcess(pid: number | null): boolean {
  try {
    process.kill(pid ?? 0, 0)
    return true
  } catch {
    return false
  }
}

describe('gdn local', () => {
  let home: GdnHome
  beforeEach(async () => {
    home = await makeHome()
  })
  afterEach(async () => {
    await home.run(['local', 'stop'])
    await home.remove()
  })

  const status = () => home.json<Status>(['local', 'status'])

  test('keeps all data when it is stopped and started again', async () => {
    const started = await home.json<Status>(['local', 'start', '--port', '0'])
    expect(await status()).toEqual(started)
    expect(started).toEqual({
      running: true,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      data_dir: join(home.dir, 'data', 'gdn', 'local'),
      pid: expect.any(Number),
    })
    const secondResult = await home.run(['local', 'start'])
    expect(secondResult).toMatchObject({ code: 0, stderr: expect.stringContaining('already running') })

    const collection = await home.json<{ contract_address: string }>([
      'collection',
      'create',
      '--local',
      '--name',
      'Dawn',
      '-b',
      'polygon',
      '--wallet',
      OWNER,
    ])
    const nft = await home.json<{ token_id: string; nft_gdn_id: string }>([
      'nft',
      'mint',
      '--local',
      '--title',
      'x',
      '--receiver',
      OWNER,
    ])
    expect(nft.token_id).toBe('1')

    expect((await home.run(['local', 'stop'])).code).toBe(0)
    expect(await status()).toEqual({ running: false, url: null, data_dir: started.data_dir, pid: null })
    expect(isProcess(started.pid)).toBe(false)
    expect((await home.run(['nft', 'list', '--local'])).code).toBe(6)

    await home.run(['local', 'start', '--port', '0'])
    expect((await home.run(['nft', 'list', '--local', '-o', 'ids'])).stdout).toBe(`${nft.nft_gdn_id}\n`)
    expect(await home.json(['collection', 'list', '--local'])).toMatchObject([
      { contract_address: collection.contract_address, status: 'deployed' },
    ])
  })

  test('stores the key in a file that only its owner can read, and writes it to no log', async () => {
    const { data_dir } = await home.json<Status>(['local', 'start', '--port', '0'])
    const file = join(data_dir, 'api-key')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const key = (await readFile(file, 'utf8')).trim()
    expect(key).not.toBe('')
    const { stdout } = await home.run(['local', 'logs'])
    expect(stdout).toContain('ready')
    expect(stdout).not.toContain(key)
    expect(await readFile(join(data_dir, 'serve.log'), 'utf8')).not.toContain(key)
  })

  test('rejects a port in use with the error of the backend', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const port = String((other.address() as AddressInfo).port)
    const { code, stderr } = await home.run(['local', 'start', '--port', port, '--json'])
    other.close()
    expect(code).toBe(2)
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'port_in_use' })
    expect((await status()).running).toBe(false)
  })

  test('starts once, on a free port, if the port of its last start is in use', async () => {
    const { url, data_dir } = await home.json<Status>(['local', 'start', '--port', '0'])
    await home.run(['local', 'stop'])
    const other = createServer().listen(Number(new URL(url ?? '').port), '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const started = await home.json<Status>(['local', 'start'])
    other.close()
    expect(started.url).not.toBe(url)
    expect(await readFile(join(data_dir, 'serve.log'), 'utf8')).not.toContain('port_in_use')
  })

  test('reports a killed backend as not running, and the next start keeps its data', async () => {
    const { pid } = await home.json<Status>(['local', 'start', '--port', '0'])
    process.kill(pid ?? 0, 'SIGKILL')
    await until(
      () => isProcess(pid),
      (alive) => !alive,
    )
    expect((await status()).running).toBe(false)
    expect((await home.run(['nft', 'list', '--local'])).code).toBe(6)
    expect((await home.run(['local', 'start', '--port', '0'])).code).toBe(0)
  })

  test('refuses data of another schema with both schemas, and changes nothing', async () => {
    const { data_dir } = await home.json<Status>(['local', 'start', '--port', '0'])
    await home.run(['local', 'stop'])
    const path = join(data_dir, 'gdn.db')
    const database = openSqlite(path)
    database.exec("update kysely_migration set name = '0001-initial-89abcdef'")
    database.close()
    const before = await digestsOf(data_dir)
    for (const argv of [
      ['local', 'start'],
      ['serve', '--port', '0', '--data-dir', data_dir],
    ]) {
      const { code, stderr } = await home.run(argv)
      expect(code).toBe(2)
      expect(stderr).toContain(
        `error: ${path} was created by another version of gdn: it has schema 0001-initial-89abcdef, and this version has schema ${CURRENT_SCHEMA}\n  Nothing was changed.`,
      )
      expect(await digestsOf(data_dir)).toEqual(before)
    }
    expect((await home.run(['local', 'reset', '--yes'])).code).toBe(0)
    expect((await home.run(['local', 'start', '--port', '0'])).code).toBe(0)
  })

  test('reset fails while the backend runs, and deletes everything once it is stopped', async () => {
    const { data_dir } = await home.json<Status>(['local', 'start', '--port', '0'])
    await home.run(['collection', 'create', '--local', '--name', 'Dawn', '-b', 'polygon', '--wallet', OWNER])
    expect((await home.run(['local', 'reset', '--yes'])).code).toBe(2)
    await home.run(['local', 'stop'])
    expect((await home.run(['local', 'reset', '--yes'])).code).toBe(0)
    expect(existsSync(data_dir)).toBe(false)
    await home.run(['local', 'start', '--port', '0'])
    expect(await home.json(['collection', 'list', '--local'])).toEqual([])
  })
})

describe('gdn serve', () => {
  let home: GdnHome
  beforeAll(async () => {
    home = await makeHome()
  })
  afterAll(() => home.remove())

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'prints one JSON line when it is ready, and exits with 0 at %s',
    async (signal) => {
      const dataDir = join(home.dir, signal)
      const serve = home.start(['serve', '--json', '--port', '0', '--data-dir', dataDir])
      let text = ''
      serve.stdout?.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      await until(
        () => text,
        (all) => all.includes('\n'),
      )
      const { event, url, api_key, data_dir, pid } = JSON.parse(text)
      expect({ event, data_dir, pid }).toEqual({ event: 'ready', data_dir: dataDir, pid: serve.pid })
      const env = { GDN_BASE_URL: url, GDN_API_KEY: api_key }
      expect((await home.run(['nft', 'show', 'x', '--json'], { env })).code).toBe(5)
      serve.kill(signal)
      expect((await serve).exitCode).toBe(0)
      expect(text.trimEnd().split('\n')).toHaveLength(1)
    },
  )

  test('rejects a second backend on the same data directory, and names the first', async () => {
    const dataDir = join(home.dir, 'twice')
    const serve = home.start(['serve', '--json', '--port', '0', '--data-dir', dataDir])
    await new Promise((resolve) => serve.stdout?.once('data', resolve))
    const { code, stderr } = await home.run(['serve', '--json', '--port', '0', '--data-dir', dataDir])
    serve.kill('SIGTERM')
    await serve
    expect(code).toBe(2)
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'data_dir_busy',
      message: expect.stringContaining(String(serve.pid)),
    })
  })

  test('prints the path of the key in text mode, but not the key', async () => {
    const dataDir = join(home.dir, 'text')
    const serve = home.start(['serve', '--port', '0', '--data-dir', dataDir])
    let text = ''
    serve.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    await until(
      () => text,
      (all) => all.includes('Ctrl-C'),
    )
    const key = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim()
    serve.kill('SIGTERM')
    const { stdout } = await serve
    expect(text).toContain(join(dataDir, 'api-key'))
    expect(text + String(stdout)).not.toContain(key)
  })
})

describe('gdn local exec', () => {
  let home: GdnHome
  beforeAll(async () => {
    home = await makeHome()
  })
  afterAll(() => home.remove())

  const node = (code: string) => ['local', 'exec', '--', process.execPath, '-e', code]

  test('passes a fresh backend to the command in the environment, and exits with its exit code', async () => {
    const code = `
      const { GDN_BASE_URL: url, GDN_API_KEY: key, GDN_STATE_DIR: state } = process.env
      fetch(url + '/api/v1/getnfts', { method: 'POST', headers: { 'content-type': 'application/json', 'x-api-key': key }, body: '{"nft_gdn_ids":["x"]}' })
        .then(async (answer) => { console.log(JSON.stringify({ url, state, status: answer.status })); process.exitCode = 23 })`
    const { code: exitCode, stdout } = await home.run(node(code))
    expect(exitCode).toBe(23)
    const { url, state, status } = JSON.parse(stdout)
    expect(status).toBe(200)
    expect(existsSync(join(state, '..'))).toBe(false)
    await expect(fetch(url)).rejects.toThrow()
  })

  test('selects its own backend with --local, and does not stop it', async () => {
    const words = ['local', 'status', '--json', '--fields', 'url,data_dir']
    const code = `
      const { execFileSync } = require('node:child_process')
      const gdn = (...argv) => execFileSync(process.execPath, [process.argv[1], ...argv], { encoding: 'utf8' })
      gdn('local', 'stop')
      const { contract_address } = JSON.parse(gdn('collection', 'create', '--local', '-b', 'polygon', '--name', 'x', '--wallet', '${OWNER}', '--json'))
      const listed = JSON.parse(gdn('collection', 'list', '--json')).map((one) => one.contract_address)
      console.log(JSON.stringify({ status: JSON.parse(gdn(...${JSON.stringify(words)})), url: process.env.GDN_BASE_URL, isListed: listed.includes(contract_address) }))`
    const { stdout, stderr } = await home.run([...node(code), GDN_BIN])
    expect(stderr).not.toContain('Error: ')
    const { status, url, isListed } = JSON.parse(stdout)
    expect(status.url).toBe(url)
    expect(isListed).toBe(true)
    expect(status.data_dir).not.toContain(home.dir)
  })

  test('removes the contract and the profile of another server from the environment', async () => {
    const code = 'console.log(process.env.GDN_CONTRACT, process.env.GDN_PROFILE, process.env.GDN_BLOCKCHAIN)'
    const env = {
      GDN_CONTRACT: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      GDN_PROFILE: 'studio',
      GDN_BLOCKCHAIN: 'polygon',
    }
    expect((await home.run(node(code), { env })).stdout).toBe('undefined undefined polygon\n')
  })

  test('serves the version of the API that --api-version names', async () => {
    const code = `
      const { GDN_BASE_URL: url, GDN_API_KEY: key } = process.env
      fetch(url + '/api/v1/getnfts', { method: 'POST', headers: { 'content-type': 'application/json', 'x-api-key': key }, body: '{}' })
        .then(({ status }) => console.log(status))`
    const [, , ...words] = node(code)
    const { stdout } = await home.run(['local', 'exec', '--api-version', '1.2', ...words])
    expect(stdout).toBe('400\n')
  })

  test('forwards a signal to the command, waits for it, and removes everything', async () => {
    const code = `
      process.on('SIGTERM', () => setTimeout(() => process.exit(9), 200))
      console.log(JSON.stringify({ pid: process.pid, url: process.env.GDN_BASE_URL, state: process.env.GDN_STATE_DIR }))
      setInterval(() => {}, 1000)`
    const exec = home.start(node(code))
    const line = await new Promise<Buffer>((resolve) => exec.stdout?.once('data', resolve))
    const { pid, url, state } = JSON.parse(line.toString())
    exec.kill('SIGTERM')
    expect((await exec).exitCode).toBe(9)
    expect(isProcess(pid)).toBe(false)
    expect(existsSync(join(state, '..'))).toBe(false)
    await expect(fetch(url)).rejects.toThrow()
  })

  test('exits with 128 plus the signal number if a signal ends the command', async () => {
    expect((await home.run(node('process.kill(process.pid, "SIGKILL")'))).code).toBe(137)
  })

  test('exits with 2 if the command does not exist', async () => {
    expect(await home.run(['local', 'exec', '--', 'no-such-command'])).toMatchObject({ code: 2 })
  })

  test('passes flags after the command to the command', async () => {
    const { stdout } = await home.run(['local', 'exec', '--', 'echo', '--json', '--help', '-q'])
    expect(stdout).toBe('--json --help -q\n')
  })
})
