/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { backendForFile, call, createTestCollection, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { enterCollections } from '../../helpers/known-collections.ts'
import { CONTRACT, fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const [, BOB, CAROL] = WALLETS
const CSV = `id,title,description,receiver\na,Dawn,x,${BOB}\nb,Dusk,x,${BOB}\n`

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

/** A machine with its own state and a copy of the manifest. */
async function machine(contract: string, csv = CSV) {
  const { path, options } = await folder({ 'drop.csv': csv, 'row.json': '{"title":"Dawn","description":"x"}' })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  const target = ['-c', contract, '-b', 'polygon', '--base-url', backend.url, '--yes']
  return {
    stateDir: join(path('.local'), 'state', 'gdn'),
    path,
    write: (text: string) => writeFile(path('drop.csv'), text),
    mint: (...more: string[]) =>
      cli(['batch', 'mint', path('drop.csv'), ...target, '--run', 'spring', ...more], { ...options, env }),
    run: (...args: string[]) => cli([...args, ...target], { ...options, env }),
  }
}

async function nftsOf(contract: string) {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: contract, blockchain: 'polygon' })
  return nft_gdn_ids.length === 0 ? [] : (await call(backend, 'getnfts', { nft_gdn_ids })).nfts
}

describe('batch mint --dynamic', () => {
  test('mints NFTs that can be updated, and is resumed without the flag', async () => {
    const { address } = await createTestCollection(backend)
    const { mint, write } = await machine(address)
    expect(await mint('--dynamic')).toMatchObject({ code: 0 })
    await write(`${CSV}c,Night,x,${CAROL}\n`)
    expect(await mint()).toMatchObject({ code: 0 })
    const nfts = await nftsOf(address)
    expect(nfts.map(({ is_dynamic, status }) => [is_dynamic, status])).toEqual(Array(3).fill([true, 'deployed']))
  })

  test('mints nothing twice after a run without the flag, on the same machine and on another', async () => {
    const { address } = await createTestCollection(backend)
    const first = await machine(address)
    expect(await first.mint()).toMatchObject({ code: 0 })
    const sameResult = await first.mint('--dynamic', '--json')
    expect([sameResult.code, errorOf(sameResult).message]).toEqual([
      2,
      expect.stringMatching(/^--dynamic: the run spring-\w+ was started without --dynamic: its NFTs can't be updated$/),
    ])
    const second = await machine(address)
    const other = await second.mint('--dynamic', '--json')
    expect(other.code).not.toBe(0)
    expect(errorOf(other)).toMatchObject({
      ...{ code: 'seems_minted', message: expect.stringMatching(/^2 rows were minted without --dynamic/) },
      hint: expect.stringContaining('Nothing was sent.'),
    })
    await second.write(`${CSV}c,Night,x,${CAROL}\n`)
    expect(await second.mint('--dynamic', '--adopt')).toMatchObject({ code: 0 })
    const nfts = await nftsOf(address)
    expect(nfts.map(({ is_dynamic }) => is_dynamic)).toEqual([false, false, true])
  })

  test('mints nothing twice after a run with the flag, on another machine without it', async () => {
    const { address } = await createTestCollection(backend)
    expect(await (await machine(address)).mint('--dynamic')).toMatchObject({ code: 0 })
    expect(await (await machine(address)).mint()).toMatchObject({ code: 0 })
    expect(await nftsOf(address)).toHaveLength(2)
  })

  test('into a dynamic collection needs no flag, and either works', async () => {
    const { address } = await createTestCollection(backend, { dynamic: true })
    expect(await (await machine(address)).mint()).toMatchObject({ code: 0 })
    expect(await (await machine(address)).mint('--dynamic')).toMatchObject({ code: 0 })
    expect((await nftsOf(address)).map(({ is_dynamic }) => is_dynamic)).toEqual([true, true])
  })

  test.each([
    { dynamic: false, isKnown: true, note: 'add --dynamic.' },
    { dynamic: true, isKnown: true, note: null },
    { dynamic: true, isKnown: false, note: 'add --dynamic, unless the collection is dynamic.' },
  ])('is suggested by a dry run only if the collection may not be dynamic: %j', async ({ dynamic, isKnown, note }) => {
    const { id, address } = await createTestCollection(backend, { dynamic })
    const { mint, run, path, stateDir } = await machine(address)
    const health = (await (await fetch(`${backend.url}/healthz`)).json()) as { backend_id: string }
    const origin = `backend:${health.backend_id}`
    if (isKnown) await enterCollections(stateDir, { origin, transaction_gdn_id: id, contract_address: address })
    const { stderr } = await mint('--dry-run')
    expect(/To allow updates of the NFTs after the mint, (.*)/.exec(stderr)?.[1] ?? null).toBe(note)
    expect((await mint('--dry-run', '--dynamic')).stderr).not.toContain('To allow updates')
    await writeFile(path('list.csv'), `receiver\n${CAROL}\n`)
    const list = await run('batch', 'mint', path('row.json'), '--to', path('list.csv'), '--dry-run')
    expect({ code: list.code, stderr: list.stderr }).toEqual({
      code: 0,
      stderr: expect.not.stringContaining('dynamic'),
    })
  })

  test('plans creatednft, with the gas of its NFTs', async () => {
    const { address } = await createTestCollection(backend)
    const { mint } = await machine(address)
    const [plain, dynamic] = [await mint('--dry-run', '--json'), await mint('--dry-run', '--json', '--dynamic')].map(
      ({ stdout }) => JSON.parse(stdout),
    )
    expect([plain.first_request.endpoint, dynamic.first_request.endpoint]).toEqual(['createnft', 'creatednft'])
    expect(dynamic.gas_estimate).toBeGreaterThan(plain.gas_estimate)
    expect(await nftsOf(address)).toEqual([])
  })

  test('stays within --max-cost', async () => {
    const { address } = await createTestCollection(backend)
    const { mint } = await machine(address)
    expect(await mint('--dynamic', '--max-cost', '1')).toMatchObject({ code: 0 })
    expect(await nftsOf(address)).toHaveLength(2)
  })

  test('refuses rows with a sender, by line', async () => {
    const { address } = await createTestCollection(backend, { enable_transfer: true })
    const { mint } = await machine(address, `title,description,receiver,sender\nDawn,x,${BOB},${CAROL}\n`)
    const result = await mint('--dynamic', '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toContain("sender can't be used with --dynamic")
    expect(await nftsOf(address)).toEqual([])
  })

  test('refuses a server without creatednft before anything is sent', async () => {
    const { path, options } = await folder({ 'drop.csv': `id,title,description,receiver\na,Dawn,x,${OWNER}\n` })
    const api = await fakeApi({ '*': () => ({ status: 404, body: { error: { title: 'Not Found', message: 'no' } } }) })
    const target = [...TARGET, '--base-url', api.url]
    const result = await cli(['batch', 'mint', path('drop.csv'), ...target, '--dynamic', '--json'], options)
    expect([result.code, errorOf(result).message]).toEqual([
      2,
      '--dynamic: the server does not support creatednft, so its NFTs cannot be dynamic',
    ])
    expect([...api.bodies('creatednft'), ...api.bodies('createnft')]).toEqual([])
  })

  test('is retried at a service of version 1.2 that does not announce creatednft', async () => {
    const { path, options } = await folder()
    let isRejected = true
    const { createnft: creatednft, getnfts } = service(() => isRejected)
    const api = await fakeApi({
      creatednft,
      getnfts,
      getnftgdnids: () => ({
        body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [] },
      }),
      '*': () => ({ status: 404, body: { error: { title: 'Not Found', message: 'no' } } }),
    })
    const gdn = (...argv: string[]) => cli(argv, options)
    await gdn('config', 'set', 'base_url', api.url)
    await gdn('config', 'set', 'api_version', '1.2')
    const mint = await gdn('batch', 'mint', path('drop.csv'), ...TARGET, '--dynamic', '--yes', '--json')
    expect(JSON.parse(mint.stdout)).toMatchObject({ failed: 2 })
    isRejected = false
    const retry = await gdn('batch', 'retry', path('drop.csv'), '--yes', '--json')
    expect([retry.code, retry.stderr, JSON.parse(retry.stdout)]).toMatchObject([0, '', { deployed: 2 }])
  })
})

test('nft mint --dynamic mints an NFT that can be updated', async () => {
  const { address } = await createTestCollection(backend)
  const { run } = await machine(address)
  const { code, stdout } = await run('nft', 'mint', '--dynamic', '--receiver', BOB, '--title', 'Dawn', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ is_dynamic: true, status: 'deployed' })
})
