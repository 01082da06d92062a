/** @module-tag slow */
import { mkdir, open, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { ReadingStore } from '../../src/holders/reading-store.ts'
import { openSqlite } from '../../src/sqlite/driver.ts'
import { type CliOptions, cli, errorOf, tempHome } from '../cli/harness.ts'
import { type PlainAnvil, startPlainAnvil } from '../helpers/plain-anvil.ts'
import { startRpcProxy } from '../helpers/rpc-proxy.ts'
import { deploy } from './token-contracts.ts'

let anvil: PlainAnvil
let contract: Hex

beforeAll(async () => {
  anvil = await startPlainAnvil()
  const { address, send } = await deploy(anvil, 'Oz20')
  contract = address
  for (let i = 0; i < 24; i++) await send('mint', `0x${String(i + 1).padStart(40, 'd')}`, BigInt(5 + i))
}, 120_000)

afterAll(() => anvil.stop())

const holders = (options: CliOptions, url = anvil.url) =>
  cli(['collection', 'holders', contract, '-b', 'testchain', '--rpc-url', url, '--json'], options)

/** Stops a reading in the middle. Returns its environment and its file. */
async function stopped() {
  const { env, dir } = await tempHome()
  const stop = new AbortController()
  let left = 4
  const proxy = await startRpcProxy(anvil.url, {
    answer({ method, params }) {
      if (method !== 'eth_getLogs') return undefined
      if (Number(params[0].toBlock) - Number(params[0].fromBlock) > 3) {
        return { error: { code: -32_000, message: 'block range is too wide' } }
      }
      if (left-- === 0) stop.abort(new GdnError('interrupted', 'interrupted'))
      return undefined
    },
  })
  onTestFinished(() => proxy.close())
  expect((await holders({ env, signal: stop.signal }, proxy.url)).code).toBe(130)
  const folder = join(dir, '.local/state/gdn/holders')
  const [name = ''] = (await readdir(folder)).filter((found) => found.endsWith('.db'))
  const file = join(folder, name)
  const database = openSqlite(file)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  for (const end of ['-wal', '-shm']) await rm(file + end, { force: true })
  return { env, dir, file }
}

const isFull = () => Object.assign(new Error('database or disk is full'), { rawCode: 13 })

test('names the state directory if the disk is full, and resumes when there is space', async () => {
  const { env, dir } = await stopped()
  const apply = vi.spyOn(ReadingStore.prototype, 'apply').mockImplementation(() => {
    throw isFull()
  })
  onTestFinished(() => apply.mockRestore())
  const result = await holders({ env })
  expect([result.code, errorOf(result)]).toMatchObject([
    2,
    {
      code: 'data_dir',
      message: `no space left in the state directory ${join(dir, '.local/state/gdn')}`,
      hint: expect.stringContaining('--state-dir'),
    },
  ])
  apply.mockRestore()
  const later = await cli(['collection', 'holders', contract, '-b', 'testchain', '--rpc-url', anvil.url, '-o', 'ids'], {
    env,
  })
  expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining('Resuming at block') })
})

test('keeps a reading whose file can not be opened', async () => {
  const { env, file } = await stopped()
  const { size } = await stat(file)
  await mkdir(`${file}-wal`)
  const result = await holders({ env })
  expect([result.code, errorOf(result).code]).toEqual([2, 'data_dir'])
  expect((await stat(file)).size).toBe(size)
  await rmdir(`${file}-wal`)
  expect(await holders({ env })).toMatchObject({ code: 0 })
})

test('deletes a reading that turns out to be damaged, and says so', async () => {
  const { env, file } = await stopped()
  const handle = await open(file, 'r+')
  const { size } = await handle.stat()
  await handle.write(Buffer.alloc(size - 4096, 'damaged'), 0, size - 4096, 4096)
  await handle.close()
  const result = await holders({ env })
  expect([result.code, errorOf(result)]).toMatchObject([
    2,
    { code: 'data_dir', hint: expect.stringContaining('again') },
  ])
  expect(await holders({ env })).toMatchObject({ code: 0 })
})

test('says to delete a damaged lock file', async () => {
  const { env, file } = await stopped()
  await writeFile(`${file}.lock`, 'damaged'.repeat(1000))
  const result = await holders({ env })
  expect([result.code, errorOf(result)]).toMatchObject([2, { code: 'data_dir', hint: 'Delete the file.' }])
})
