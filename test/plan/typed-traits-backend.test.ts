/** @module-tag slow */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { folder } from '../cli/batch/drop.ts'
import { cli, errorOf } from '../cli/harness.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  settled,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../helpers/backend.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../helpers/solana.ts'

const [ALICE] = WALLETS

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const csv = (column: string, ...cells: string[]) =>
  [
    `id,title,description,receiver,"${column}"`,
    ...cells.map((value, row) => `r${row + 1},Hero ${row + 1},x,${ALICE},${value}`),
  ].join('\n')

/** A machine with its own state. */
async function machine(collection: TestCollection) {
  const { path, options } = await folder({})
  const target = ['-c', collection.address, '-b', collection.blockchain]
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const run = async (command: string[], manifest: string, ...more: string[]) => {
    await writeFile(path('drop.csv'), manifest)
    return await cli([...command, path('drop.csv'), ...target, ...more, '--json'], { ...options, env })
  }
  return {
    path,
    run,
    cli: (...argv: string[]) => cli([...argv, '--json'], { ...options, env }),
    plan: async (manifest: string) => {
      const { code, stdout, stderr } = await run(['plan'], manifest)
      expect(code, stderr).toBe(0)
      return (JSON.parse(stdout) as { action: string }[]).filter(({ action }) => action !== 'note')
    },
    do: async (command: string[], manifest: string, ...more: string[]) => {
      const { code, stdout, stderr } = await run(command, manifest, ...more)
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout)
    },
  }
}

async function nftsOf({ address, blockchain }: Pick<TestCollection, 'address' | 'blockchain'>) {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  return await settled(backend, nft_gdn_ids)
}

/** The attributes in the metadata files of a collection's NFTs. */
async function filesOf(collection: Pick<TestCollection, 'address' | 'blockchain'>) {
  const nfts = await nftsOf(collection)
  const read = async (url: unknown) => await (await backend.get(String(url).replace('ipfs://', '/ipfs/'))).json()
  const files = await Promise.all(nfts.map(async ({ metadata_url }) => (await read(metadata_url)) as { name: string }))
  return files.sort((a, b) => (a.name < b.name ? -1 : 1)) as unknown as { attributes: object[] }[]
}
const attributesOf = async (collection: TestCollection) =>
  (await filesOf(collection)).map(({ attributes }) => attributes[0])

test('a drop has numbers in its metadata files, and its NFTs are verified', async () => {
  const collection = await createTestCollection(backend)
  const one = await machine(collection)
  const manifest = csv('attr(number,max=100):Power', '72', '5.50')
  await one.do(['batch', 'mint'], manifest)
  expect(await attributesOf(collection)).toEqual([
    { trait_type: 'Power', value: 72, display_type: 'number', max_value: 100 },
    { trait_type: 'Power', value: 5.5, display_type: 'number', max_value: 100 },
  ])
  const verified = await one.cli('batch', 'results', one.path('drop.csv'), '--verify')
  expect(verified.code, verified.stderr).toBe(0)
  const [nft] = await nftsOf(collection)
  const explored = await (await backend.get(`/explorer/nfts/${nft?.nft_gdn_id}`)).json()
  expect(explored).toMatchObject({ attributes: [{ trait_type: 'Power', value: '72 of 100' }] })
  await one.do(['batch', 'mint'], manifest)
  expect(await nftsOf(collection)).toHaveLength(2)
})

test('the preview and the report of a drop show typed traits as marketplaces do', async () => {
  const collection = await createTestCollection(backend)
  const own = await machine(collection)
  const manifest = csv('attr(number,max=100):Power', '72')
  await own.do(['batch', 'mint'], manifest)
  await own.do(['batch', 'preview'], manifest)
  const reported = await own.cli('batch', 'report', own.path('drop.csv'), '--to', own.path('drop-report.html'))
  expect(reported.code, reported.stderr).toBe(0)
  for (const sheet of ['drop-preview.html', 'drop-report.html']) {
    const [card] = /<article [\s\S]*?<\/article>/.exec(await readFile(own.path(sheet), 'utf8')) ?? []
    expect(card?.replaceAll(/<[^>]+>/g, ' '), sheet).toMatch(/Power\s+72 of 100/)
  }
})

test('a type that is added to a column is an edit, which plan shows and apply makes once', async () => {
  const collection = await createTestCollection(backend, { dynamic: true })
  const one = await machine(collection)
  await one.do(['batch', 'mint'], csv('attr:Power', '5'))
  expect(await attributesOf(collection)).toEqual([{ trait_type: 'Power', value: '5' }])
  const typed = csv('attr(number,max=9):Power', '5')
  for (const each of [one, await machine(collection)]) {
    expect(await each.plan(typed)).toMatchObject([
      {
        action: 'update',
        changes: [{ field: 'type of attr:Power', from: null, to: 'number,max=9' }],
      },
    ])
  }
  await one.do(['apply'], typed, '--yes')
  expect(await attributesOf(collection)).toEqual([
    { trait_type: 'Power', value: 5, display_type: 'number', max_value: 9 },
  ])
  expect(await one.plan(typed)).toEqual([])
  expect(await (await machine(collection)).plan(typed)).toEqual([])
})

test('a row that is edited from text to a number between two runs is not minted twice', async () => {
  const collection = await createTestCollection(backend)
  const one = await machine(collection)
  await one.do(['batch', 'mint'], csv('attr:Power', '5', '6'))
  const typed = csv('attr(number):Power', '5', '6')
  await one.run(['batch', 'mint'], typed)
  await (await machine(collection)).run(['batch', 'mint'], typed)
  expect(await nftsOf(collection)).toHaveLength(2)
})

test('a saved plan keeps types', async () => {
  const collection = await createTestCollection(backend)
  const one = await machine(collection)
  const manifest = csv('attr(date):Born', '2026-11-01')
  await one.run(['plan'], manifest, '--out', one.path('plan.jsonl'))
  const { code, stderr } = await one.cli('apply', one.path('plan.jsonl'), '--yes')
  expect(code, stderr).toBe(0)
  expect(await attributesOf(collection)).toEqual([{ trait_type: 'Born', value: 1793491200, display_type: 'date' }])
})

test('an unrevealed drop commits to types, and is revealed with them', async () => {
  const collection = await createTestCollection(backend)
  const one = await machine(collection)
  await mkdir(one.path('art'))
  await writeFile(one.path('hidden.json'), JSON.stringify({ title: 'Hidden', description: 'Wait' }))
  const manifest = csv('attr(boost_percentage):Luck', '12.5')
  await one.do(['batch', 'mint'], manifest, '--unrevealed', one.path('hidden.json'))
  expect(await filesOf(collection)).toMatchObject([{ name: 'Hidden' }])
  const edited = await one.run(['reveal'], csv('attr(boost_number):Luck', '12.5'), '--yes')
  expect(edited.code).not.toBe(0)
  await one.do(['reveal'], manifest, '--yes')
  expect(await attributesOf(collection)).toEqual([
    { trait_type: 'Luck', value: 12.5, display_type: 'boost_percentage' },
  ])
  const [nft] = await nftsOf(collection)
  const verified = await one.cli('nft', 'verify', String(nft?.nft_gdn_id), '-b', 'polygon', '--on-chain')
  expect(verified.code, verified.stderr).toBe(0)
})

test('a reveal sends nothing to a backend that does not announce typed traits', async () => {
  const collection = await createTestCollection(backend)
  const one = await machine(collection)
  await writeFile(one.path('hidden.json'), JSON.stringify({ title: 'Hidden', description: 'Wait' }))
  const manifest = csv('attr(number):Power', '5')
  await one.do(['batch', 'mint'], manifest, '--unrevealed', one.path('hidden.json'))
  const older = await startHttpServer(async ({ method, path, headers, body }) => {
    const { host: _, connection: __, 'content-length': ___, ...rest } = headers
    const sent = new Uint8Array(body)
    const init = { method, headers: rest as Record<string, string>, ...(method === 'GET' ? {} : { body: sent }) }
    const answer = await fetch(backend.url + path, init)
    const kept = [...answer.headers].filter(([name]) => !/^(?:typed-traits-supported|content-|transfer-)/.test(name))
    return { status: answer.status, headers: Object.fromEntries(kept), json: await answer.json() }
  })
  onTestFinished(() => older.close())
  const refused = await one.run(['reveal'], manifest, '--yes', '--base-url', older.url)
  expect(errorOf(refused).message).toContain("the server doesn't support typed traits")
  expect(await nftsOf(collection)).toMatchObject([{ revision: 0, request_metadata: { title: 'Hidden' } }])
})

test('nft update keeps the type and maximum of a trait, and checks its value', async () => {
  const collection = await createTestCollection(backend, { dynamic: true })
  const one = await machine(collection)
  await one.do(['batch', 'mint'], csv('attr(number,max=100):Power', '72'))
  const [nft] = await nftsOf(collection)
  const update = (value: string) =>
    one.cli('nft', 'update', String(nft?.nft_gdn_id), '-b', 'polygon', '--attr', `Power=${value}`)
  expect(errorOf(await update('strong')).message).toContain('must be a number such as 5 or 2.5, not "strong"')
  expect(errorOf(await update('101')).message).toContain('must be at most 100')
  const { code, stderr } = await update('80')
  expect(code, stderr).toBe(0)
  expect(await attributesOf(collection)).toEqual([
    { trait_type: 'Power', value: 80, display_type: 'number', max_value: 100 },
  ])
})

describe('createnft', () => {
  const POWER = { tag: 'Power', value: '72', display_type: 'number', max_value: '100' }
  const request = ({ address, blockchain }: TestCollection, attribute: object, more: object = {}) => ({
    contract_address: address,
    blockchain,
    receiver_wallet_address: ALICE,
    metadata: [{ title: 'Ada', description: '', file_fields: [], attribute: [attribute] }],
    ...more,
  })

  test('announces typed traits, and rejects an invalid one', async () => {
    const collection = await createTestCollection(backend)
    const answer = await backend.post('/api/v1/createnft', request(collection, { ...POWER, value: '1e400' }))
    expect(answer.status).toBe(400)
    expect(answer.json.error.message).toContain('attribute[0].value must be a number')
    expect(answer.headers.get('typed-traits-supported')).toBe('yes')
  })

  test('gives a number and its text the same digest, and another type another one', async () => {
    const collection = await createTestCollection(backend)
    const post = (attribute: object) =>
      backend.post('/api/v1/createnft', request(collection, attribute, { reference_ids: ['ada'] }))
    const first = await post(POWER)
    const secondResponse = await post({ ...POWER, value: 72, max_value: 100 })
    expect(secondResponse.json.nfts).toMatchObject([{ nft_gdn_ids: first.json.nfts[0].nft_gdn_ids, created: false }])
    for (const other of [
      { tag: 'Power', value: '72' },
      { ...POWER, display_type: 'boost_number' },
    ]) {
      expect((await post(other)).headers.get('error-code')).toBe('reference_id_conflict')
    }
  })

  test('publishes numbers on Solana', async () => {
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    const { nfts } = await call(backend, 'createnft', {
      ...request(collection, POWER),
      receiver_wallet_address: solanaWallet('receiver'),
    })
    await settled(backend, [nfts[0]?.nft_gdn_ids ?? ''])
    expect(await attributesOf(collection)).toEqual([
      { trait_type: 'Power', value: 72, display_type: 'number', max_value: 100 },
    ])
  })
})
