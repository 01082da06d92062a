/** @module-tag slow */
import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import { rawCid } from '../../src/ipfs/cid.ts'
import { openSqlite } from '../../src/sqlite/driver.ts'
import { type CliOptions, cli, errorOf, tempHome } from '../cli/harness.ts'
import {
  backendForTest,
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  type TestBackend,
  temporaryDataDir,
} from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { openTestStore } from '../helpers/test-database.ts'
import { CONTRACT, CollectionWorld, drop, pixels } from './collection-world.ts'
import { opened } from './opened-archive.ts'

/** Archives a collection, and returns what the command printed. */
async function archive(world: CollectionWorld, flags: string[] = [], options: CliOptions = {}) {
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const argv = ['collection', 'archive', ...world.flags, '--to', file, '--json', ...flags]
  return { file, env, argv, ...(await cli(argv, { env, ...options })) }
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const dataUrl = (value: unknown) => `data:application/json;base64,${json(value).toString('base64')}`
const one = (uri: string) => new CollectionWorld({ uris: new Map([[1n, uri]]) }).start()

test('has every block that tokens reach, the index as its root, and nothing else', async () => {
  const world = await drop(3)
  const { file, code, stdout, stderr } = await archive(world)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  const { header, tokens, content, blocks, root } = await opened(file)
  expect(JSON.parse(stdout)).toMatchObject({ root, contract_address: CONTRACT, tokens: 3, files: 6, unreadable: 0 })
  expect(header).toMatchObject({ contract: CONTRACT, chain_id: 137, standard: 'ERC-721', block: { number: 16 } })
  expect(tokens.map(({ token_id }) => token_id)).toEqual(['1', '2', '3'])
  for (const { token_id, files } of tokens) {
    expect(files.map(({ field }) => field)).toEqual(['metadata', 'image'])
    const image = await content(String(files[1]?.cid))
    expect(image).toEqual(pixels(Number(token_id)))
    expect(files[1]).toMatchObject({
      size: image.length,
      sha256: createHash('sha256').update(image).digest('hex'),
      verification: 'cid',
    })
  }
  expect(new Set(blocks.keys())).toEqual(new Set([root, ...world.gateway.blocks.keys()]))
  expect(existsSync(`${file}.partial`)).toBe(false)
})

test('imports https, data and ar URLs, and says that they are not verifiable', async () => {
  const world = await one('')
  const ar = `${'A'.repeat(42)}1`
  const image = Buffer.alloc(600 * 1024, 'tide')
  world.pages.set('/1.json', {
    body: json({
      image: `${world.web.url}/1.png`,
      animation_url: `ar://${ar}/a.bin`,
      image_url: 'data:text/plain,hi%20you',
    }),
  })
  world.pages.set('/1.png', { body: image, headers: { 'content-type': 'image/png' } })
  world.pages.set(`/${ar}/a.bin`, { body: Buffer.from('sea'), headers: { 'content-type': 'application/octet-stream' } })
  world.uris.set(1n, `${world.web.url}/1.json`)
  const flags = ['--allow-private-files', '--arweave-gateway', world.web.url]
  const { file, code, stderr } = await archive(world, flags)
  expect([code, stderr]).toEqual([0, ''])
  const { tokens, content } = await opened(file)
  const files = tokens[0]?.files ?? []
  expect(files.map(({ field, verification }) => [field, verification])).toEqual([
    ['metadata', 'not verifiable'],
    ['image', 'not verifiable'],
    ['animation_url', 'not verifiable'],
    ['image_url', 'not verifiable'],
  ])
  expect(await content(String(files[1]?.cid))).toEqual(image)
  expect(await content(String(files[2]?.cid))).toEqual(Buffer.from('sea'))
  expect(await content(String(files[3]?.cid))).toEqual(Buffer.from('hi you'))
})

test('replaces {id} in the URIs of ERC-1155 and in the files of their metadata', async () => {
  const id = 255n
  const hex = id.toString(16).padStart(64, '0')
  const world = await new CollectionWorld({ standard: 'erc1155', uris: new Map() }).start()
  const root = await world.gateway.add({
    [`${hex}.json`]: json({ image: 'ipfs://IMAGES/{id}.png' }),
    [`${hex}.png`]: pixels(255),
  })
  const metadata = await world.gateway.add({ [`${hex}.json`]: json({ image: `ipfs://${root}/{id}.png` }) })
  world.uris.set(id, `ipfs://${metadata}/{id}.json`)
  const { file, code } = await archive(world)
  expect(code).toBe(0)
  const { tokens, content } = await opened(file)
  expect(tokens[0]).toMatchObject({ token_id: '255', uri: `ipfs://${metadata}/${hex}.json` })
  expect(await content(String(tokens[0]?.files[1]?.cid))).toEqual(pixels(255))
})

test('archives the other files of a directory only with --whole-directory', async () => {
  const world = await one('')
  const root = await world.gateway.add({ '1.json': json({ name: 'Tide' }), 'other.png': pixels(9) })
  world.uris.set(1n, `ipfs://${root}/1.json`)
  const all = world.gateway.blocks.size
  const some = await opened((await archive(world)).file)
  expect(some.blocks.size).toBeLessThan(all)
  const whole = await opened((await archive(world, ['--whole-directory'])).file)
  expect(whole.blocks.size).toBe(all + 1)
  expect(whole.tokens[0]?.files[1]).toMatchObject({ field: 'directory', cid: root, verification: 'cid' })
})

describe('says what could not be read, and archives the rest', () => {
  const meta = (world: CollectionWorld, value: unknown) => world.gateway.add({ '1': json(value) })
  const png = async (world: CollectionWorld, name: string) =>
    `ipfs://${await world.gateway.add({ [name]: pixels(1) })}/${name}`

  test.each<[string, (world: CollectionWorld) => Promise<string> | string, RegExp]>([
    ['a call that reverts', () => 'revert', /token 1: the contract returns no token URI: execution reverted/],
    ['a URI that nobody reads', () => 'ftp://example.com/1', /metadata, ftp:.*the URL is not supported/],
    ['a path instead of a URI', () => '1.json', /metadata, 1\.json: the URL is not supported/],
    ['metadata that is not JSON', () => 'data:,hello', /the metadata is not JSON/],
    ['metadata that is a list', () => dataUrl([1]), /the metadata is not a JSON object/],
    [
      'a broken data URL',
      () => dataUrl({ image: 'data:image/png;base64,%%%' }),
      /image, data:image.*the data URL has no comma/,
    ],
    [
      'a CID of another kind',
      () => dataUrl({ image: 'ipfs://bafyreidykglsfhoixmivffc5uwhcgshx4j465xwqntbmu43nb2dzqwfvae' }),
      /CID is invalid or unsupported/,
    ],
    [
      'a name that the directory lacks',
      async (world) => `ipfs://${await meta(world, {})}/../2`,
      /the directory has no "\.\."/,
    ],
    [
      'a directory',
      async (world) => `ipfs://${await meta(world, {})}`,
      /the URL points to a directory instead of a file/,
    ],
    ['a missing block', () => dataUrl({ image: `ipfs://${rawCid(Buffer.from('lost'))}` }), /returned HTTP 404/],
    [
      'an image on localhost',
      (world) => dataUrl({ image: `${world.web.url}/secret` }),
      /uses port \d+ instead|private address/,
    ],
    ['cloud credentials', () => dataUrl({ image: 'http://169.254.169.254/latest' }), /cloud metadata address/],
    ['a private IPv6 address', () => dataUrl({ image: 'http://[::ffff:10.0.0.1]/a.png' }), /private address/],
    ['localhost by name', () => dataUrl({ image: 'http://localhost/a.png' }), /private address/],
    [
      'a bare CID as image',
      () => dataUrl({ image: 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG' }),
      /the URL is not supported/,
    ],
    [
      'more files than a token may have',
      () => dataUrl({ images: Array.from({ length: 10_000 }, (_, at) => ({ image: `ipfs://x/${at}` })) }),
      /refers to more than 100 files/,
    ],
  ])('%s', async (_name, uri, message) => {
    const world = await one('')
    world.uris.set(1n, await uri(world))
    world.uris.set(2n, dataUrl({ image: await png(world, 'b.png') }))
    const { dir, env } = await tempHome()
    const file = join(dir, 'tides.car')
    const { code, stderr } = await cli(['collection', 'archive', ...world.flags, '--to', file], { env })
    const { tokens, header, content } = await opened(file)
    expect(stderr + JSON.stringify(tokens)).toMatch(message)
    expect(code).toBe(7)
    expect(stderr).toContain('could not be read')
    expect(header.unreadable).toBeGreaterThan(0)
    expect(await content(String(tokens[1]?.files[1]?.cid))).toEqual(pixels(1))
  })
})

test('reads the other tokens of a contract that returns a token URI of 10 MB for some', async () => {
  const world = await one(dataUrl({ name: 'Tide' }))
  for (let id = 2n; id <= 6n; id++) world.uris.set(id, dataUrl({ name: 'Tide' }))
  world.result = (id) => (id > 3n ? `0x${'61'.repeat(10_000_000)}` : undefined)
  const { code, file, stderr } = await archive(world)
  expect([code, stderr]).toEqual([7, expect.stringContaining('3 files of 6 tokens could not be read')])
  const { tokens } = await opened(file)
  const large = 'the token URI is larger than 2 MiB'
  expect(tokens.map(({ error }) => error)).toEqual([undefined, undefined, undefined, large, large, large])
}, 60_000)

test('refuses token URIs that are larger than the archive, before it reads any file', async () => {
  const world = await one(dataUrl({ image: 'x'.repeat(200_000) }))
  for (let id = 2n; id <= 60n; id++) world.uris.set(id, dataUrl({ image: 'x'.repeat(200_000) }))
  const { code, file, stderr } = await archive(world, ['--max-size', '10MiB'])
  expect([code, errorOf({ code, stderr, stdout: '' })]).toEqual([
    5,
    expect.objectContaining({
      message: `the token URIs of ${CONTRACT} are larger than 10 MiB in total`,
      hint: 'Set a higher limit with --max-size.',
    }),
  ])
  expect(existsSync(file)).toBe(false)
})

test('archives a collection of a backend, whose large files have no blocks of their own', async () => {
  const backend = await backendForTest()
  const collection = await createTestCollection(backend)
  const image = Buffer.concat([pixels(1), Buffer.alloc(600 * 1024, 'tide')])
  const server = await startHttpServer([{ body: image, headers: { 'content-type': 'image/png' } }])
  const [metadata] = plainMetadata(1)
  const file_fields = [{ key: 'image', url: `${server.url}/1.png` }]
  await settled(backend, await mint(backend, collection, [{ ...metadata, file_fields }]))
  await server.close()
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const own = { ...env, GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey.reveal() }
  const argv = ['collection', 'archive', collection.address, '-b', 'polygon', '--to', file]
  const { code, stderr } = await cli(argv, { env: own })
  expect([code, stderr]).toEqual([0, expect.stringContaining('1 token at block')])
  const { tokens, content } = await opened(file)
  const [described, token] = tokens
  expect(described).toMatchObject({ token_id: null, files: [{ verification: 'not verifiable' }] })
  expect(token?.files.map(({ verification }) => verification)).toEqual(['cid', 'cid'])
  expect(await content(String(token?.files[1]?.cid))).toEqual(image)
})

test('refuses an address that is no address, and a missing flag', async () => {
  const world = await one('data:,x')
  const { code, stderr } = await cli(['collection', 'archive', '0x12', ...world.flags.slice(1), '--to', 'a.car'])
  expect([code, stderr]).toEqual([2, expect.stringContaining('<address>')])
  expect((await cli(['collection', 'archive', ...world.flags])).stderr).toContain('--to: is required')
})

test.each([
  ['a node that does not respond', ['-b', 'polygon', '--rpc-url', 'http://127.0.0.1:9'], 6, 'nothing listens'],
  ['a blockchain that gdn does not know', ['-b', 'nochain'], 2, 'gdn has no network with this name. Use one of'],
])('leaves no file after %s', async (_name, flags, exit, text) => {
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const world = await drop(1)
  const server = { ...env, GDN_BASE_URL: world.web.url, GDN_API_KEY: 'x' }
  const { code, stderr } = await cli(['collection', 'archive', CONTRACT, ...flags, '--to', file], { env: server })
  expect([code, stderr]).toEqual([exit, expect.stringContaining(text)])
  expect((await readdir(dir)).filter((name) => name.startsWith('tides'))).toEqual([])
})

test('refuses a file in a directory that does not exist, before it reads any file', async () => {
  const world = await one(dataUrl({ name: 'Tide' }))
  const { code, stderr } = await cli(['collection', 'archive', ...world.flags, '--to', '/nowhere/tides.car', '--json'])
  expect([code, errorOf({ code, stderr, stdout: '' })]).toEqual([
    2,
    expect.objectContaining({ code: 'usage', message: '--to: the folder /nowhere does not exist' }),
  ])
  expect(world.calls).toEqual([])
})

test('never overwrites a file without --force, and gives the same bytes again', async () => {
  const world = await drop(2)
  const { file, argv, env } = await archive(world)
  const before = await readFile(file)
  const secondResult = await cli(argv, { env })
  expect([secondResult.code, errorOf(secondResult).message]).toEqual([3, expect.stringContaining('already exists')])
  expect((await cli([...argv, '--force'], { env })).code).toBe(0)
  expect(await readFile(file)).toEqual(before)
})

test('says that nothing is wrong, or lists what can not be read, what differs and what is gone', async () => {
  const world = await drop(3)
  const { file, env } = await archive(world)
  const check = (...flags: string[]) => cli(['collection', 'check', ...world.flags, ...flags], { env })
  expect(await check()).toMatchObject({ code: 0, stdout: '' })
  expect(await check('--archive', file)).toMatchObject({ code: 0, stdout: '' })
  const gone = rawCid(pixels(2).subarray(1024, 2048)).toString()
  world.gateway.blocks.delete(gone)
  world.uris.set(1n, dataUrl({ name: '<img> @team [x](y)' }))
  world.uris.set(4n, dataUrl({}))
  world.uris.delete(3n)
  const { code, stdout } = await check('--archive', file, '-o', 'ndjson')
  expect(code).toBe(7)
  const found = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(found.map(({ token_id, kind, field }) => [token_id, kind, field])).toEqual([
    ['1', 'differs', null],
    ['1', 'differs', 'metadata'],
    ['1', 'differs', 'image'],
    ['2', 'unreadable', 'image'],
    ['3', 'missing', null],
    ['4', 'new', null],
  ])
  const markdown = await check('-o', 'markdown')
  expect(markdown.code).toBe(7)
  expect(markdown.stdout).toContain('1 problem in the files of 3 tokens.')
  expect(markdown.stdout).toContain('<td><code>2</code></td><td>unreadable</td><td><code>image</code></td>')
  expect(existsSync(join(String(env.HOME), '.local/state/gdn/checks'))).toBe(true)
  expect(await readdir(join(String(env.HOME), '.local/state/gdn/checks'))).toEqual([])
})

test('a table of a check has at most 20 problems, and JSON all of them', async () => {
  const world = await new CollectionWorld({ uris: new Map() }).start()
  for (let id = 1n; id <= 23n; id++) world.uris.set(id, 'data:,hello')
  const { env } = await tempHome()
  const check = (...flags: string[]) => cli(['collection', 'check', ...world.flags, ...flags], { env })
  const { code, stdout, stderr } = await check()
  expect([code, stdout.trimEnd().split('\n').length]).toEqual([7, 20])
  expect(stderr).toContain('Not shown: 3 more problems. Add --json to list all of them.')
  const json = await check('--json')
  expect(JSON.parse(json.stdout)).toHaveLength(23)
  expect(json.stderr).not.toContain('not shown')
})

test('exits with 7 if the archive lacks a token, and names the command that adds it', async () => {
  const world = await drop(2)
  const { file, env } = await archive(world)
  const check = (...flags: string[]) =>
    cli(['collection', 'check', ...world.flags, '--archive', file, ...flags], { env })
  world.uris.set(3n, dataUrl({}))
  const { code, stdout, stderr } = await check('-o', 'ndjson')
  expect([code, JSON.parse(stdout)]).toEqual([7, expect.objectContaining({ token_id: '3', kind: 'new' })])
  expect(errorOf({ code, stdout, stderr })).toMatchObject({
    message: expect.stringContaining('the archive lacks 1 token'),
    hint: expect.stringContaining(`--to ${file}\` and \`--force\``),
  })
  world.uris.delete(3n)
  expect(await check()).toMatchObject({ code: 0, stderr: expect.stringContaining('and match the archive') })
})

test('says that a token changed after the archive was made, and how to archive or compare it', async () => {
  const world = await drop(2)
  const { file, env } = await archive(world)
  world.uris.set(1n, dataUrl({ name: 'Updated' }))
  const argv = ['collection', 'check', ...world.flags, '--archive', file, '--json']
  expect(errorOf(await cli(argv, { env }))).toMatchObject({
    message: '--archive: token 1 changed after the archive was made',
    hint: expect.stringMatching(/`gdn collection archive`.*`--force`.*add `--block 16`/),
  })
  world.uris.set(3n, dataUrl({}))
  expect(errorOf(await cli(argv, { env })).message).toBe(
    '--archive: token 1 changed after the archive was made, and the archive lacks 1 token',
  )
})

test('archives, checks and restores the metadata of the collection, its image and its banner', async () => {
  const world = await drop(1)
  const banner = pixels(8)
  const files = await world.gateway.add({ 'image.png': pixels(7), 'banner.png': banner })
  const metadata = { name: 'Tides', image: `ipfs://${files}/image.png`, banner_image: `ipfs://${files}/banner.png` }
  const own = await world.gateway.add({ 'collection.json': json(metadata) })
  world.contractUri = `ipfs://${own}/collection.json`
  const { file, code, env, stdout } = await archive(world)
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ tokens: 1, files: 5 })])
  const { tokens, header, content } = await opened(file)
  expect(header).toMatchObject({ version: 2, tokens: 1 })
  expect(tokens.map(({ token_id }) => token_id)).toEqual([null, '1'])
  expect(tokens[0]?.uri).toBe(world.contractUri)
  expect(tokens[0]?.files.map(({ field }) => field)).toEqual(['metadata', 'image', 'banner_image'])
  expect(await content(String(tokens[0]?.files[2]?.cid))).toEqual(banner)
  const check = ['collection', 'check', ...world.flags, '--archive', file, '-o', 'ndjson']
  expect(await cli(check, { env })).toMatchObject({ code: 0, stdout: '' })
  world.gateway.blocks.delete(rawCid(banner.subarray(1024, 2048)).toString())
  const lost = await cli(check, { env })
  expect([lost.code, JSON.parse(lost.stdout)]).toEqual([
    7,
    expect.objectContaining({ token_id: null, kind: 'unreadable', field: 'banner_image' }),
  ])
  const dataDir = await temporaryDataDir()
  const restore = ['collection', 'restore', file, '--data-dir', dataDir]
  expect((await cli(restore, { env })).code).toBe(0)
  const backend = await startTestBackend(dataDir)
  try {
    expect(await (await backend.get(`/ipfs/${own}/collection.json`)).json()).toEqual(metadata)
  } finally {
    await backend.close()
  }
})

test('requires --gateway only for ipfs URLs', async () => {
  const world = await one(dataUrl({ image: 'data:image/svg+xml,<svg/>' }))
  const check = () => cli(['collection', 'check', ...world.flags.slice(0, -2)])
  expect((await check()).code).toBe(0)
  world.uris.set(1n, 'ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku')
  const required = { code: 2, stderr: expect.stringContaining('--gateway: is required') }
  world.calls.length = 0
  expect(await check()).toMatchObject(required)
  expect(world.calls).toContain('eth_call')
  expect(world.calls).not.toContain('eth_getLogs')
  world.uris.set(7n, world.uris.get(1n) ?? '')
  world.uris.delete(1n)
  expect(await check()).toMatchObject(required)
})

test('a blockchain that gdn does not know is reported with the one of the chain ID', async () => {
  const world = await one(dataUrl({ name: 'Tide' }))
  const flags = world.flags.map((flag) => (flag === 'polygon' ? 'foo-chain' : flag))
  const { code, stderr } = await cli(['collection', 'check', ...flags])
  const warning = 'gdn has no blockchain named foo-chain. The node has the chain ID 137, which belongs to polygon'
  expect([code, stderr]).toEqual([0, expect.stringContaining(`${warning}. Did you mean -b polygon?`)])
})

test('a gateway that answers nothing is an error of the network, and the same command resumes', async () => {
  const world = await drop(2)
  const { dir } = await tempHome()
  const gdn = gdnAt({ url: 'http://127.0.0.1:9', apiKey: 'x' }, dir)
  const dead = [...world.flags.slice(0, -1), 'http://127.0.0.1:9']
  const file = join(dir, 'tides.car')
  const archive = ['collection', 'archive', '--to', file]
  for (const command of [['collection', 'check'], archive]) {
    const { exitCode, stderr } = await gdn.run(...command, ...dead)
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining('--gateway: no gateway responds: ')])
    if (command === archive) expect(stderr).toContain('tides.car.partial contains the files that were read so far.')
  }
  expect(existsSync(file)).toBe(false)
  expect(await gdn.run(...archive, ...world.flags)).toMatchObject({ exitCode: 0 })
})

test('a gateway that ends meanwhile is an error of the network, and the same command resumes', async () => {
  const world = await drop(30)
  world.uris.set(31n, dataUrl({}))
  const { dir } = await tempHome()
  const gdn = gdnAt({ url: 'http://127.0.0.1:9', apiKey: 'x' }, dir)
  let left = 20
  const gateway = await startHttpServer(async ({ path }) => {
    if (left-- === 0) void gateway.close()
    const bytes = world.gateway.blocks.get(path.split(/[/?]/)[2] ?? '')
    return bytes === undefined ? { status: 404, text: 'no' } : { body: bytes }
  })
  const flags = (url: string) => [...world.flags.slice(0, -1), url]
  const file = join(dir, 'tides.car')
  const archive = ['collection', 'archive', '--to', file]
  for (const command of [archive, ['collection', 'check']]) {
    const { exitCode, stderr } = await gdn.run(...command, ...flags(gateway.url))
    expect([exitCode, stderr]).toEqual([6, expect.stringMatching(/no gateway responds: .* refused the connection/)])
  }
  expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, true])
  const secondResult = await gdn.run(...archive, ...world.flags)
  expect([secondResult.exitCode, secondResult.stderr]).toEqual([0, expect.stringContaining('Resuming after')])
})

test('a gateway that answers nothing does not prevent an archive of what other servers have', async () => {
  const world = await one(dataUrl({ image: `ipfs://${rawCid(pixels(1))}` }))
  const { dir } = await tempHome()
  const gdn = gdnAt({ url: 'http://127.0.0.1:9', apiKey: 'x' }, dir)
  const failing = await startHttpServer(() => ({ status: 503, text: 'no' }))
  const dead = [...world.flags.slice(0, -1), failing.url]
  const { exitCode } = await gdn.run('collection', 'archive', ...dead, '--to', join(dir, 'tides.car'))
  await failing.close()
  expect(exitCode).toBe(7)
  expect(existsSync(join(dir, 'tides.car'))).toBe(true)
})

test('counts the files that the archive has, and names no others if it has none', async () => {
  const world = await drop(2)
  world.gateway.blocks.delete(rawCid(pixels(2).subarray(1024, 2048)).toString())
  const some = await archive(world)
  expect(JSON.parse(some.stdout)).toMatchObject({ files: 3, unreadable: 1 })
  expect(errorOf(some).hint).toContain('tides.car contains the others.')
  world.uris.clear()
  world.uris.set(2n, 'ftp://example.com/2')
  const none = await archive(world)
  expect(JSON.parse(none.stdout)).toMatchObject({ files: 0, unreadable: 1 })
  expect(errorOf(none).hint).toMatch(/^Add --force/)
})

test('restores an archive that lacks files, and lists them', async () => {
  const world = await drop(3)
  world.gateway.blocks.delete(rawCid(pixels(2).subarray(1024, 2048)).toString())
  const { file, env } = await archive(world)
  const dataDir = await temporaryDataDir()
  const restore = ['collection', 'restore', file, '--data-dir', dataDir]
  const { code, stdout } = await cli([...restore, '--json'], { env })
  expect(code).toBe(7)
  const problems = [expect.objectContaining({ token_id: '2', field: 'image' })]
  expect(JSON.parse(stdout)).toMatchObject({ tokens: 3, answering: 3, unreadable: 1, problems })
  const { stderr } = await cli(restore, { env })
  expect(stderr).toContain('token 2, image, ipfs:')
  expect(stderr).toContain('the archive lacks 1 file of 3 tokens')
})

test('restores the intact blocks of a damaged archive with --intact, and no other', async () => {
  const world = await drop(3)
  const { file, env } = await archive(world)
  const bytes = await readFile(file)
  const lost = pixels(2).subarray(1024, 2048)
  const at = bytes.indexOf(lost)
  expect(at).toBeGreaterThan(0)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  await writeFile(file, bytes)
  const dataDir = await temporaryDataDir()
  const restore = ['collection', 'restore', file, '--data-dir', dataDir]
  const refused = await cli(restore, { env })
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('restore --intact')])
  const { code, stderr } = await cli([...restore, '--intact'], { env })
  expect(code).toBe(7)
  expect(stderr).toContain(`block ${rawCid(lost)} does not match its CID`)
  expect(stderr).toMatch(/token 2, image, ipfs:\S+: the file is missing from the archive/)
  expect(stderr).toContain('the archive lacks 1 file of 3 tokens')
  const backend = await startTestBackend(dataDir)
  try {
    const images = await Promise.all(
      [...world.uris.values()].map(async (uri) => {
        const metadata = await backend.get(`/ipfs/${uri.slice('ipfs://'.length)}`)
        const { image } = (await metadata.json()) as { image: string }
        return (await backend.get(`/ipfs/${image.slice('ipfs://'.length)}`)).status
      }),
    )
    expect(images).toEqual([200, 404, 200])
  } finally {
    await backend.close()
  }
})

test('restores into an empty backend, where every token URI answers', async () => {
  const world = await drop(3)
  const { file, env } = await archive(world)
  const dataDir = await temporaryDataDir()
  let backend: TestBackend | undefined
  const { code, stdout } = await cli(['collection', 'restore', file, '--data-dir', dataDir, '--json'], { env })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ tokens: 3, answering: 3, publishes: false })
  for (const round of ['new', 'restored again while it runs']) {
    backend ??= await backendForTest({ dataDir })
    for (const [id, uri] of world.uris) {
      const response = await backend.get(`/ipfs/${uri.slice('ipfs://'.length)}`)
      const metadata = (await response.json()) as { name: string; image: string }
      expect([round, metadata.name]).toEqual([round, `Tide ${id}`])
      const image = await backend.get(`/ipfs/${metadata.image.slice('ipfs://'.length)}`)
      expect(Buffer.from(await image.arrayBuffer())).toEqual(pixels(Number(id)))
    }
    const secondResult = await cli(['collection', 'restore', file, '--data-dir', dataDir], { env })
    expect([secondResult.code, secondResult.stderr]).toEqual([
      0,
      expect.stringContaining('The backend serves the restored files at /ipfs.'),
    ])
  }
  await backend?.close()
  backend = undefined
  const { stderr } = await cli(['collection', 'restore', file, '--data-dir', dataDir], { env })
  expect(stderr).toContain(`Run \`gdn serve --data-dir ${dataDir}\` to serve the restored files at /ipfs.`)
})

test.each([
  ['only its file', ''],
  ['only the table of migrations', 'CREATE TABLE kysely_migration (name text PRIMARY KEY, timestamp text)'],
])('creates a database of which an interrupted command left %s', async (_name, statement) => {
  const world = await drop(1)
  const { file, env } = await archive(world)
  const dataDir = await temporaryDataDir()
  const database = openSqlite(join(dataDir, 'gdn.db'))
  database.exec(statement)
  database.close()
  const { code, stdout, stderr } = await cli(['collection', 'restore', file, '--data-dir', dataDir, '--json'], {
    env,
  })
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ tokens: 1, answering: 1 })
})

test('replaces damaged copies, so that the backend serves what a check reads', async () => {
  const backend = await backendForTest()
  const collection = await createTestCollection(backend)
  const images = [100, 600].map((size) => Buffer.concat([pixels(1), Buffer.alloc(size * 1024, `tide ${size}`)]))
  const server = await startHttpServer(images.map((body) => ({ body, headers: { 'content-type': 'image/png' } })))
  const nfts = plainMetadata(2).map((metadata, at) => ({
    ...metadata,
    file_fields: [{ key: 'image', url: `${server.url}/${at}.png` }],
  }))
  await settled(backend, await mint(backend, collection, nfts))
  await server.close()
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const run = (argv: string[]) =>
    cli(argv, { env: { ...env, GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey.reveal() } })
  const contract = [collection.address, '-b', 'polygon']
  expect((await run(['collection', 'archive', ...contract, '--to', file])).code).toBe(0)
  const stored = (await readdir(join(backend.dataDir, 'files'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ cid: name, path: join(parentPath, name) }))
    .map((one) => ({ ...one, size: statSync(one.path).size }))
  expect(stored.length).toBe(2)
  const { tokens } = await opened(file)
  const metadata = tokens[1]?.files[0]?.cid
  const [small, large] = stored.sort((one, other) => one.size - other.size)
  await writeFile(String(small?.path), (await readFile(String(small?.path))).fill('x', 5000, 5100))
  await truncate(String(large?.path), 1000)
  const store = await openTestStore(backend.dataDir)
  const damaged = { bytes: Buffer.from('damaged') }
  await store.db.updateTable('blocks').set(damaged).where('cid', '=', String(metadata)).execute()
  await store.close()
  const checked = await run(['collection', 'check', ...contract])
  expect([checked.code, checked.stderr]).toEqual([7, expect.stringContaining('2 problems')])
  expect((await run(['collection', 'restore', file, '--data-dir', backend.dataDir])).code).toBe(0)
  expect((await run(['collection', 'check', ...contract])).code).toBe(0)
  for (const [at, image] of images.entries()) {
    const response = await backend.get(`/ipfs/${[small, large][at]?.cid}`)
    expect([response.status, Buffer.from(await response.arrayBuffer())]).toEqual([200, image])
  }
})

describe('refuses to restore', () => {
  test('a pipe that nobody writes to', async () => {
    const { dir, env } = await tempHome()
    await execa('mkfifo', [join(dir, 'pipe')])
    const { code, stderr } = await cli(['collection', 'restore', join(dir, 'pipe'), '--data-dir', dir], { env })
    expect([code, stderr]).toEqual([2, expect.stringContaining('the path is not a regular file')])
  })

  const changed = (at: number) => (bytes: Buffer) => {
    const offset = at < 0 ? bytes.length + at : at
    bytes.writeUInt8(bytes.readUInt8(offset) ^ 1, offset)
    return bytes
  }
  test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ['a file in which one bit differs', changed(-1), /block \w+ does not match its CID \(byte \d+\)/],
    [
      'a file that ends early',
      (bytes) => bytes.subarray(0, -10),
      /the file ends in the middle of a block \(byte \d+\)/,
    ],
    ['another file', () => Buffer.from('hello'), /the file is not a CARv1 file/],
    ['an empty file', () => Buffer.alloc(0), /the file is not a CARv1 file/],
    [
      'a file whose block claims gigabytes',
      (bytes) => Buffer.concat([bytes.subarray(0, 59), Buffer.from('ffffffff0f', 'hex'), bytes.subarray(60)]),
      /byte 59/,
    ],
  ])('%s', async (_name, change, message) => {
    const world = await drop(1)
    const { file, env } = await archive(world)
    await writeFile(file, change(await readFile(file)))
    const dataDir = await freshDataDir()
    const { code, stderr } = await cli(['collection', 'restore', file, '--data-dir', dataDir.path], { env })
    await dataDir.remove()
    expect(stderr).toMatch(message)
    expect(stderr).toContain(file)
    expect(code).toBe(2)
  })
})
