/** @module-tag slow */
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { rawCid } from '../../src/ipfs/cid.ts'
import { cli, errorOf, tempHome } from '../cli/harness.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { drop, pixels } from './collection-world.ts'

async function archived(count: number) {
  const world = await drop(count)
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const archive = (...flags: string[]) =>
    cli(['collection', 'archive', ...world.flags, '--to', file, ...flags], { env })
  return { world, file, env, archive }
}

test('keeps the content of an archive that --force replaces while the gateway has none of it', async () => {
  const { world, file, archive } = await archived(2)
  const page = `${world.web.url}/1.png`
  const json = (value: unknown) => `data:application/json,${encodeURIComponent(JSON.stringify(value))}`
  world.pages.set('/1.png', { body: pixels(7), headers: { 'content-type': 'image/png' } })
  world.uris.set(3n, json({ image: page }))
  expect((await archive('--allow-private-files')).code).toBe(0)
  const before = await readFile(file)
  world.gateway.blocks.clear()
  world.pages.clear()
  const { code, stderr } = await archive('--allow-private-files', '--force')
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining("Kept 1 file from the existing archive, because the originals can't be read now"),
  ])
  expect(stderr).toContain(`token 3, image, ${page}: `)
  expect(stderr).toContain(
    'gdn reused 4 files with ipfs URLs from the existing archive without reading them again. `gdn collection check`',
  )
  expect(await readFile(file)).toEqual(before)
  const { stdout } = await archive('--allow-private-files', '--force', '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ unreadable: 0, kept: 1, reused: 4 },
    kept_files: [{ token_id: '3', field: 'image', url: page }],
  })
}, 60_000)

test('refuses to replace an archive by one with fewer readable files, and resumes later', async () => {
  const { world, file, archive } = await archived(3)
  expect((await archive()).code).toBe(0)
  const before = await readFile(file)
  const lost = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'
  for (const id of [1n, 2n]) world.uris.set(id, `ipfs://${lost}`)
  // In one process, SQLite would still have the unfinished archive.
  const gdn = gdnAt({ url: 'http://127.0.0.1:9', apiKey: 'x' }, dirname(file))
  const force = ['collection', 'archive', ...world.flags, '--to', file, '--force']
  const { exitCode, stderr } = await gdn.run(...force, '--json')
  expect([exitCode, errorOf({ code: exitCode ?? 0, stderr, stdout: '' })]).toEqual([
    7,
    expect.objectContaining({
      message: expect.stringMatching(/tides\.car has 6 files, but only 2 can be read now$/),
      hint: expect.stringContaining('tides.car.partial contains the files that could be read'),
    }),
  ])
  expect(await readFile(file)).toEqual(before)
  expect(existsSync(`${file}.partial`)).toBe(true)
  const secondResult = await gdn.run(...force)
  expect(secondResult).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('Resuming after 1 token.') })
  expect(await readFile(file)).toEqual(before)
}, 60_000)

test('never replaces a damaged archive, that of another collection, or another file', async () => {
  const { world, file, env, archive } = await archived(2)
  expect((await archive()).code).toBe(0)
  const whole = await readFile(file)
  const damaged = Buffer.from(whole)
  damaged[damaged.length - 20] = (damaged[damaged.length - 20] as number) ^ 1
  const [contract = '', ...rest] = world.flags
  const other = `0x${'9'.repeat(40)}`
  for (const [content, flags, message] of [
    [damaged, world.flags, 'does not match its CID'],
    [whole.subarray(0, whole.length / 2), world.flags, 'tides.car'],
    [Buffer.from('my thesis'), world.flags, 'tides.car'],
    [whole, [other, ...rest], `is an archive of ${contract} on polygon`],
  ] as const) {
    await writeFile(file, content)
    const result = await cli(['collection', 'archive', ...flags, '--to', file, '--force', '--json'], { env })
    expect([result.code, errorOf(result).message]).toEqual([2, expect.stringContaining(message)])
    expect(errorOf(result).hint).toBe('The file was not changed. Use another file name, or delete this file first.')
    expect(await readFile(file)).toEqual(content)
  }
}, 60_000)

test('a check lists each file that an archive lacks and that can be read now, until --force adds it', async () => {
  const { world, file, env, archive } = await archived(3)
  const all = new Map(world.gateway.blocks)
  const parts = [2, 3].map((id) => rawCid(pixels(id).subarray(1024, 2048)).toString())
  const check = (...flags: string[]) =>
    cli(['collection', 'check', ...world.flags, '--archive', file, ...flags], { env })
  for (const lacked of [parts, parts.slice(0, 1)]) {
    for (const part of lacked) world.gateway.blocks.delete(part)
    expect((await archive('--force')).code).toBe(7)
    for (const part of parts) world.gateway.blocks.set(part, all.get(part) ?? Buffer.alloc(0))
    const result = await check('--json')
    const tokens = lacked.map((_part, at) => String(at + 2))
    expect([result.code, JSON.parse(result.stdout)]).toEqual([
      7,
      tokens.map((token_id) => ({
        ...{ kind: 'not_archived', token_id, field: 'image', url: expect.stringContaining(`/${token_id}.png`) },
        error: 'the file is missing from the archive',
      })),
    ])
    const what = lacked.length === 1 ? "token 2's image" : '2 files'
    expect(errorOf(result)).toMatchObject({
      message: `--archive: the archive lacks ${what}, which can be read now`,
      hint: expect.stringContaining(`--to ${file}\` and \`--force\``),
    })
    await rm(file)
  }
  const metadata = world.uris.get(3n)?.split('/')
  expect(metadata).toHaveLength(4)
  world.uris.set(3n, 'revert')
  expect((await archive()).code).toBe(7)
  world.uris.set(3n, metadata?.join('/') ?? '')
  const { stdout } = await check('--json')
  const found = JSON.parse(stdout) as { token_id: string; kind: string; field: string | null }[]
  expect(found.map(({ token_id, kind, field }) => [token_id, kind, field])).toEqual([
    ['3', 'not_archived', null],
    ['3', 'not_archived', 'metadata'],
    ['3', 'not_archived', 'image'],
  ])
  expect((await archive('--force')).code).toBe(0)
  expect(await check()).toMatchObject({ code: 0, stderr: expect.stringContaining('and match the archive') })
}, 60_000)

test('reads only what an archive lacks if --force replaces an incomplete one', async () => {
  const { world, archive } = await archived(3)
  const all = new Map(world.gateway.blocks)
  const missing = rawCid(pixels(2).subarray(1024, 2048)).toString()
  world.gateway.blocks.delete(missing)
  const partial = await archive('--json')
  expect([partial.code, errorOf(partial).hint]).toEqual([7, expect.stringContaining('Add --force')])
  world.gateway.blocks.set(missing, all.get(missing) ?? Buffer.alloc(0))
  world.gateway.asked.length = 0
  const { code, stdout } = await archive('--force', '--json')
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ unreadable: 0, files: 6, reused: 5 })])
  // The image is its root and three parts.
  expect(world.gateway.asked).toHaveLength(4)
}, 60_000)
