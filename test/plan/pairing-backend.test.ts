/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/core/exit-codes.ts'
import { folder } from '../cli/batch/drop.ts'
import { type CliResult, cli } from '../cli/harness.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../helpers/backend.ts'

const [ALICE] = WALLETS
const ROWS = 30

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const TITLES = Array.from({ length: ROWS }, (_, n) => `Hour ${n}`)
/** The last two rows are equal. */
TITLES[ROWS - 1] = `Hour ${ROWS - 2}`

const without = (titles: readonly string[] = TITLES) =>
  ['title,description,receiver', ...titles.map((title) => `${title},x,${ALICE}`)].join('\n')
const withIds = (titles: readonly string[] = TITLES) =>
  ['id,title,description,receiver', ...titles.map((title, n) => `${n},${title},x,${ALICE}`)].join('\n')
const edited = (n: number, title: string) => TITLES.map((old, at) => (at === n ? title : old))

/** A machine with its own state and a clone of the repository. */
async function machine(collection: TestCollection, text: string, root = '.git/HEAD') {
  const { path, options } = await folder({})
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
  const write = async (manifest: string) => {
    for (const [file, content] of [
      ['jan/drop.csv', manifest],
      [root, '{}'],
    ] as const) {
      await mkdir(dirname(path(file)), { recursive: true })
      await writeFile(path(file), content)
    }
  }
  await write(text)
  const run = (...argv: string[]) => cli(argv, { ...options, env })
  const file = path('jan/drop.csv')
  return {
    path,
    write,
    mint: (...more: string[]) => run('batch', 'mint', file, ...target, '--allow-duplicates', ...more),
    resume: () => run('batch', 'resume', 'drop.csv', '--base-url', backend.url),
    plan: (...more: string[]) => run('plan', file, ...target, ...more),
    apply: (...more: string[]) => run('apply', file, ...target, '--yes', ...more),
    applyUnconfirmed: () => run('apply', file, ...target),
    applySaved: (...more: string[]) => run('apply', path('plan.json'), '--base-url', backend.url, '--yes', ...more),
  }
}

const succeeded = async (run: Promise<CliResult>): Promise<CliResult> => {
  const result = await run
  expect(result.code, result.stderr).toBe(0)
  return result
}

async function titlesOf({ address, blockchain }: TestCollection): Promise<string[]> {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  const { nfts } = await call(backend, 'getnfts', { nft_gdn_ids })
  const byToken = nfts.sort((a, b) => Number(a.token_id) - Number(b.token_id))
  return byToken.map((nft) => (nft.request_metadata as { title: string }).title)
}

const newCollection = () => createTestCollection(backend, { enable_transfer: true, enable_burn: true, dynamic: true })

test('rows that got their IDs after the mint are unchanged, and can be edited on any machine after apply', {
  tags: ['promise'],
}, async () => {
  const collection = await newCollection()
  const first = await machine(collection, without())
  await succeeded(first.mint('--in-order'))
  await first.write(withIds())
  const plan = await first.plan('--detailed-exit-code')
  expect(plan.code).toBe(EXIT.changesPending)
  expect(plan.stderr).toContain(
    `IDs were added to ${ROWS} rows after their mint. gdn apply stores each ID with its NFT.`,
  )
  expect(plan.stderr).toContain(`${ROWS} rows: ${ROWS} unchanged.`)
  expect(plan.stderr).not.toContain('Without an id')
  // Without a terminal and without --yes, nothing is stored.
  const unconfirmed = await first.applyUnconfirmed()
  expect(unconfirmed).toMatchObject({ code: 3, stderr: expect.stringContaining(`Store the IDs of ${ROWS} rows?`) })
  expect((await first.plan('--detailed-exit-code')).code).toBe(EXIT.changesPending)
  expect((await succeeded(first.apply())).stderr).toContain(`Stored the IDs of ${ROWS} rows.\n`)
  expect((await succeeded(first.plan('--detailed-exit-code'))).stderr).not.toContain('after their mint')

  const second = await machine(collection, withIds(edited(ROWS - 1, 'Dawn')))
  for (const each of [first, second]) {
    await each.write(withIds(edited(ROWS - 1, 'Dawn')))
    expect((await succeeded(each.plan('--prune', '--out', each.path('plan.json')))).stderr).toContain(
      `${ROWS} rows: 1 to update, ${ROWS - 1} unchanged.`,
    )
  }
  await succeeded(second.apply())
  expect(await titlesOf(collection)).toEqual(edited(ROWS - 1, 'Dawn'))
  expect((await succeeded(first.plan())).stderr).toContain(`${ROWS} rows: ${ROWS} unchanged.`)
  await first.resume()
  expect((await titlesOf(collection)).length).toBe(ROWS)
})

test('a machine without a state pairs the rows by the label of the drop', async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection, without())).mint('--in-order'))
  await succeeded((await machine(collection, withIds())).apply())
  await succeeded((await machine(collection, withIds(edited(2, 'Noon')))).apply())
  expect(await titlesOf(collection)).toEqual(edited(2, 'Noon'))
})

test('a row that was edited and got its ID at once stops each command, on any machine, until --new-rows', async () => {
  const collection = await newCollection()
  const first = await machine(collection, without())
  await succeeded(first.mint('--in-order'))
  const text = withIds(edited(3, 'Edited'))
  await first.write(text)
  for (const each of [first, await machine(collection, text)]) {
    for (const command of ['plan', 'apply', 'mint'] as const) {
      for (const flags of [[], ['--adopt'], ...(command === 'plan' ? [['--prune', '--out', each.path('p')]] : [])]) {
        const { code, stderr } = await each[command](...flags)
        expect([command, flags, code]).toEqual([command, flags, EXIT.usage])
        expect(stderr).toContain('1 NFT that was minted without an ID has no row, and 1 row with an ID has no NFT')
        expect(stderr).toContain('line 5')
        expect(stderr).toContain('To mint the rows with an ID as new NFTs, add --new-rows.')
      }
    }
  }
  expect(await titlesOf(collection)).toEqual(TITLES)
  // A saved plan has the flag.
  await succeeded(first.plan('--new-rows', '--out', first.path('plan.json')))
  await succeeded(first.applySaved())
  expect(await titlesOf(collection)).toEqual([...TITLES, 'Edited'])
  expect((await succeeded(first.plan())).stderr).toContain(`${ROWS} rows: ${ROWS} unchanged.`)
})

test('a saved plan that was made before such a row stops', async () => {
  const collection = await newCollection()
  const first = await machine(collection, withIds(edited(3, 'Edited')))
  await succeeded(first.plan('--out', first.path('plan.json')))
  await succeeded((await machine(collection, without())).mint())
  const { code, stderr } = await first.applySaved()
  expect([code, stderr]).toEqual([
    EXIT.usage,
    expect.stringContaining('1 NFT that was minted without an ID has no row'),
  ])
  expect(await titlesOf(collection)).toHaveLength(ROWS)
})

test('a drop without a label is paired where it was minted', async () => {
  const collection = await newCollection()
  const first = await machine(collection, without(), 'README')
  await succeeded(first.mint('--in-order'))
  await first.write(withIds())
  await succeeded(first.apply())
  await succeeded((await machine(collection, withIds(edited(2, 'Noon')), 'README')).apply())
  expect(await titlesOf(collection)).toEqual(edited(2, 'Noon'))
})
