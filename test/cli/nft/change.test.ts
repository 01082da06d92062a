/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { NftRecord } from '../../../src/api/nft-record.ts'
import { backendForFile, type TestBackend } from '../../helpers/backend.ts'
import { dynamicNfts } from '../../helpers/updates.ts'
import { fakeApi, knows, nft, OWNER } from '../fake-api.ts'
import { type CliOptions, cli, tempHome } from '../harness.ts'

let backend: TestBackend
let ids: string[]
beforeAll(async () => {
  backend = await backendForFile()
  ;({ ids } = await dynamicNfts(backend, ['One', 'Two', 'Three', 'Four', 'Five'], { enable_burn: true }))
})

let home: Awaited<ReturnType<typeof tempHome>>
beforeEach(async () => {
  home = await tempHome()
})

const run = (argv: readonly string[], options: CliOptions = {}) =>
  cli([...argv, '--base-url', backend.url], {
    env: { ...home.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BLOCKCHAIN: 'polygon' },
    cwd: home.dir,
    ...options,
  })
const gdn = (...argv: string[]) => run(argv)

async function json<Result>(...argv: string[]): Promise<Result> {
  const { code, stdout, stderr } = await gdn(...argv, '--json')
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as Result
}

const show = (id = '') => json<NftRecord>('nft', 'show', id)
const revision = async (id: string) => (await show(id)).revision

test('update, freeze, burn and history accept <contract>/<token ID> in place of the ID', async () => {
  const {
    ids: [id = ''],
  } = await dynamicNfts(backend, ['Six'], { enable_burn: true })
  const { contract_address, token_id } = await show(id)
  const token = `${contract_address}/${token_id}`
  expect(await json('nft', 'update', token, '--title', 'Seven')).toMatchObject({ nft_gdn_id: id })
  expect((await show(id)).request_metadata).toMatchObject({ title: 'Seven' })
  expect(await json('nft', 'history', token)).toEqual(await json('nft', 'history', id))
  for (const action of ['freeze', 'burn']) {
    expect(await json('nft', action, token, id, '--dry-run')).toMatchObject([{ nft_gdn_id: id, status: 'planned' }])
  }
  expect(await gdn('nft', 'update', `${contract_address}/99`, '--title', 'x')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining(`the server has no token 99 of ${contract_address}`),
  })
})

describe('a token ID', () => {
  let collection: string
  let id: string
  beforeEach(async () => {
    const created = await json<{ contract_address: string }>(
      ...['collection', 'create', '--name', 'Tidal Hours', '--wallet', OWNER, '--dynamic', '--enable-burn'],
    )
    collection = created.contract_address
    const minted = await json<{ nft_gdn_id: string }>(
      ...['nft', 'mint', '-c', collection, '--title', 'One', '--description', 'x', '--receiver', OWNER],
    )
    id = minted.nft_gdn_id
  })

  test('with the name or the address of its collection stands for the ID of the NFT in every command', async () => {
    for (const token of [['1', '-c', 'tidal hours'], ['1', '-c', collection], ['Tidal Hours/1']]) {
      expect(await json('nft', 'show', ...token)).toMatchObject({ contract_address: collection, token_id: '1' })
      expect(await json('nft', 'verify', ...token)).toMatchObject({ contract_address: collection, token_id: '1' })
      expect(await json('nft', 'history', ...token)).toEqual(await json('nft', 'history', id))
      for (const action of ['freeze', 'burn']) {
        expect(await json('nft', action, ...token, '--dry-run')).toMatchObject([{ nft_gdn_id: id, status: 'planned' }])
      }
      expect(await json('nft', 'update', ...token, '--title', token.join(' '))).toMatchObject({ nft_gdn_id: id })
    }
  })

  test.each([
    ['an NFT ID with --contract', [randomUUID(), '-c', 'Tidal Hours'], '--contract: requires a token ID'],
    ['two collections', ['Tidal Hours/1', '-c', `0x${'1'.repeat(40)}`], '--contract: differs from the collection of'],
    ['an unknown name', ['Hours of Tide/1'], '"Hours of Tide" is neither an address nor the name of a collection'],
  ])('is rejected with %s', async (_, token, message) => {
    for (const command of ['show', 'verify', 'history', 'freeze']) {
      expect(await gdn('nft', command, ...token)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    }
  })
})

describe('gdn nft update', () => {
  test('changes the fields that flags name, keeps the others, and does nothing when repeated', async () => {
    const [id = ''] = ids
    const first = await json<object>(
      'nft',
      'update',
      id,
      '--title',
      'Uno',
      '--attr',
      'level=2',
      '--extra',
      'artist=Ada',
    )
    expect(first).toMatchObject({ nft_gdn_id: id, title: 'Uno', status: 'deployed', gas_used: expect.any(String) })
    await json('nft', 'update', id, '--attr', 'level=3', '--attr', 'color=red')
    expect(await show(id)).toMatchObject({
      revision: 2,
      request_metadata: {
        title: 'Uno',
        artist: 'Ada',
        attribute: [
          { tag: 'level', value: '3' },
          { tag: 'color', value: 'red' },
        ],
      },
    })
    const secondResult = await gdn('nft', 'update', id, '--attr', 'color=red')
    expect(secondResult).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing to change.') })
    expect(await revision(id)).toBe(2)
  })

  test('replaces the whole metadata by a file, or by standard input', async () => {
    const [, id = ''] = ids
    const metadata = (title: string) => ({ title, description: 'new', file_fields: [] })
    const file = join(home.dir, 'metadata.json')
    await writeFile(file, JSON.stringify(metadata('Dos')))
    await json('nft', 'update', id, '-f', file)
    expect((await show(id)).request_metadata).toEqual(metadata('Dos'))
    const piped = await run(['nft', 'update', id, '-f', '-'], { stdin: JSON.stringify(metadata('Deux')) })
    expect(piped.code, piped.stderr).toBe(0)
    expect((await show(id)).request_metadata).toEqual(metadata('Deux'))
  })

  test('shows the difference with --dry-run and sends nothing', async () => {
    const { code, stdout } = await gdn(
      'nft',
      'update',
      ids[2] ?? '',
      '--title',
      'Tres',
      '--attr',
      'level=1',
      '--dry-run',
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'title\tThree\tTres\nattribute level\t\t1\n' })
    expect(await revision(ids[2] ?? '')).toBe(0)
  })

  test.each([
    ['nothing to change', [], 'no change is specified', 2],
    [
      'a file and a field',
      ['-f', 'x.json', '--title', 'x'],
      "--file: can't be combined with flags for single fields",
      2,
    ],
    ['an empty title', ['--title', ''], 'title', 2],
  ])('rejects %s, and sends nothing', async (_, flags, message, exitCode) => {
    const { code, stderr } = await gdn('nft', 'update', ids[2] ?? '', ...flags)
    expect(stderr).toContain(message)
    expect(code).toBe(exitCode)
    expect(await revision(ids[2] ?? '')).toBe(0)
  })

  test('rejects an NFT that is unknown, or that was not created as dynamic', async () => {
    const unknown = await gdn('nft', 'update', '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', '--title', 'x')
    expect(unknown).toMatchObject({ code: 5, stderr: expect.stringContaining('the server has no NFT') })
    const {
      ids: [still = ''],
    } = await dynamicNfts(backend, ['Still'], { dynamic: false })
    const refused = await gdn('nft', 'update', still, '--title', 'x')
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('was not created as a dynamic NFT') })
  })
})

test('gdn nft freeze makes metadata final after a confirmation, once', async () => {
  const id = ids[3] ?? ''
  const promptResult = await gdn('nft', 'freeze', id)
  expect(promptResult.code).toBe(3)
  expect(promptResult.stderr).toMatch(/: Permanently freeze its metadata in 0x.{4}….{4} on polygon\?$/m)
  expect(await json('nft', 'freeze', id, '--yes')).toMatchObject([
    { nft_gdn_id: id, status: 'deployed', is_frozen: true },
  ])
  expect(await show(id)).toMatchObject({ is_frozen: true })
  const table = (await gdn('nft', 'freeze', ids[2] ?? '', '--yes')).stdout
  expect(table.split('\t')[2]).toBe('frozen')
  expect(await gdn('nft', 'freeze', id, '--yes')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('Nothing to change.'),
  })
  const refused = await gdn('nft', 'update', id, '--title', 'x')
  expect(refused.code).toBe(5)
  expect(refused.stderr).toBe(`error: ${id} is frozen, so its metadata can't change\n`)
})

test('gdn nft freeze sends several requests for more NFTs than one request freezes, after one prompt', async () => {
  const titles = Array.from({ length: 201 }, (_, at) => `#${at}`)
  const { ids } = await dynamicNfts(backend, titles)
  const promptResult = await gdn('nft', 'freeze', ...ids)
  expect(promptResult).toMatchObject({ code: 3, stderr: expect.stringContaining('metadata of these 201 NFTs in 0x') })
  expect(await gdn('nft', 'freeze', ...ids, '--yes', '--operation', randomUUID())).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--operation: identifies one request, which can freeze at most 200 NFTs'),
  })
  const frozen = await json<{ is_frozen: boolean; transaction_gdn_id: string }[]>('nft', 'freeze', ...ids, '--yes')
  expect(frozen.filter(({ is_frozen }) => is_frozen)).toHaveLength(201)
  expect(new Set(frozen.map(({ transaction_gdn_id }) => transaction_gdn_id)).size).toBe(2)
})

test('gdn nft burn names title and owner first, and burns once', async () => {
  const id = ids[4] ?? ''
  const promptResult = await gdn('nft', 'burn', id)
  expect(promptResult.code).toBe(3)
  expect(promptResult.stderr).toMatch(/^Five \(.*\), token 5, owned by 0x/m)
  expect(await json('nft', 'burn', id, '--yes')).toMatchObject([
    { nft_gdn_id: id, status: 'burned', receiver_wallet_address: null },
  ])
  expect(await show(id)).toMatchObject({ burned: true })
  const { ids: others } = await dynamicNfts(backend, ['Six', 'Seven'], { enable_burn: true })
  const { stdout } = await run(['nft', 'burn', ...others, '--yes'], { tty: true, columns: 120 })
  expect(stdout).toMatch(/^TOKEN +TITLE +STATUS +ID$/m)
  expect(await gdn('nft', 'burn', id, '--yes')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('The NFT is already burned.'),
  })
  expect(await gdn('nft', 'verify', id)).toMatchObject({
    code: 5,
    stderr: expect.stringContaining(`${id} is burned: it has no owner`),
  })
})

test.each([
  ['update', 'failed'],
  ['update', 'error'],
  ['burn', 'failed'],
  ['burn', 'error'],
])('gdn nft %s exits with 5 for an NFT with the status %s', async (verb, status) => {
  const api = await fakeApi({ getnfts: knows(nft('one', { status, token_id: null, error: 'no gas' })) })
  const change = verb === 'update' ? ['--title', 'Uno'] : ['--yes']
  const { code, stderr } = await cli(['nft', verb, 'one', ...change, '--base-url', api.url], {
    env: { ...home.env, GDN_API_KEY: 'k', GDN_BLOCKCHAIN: 'polygon' },
  })
  expect({ code, stderr }).toEqual({
    code: 5,
    stderr: expect.stringContaining('one failed and was never minted: no gas'),
  })
})

test('gdn nft burn is refused by a collection that was created without it', async () => {
  const {
    ids: [id = ''],
  } = await dynamicNfts(backend, ['Kept'])
  const refused = await gdn('nft', 'burn', id, '--yes')
  expect(refused.code).toBe(5)
  expect(refused.stderr).toContain('enable_burn')
  expect(await show(id)).toMatchObject({ burned: false })
})

describe('gdn nft history', () => {
  test('shows what happened to an NFT, with what updates changed', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['Dawn'], { enable_burn: true })
    const [id = ''] = ids
    await json('nft', 'update', id, '--title', 'Dusk', '--attr', 'level=2')
    await json('nft', 'burn', id, '--yes')
    const events = await json<{ kind: string; status: string }[]>('nft', 'history', id)
    expect(events).toMatchObject([
      { kind: 'mint', status: 'deployed', revision: null },
      { kind: 'update', revision: 1, changes: [{ field: 'title', before: 'Dawn', after: 'Dusk' }, {}] },
      { kind: 'burn', to: '0x0000000000000000000000000000000000000000' },
    ])
    const { stdout } = await gdn('nft', 'history', id)
    const [mint = '', update = '', burn = ''] = stdout.split('\n')
    expect(mint.split('\t').slice(1, 4)).toEqual(['mint', 'deployed', expect.stringMatching(/^to 0x/)])
    expect(update.split('\t').slice(1, 4)).toEqual([
      ...['update', 'deployed'],
      'title: "Dawn" to "Dusk", attribute level: none to "2"',
    ])
    expect(burn.split('\t')[3]).toMatch(/^of 0x/)
    const listed = await gdn('nft', 'list', '-c', collection.address)
    expect(listed.stdout).toMatch(/\tDusk\tburned\t/)
    const showResult = await gdn('nft', 'show', id)
    expect(showResult.stdout).toMatch(/^burned\s+(true|yes)$/m)
    expect(showResult.stdout).toMatch(/^revision\s+1$/m)
    expect(await gdn('nft', 'history', 'nobody')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('the server has no NFT nobody'),
    })
  })

  test('shows the new owner of each transfer on a terminal of 80 columns', async () => {
    const [first, second] = [`0xAAAA${'1'.repeat(32)}bbbb`, `0xCCCC${'2'.repeat(32)}dddd`]
    const event = (kind: string, from: string | null, to: string) => ({
      ...{ kind, from, to, status: kind === 'mint' ? 'deployed' : 'initiated', transaction_gdn_id: null },
      ...{ accepted_date: '2026-01-31 12:00:00', block_date: '2026-01-31 12:00:00', block_number: 38_000_000 },
      ...{ transaction_hash: `0x${'ab'.repeat(32)}`, revision: null, changes: null, changes_left_out: 0, error: null },
    })
    const api = await fakeApi({
      getnfts: (body: never) => ({ ...knows(nft('a'))(body), headers: { 'nft-history-supported': 'yes' } }),
      getnfthistory: ({ nft_gdn_id }: { nft_gdn_id: string }) => ({
        body: {
          ...{ requests: { nft_gdn_id }, next_offset: null },
          events: [event('mint', null, first), event('transfer', first, second)],
        },
      }),
    })
    const on = async (columns: number) =>
      (
        await cli(['nft', 'history', 'a', '--base-url', api.url], {
          ...{ tty: true, columns },
          env: { ...home.env, GDN_API_KEY: 'a-key', TZ: 'UTC' },
        })
      ).stdout
    const narrow = await on(80)
    expect(narrow).toContain('to 0xAAAA…bbbb')
    expect(narrow).toContain('to 0xCCCC…dddd')
    expect(Math.max(...narrow.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(await on(180)).toContain(`${first} to ${second}`)
  })

  test('says once that all events have one status, where a terminal has no room for its column', async () => {
    const event = (n: number) => ({
      ...{ kind: 'update', status: 'deployed', transaction_gdn_id: null, accepted_date: null, from: null, to: null },
      ...{ block_date: '2026-01-31 12:00:00', block_number: n, transaction_hash: `0x${'ab'.repeat(32)}`, revision: n },
      ...{
        changes: [{ field: 'title', before: 'Dawn over the sea', after: 'Dusk' }],
        changes_left_out: 0,
        error: null,
      },
    })
    const api = await fakeApi({
      getnfts: (body: never) => ({ ...knows(nft('a'))(body), headers: { 'nft-history-supported': 'yes' } }),
      getnfthistory: ({ nft_gdn_id }: { nft_gdn_id: string }) => ({
        body: { requests: { nft_gdn_id }, events: [event(1), event(2)], next_offset: null },
      }),
    })
    const { stdout, stderr } = await cli(['nft', 'history', 'a', '--base-url', api.url], {
      ...{ tty: true, stderrTty: true, columns: 90 },
      env: { ...home.env, GDN_API_KEY: 'a-key', TZ: 'UTC' },
    })
    expect(stderr).toContain('All 2 events have the status deployed.')
    expect(stdout).not.toContain('revision')
  })

  test('asks for all pages, and a server without histories for none', async () => {
    const event = (n: number) => ({
      ...{ kind: 'transfer', status: 'deployed', transaction_gdn_id: null, accepted_date: null, block_date: null },
      ...{ block_number: n, transaction_hash: `0x${n}`, from: 'a', to: 'b', revision: null, changes: null },
      ...{ changes_left_out: 0, error: null },
    })
    const ours = await fakeApi({
      getnfts: (body: never) => ({ ...knows(nft('a'))(body), headers: { 'nft-history-supported': 'yes' } }),
      getnfthistory: ({ nft_gdn_id, offset }: { nft_gdn_id: string; offset: number }) => ({
        body: { requests: { nft_gdn_id }, events: [event(offset)], next_offset: offset === 2 ? null : offset + 1 },
      }),
    })
    const of = (api: { url: string }) =>
      cli(['nft', 'history', 'a', '-o', 'ids', '--base-url', api.url], { env: { ...home.env, GDN_API_KEY: 'a-key' } })
    expect(await of(ours)).toMatchObject({ code: 0, stdout: '0x0\n0x1\n0x2\n' })
    const hosted = await fakeApi({ getnfts: knows(nft('a')) })
    expect(await of(hosted)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('does not provide the history of NFTs'),
    })
    expect(hosted.calls.map(({ path }) => path)).toEqual(['/api/v1/getnfts'])
  })
})
