/** @module-tag slow */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
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

const [ALICE, BOB] = WALLETS

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const csv = (...rows: [id: string, title: string, receiver: string][]) =>
  ['id,title,description,receiver', ...rows.map(([id, title, receiver]) => `${id},${title},x,${receiver}`)].join('\n')

const FILES = {
  'jan/drop.csv': csv(['a', 'January 1', ALICE], ['b', 'January 2', ALICE]),
  'feb/drop.csv': csv(['a', 'February 1', BOB], ['c', 'February 2', BOB]),
}
type Files = Record<string, string>

/** A machine with its own state and a clone of the repository. */
async function machine(collection: TestCollection, files: Files = FILES, root = '.git/HEAD') {
  const { path, options } = await folder({})
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
  for (const [file, text] of Object.entries({ ...files, ...(root === '' ? {} : { [root]: '{}' }) })) {
    await mkdir(dirname(path(file)), { recursive: true })
    await writeFile(path(file), text)
  }
  const run = (...argv: string[]) => cli(argv, { ...options, env })
  return {
    path,
    run,
    mint: (file: string, ...more: string[]) => run('batch', 'mint', path(file), ...target, ...more),
    plan: (file: string, ...more: string[]) => run('plan', path(file), ...target, ...more),
    apply: (file: string, ...more: string[]) => run('apply', path(file), ...target, '--yes', ...more),
    applySaved: (file: string, ...more: string[]) =>
      run('apply', path(file), '--base-url', backend.url, '--yes', ...more),
  }
}

const succeeded = async (run: Promise<CliResult>): Promise<CliResult> => {
  const result = await run
  expect(result.code, result.stderr).toBe(0)
  return result
}

/** The titles of the NFTs with their owners. */
async function nftsOf({ address, blockchain }: TestCollection): Promise<string[]> {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  const { nfts } = await call(backend, 'getnfts', { nft_gdn_ids })
  const names = new Map<string | null | undefined, string>([
    [ALICE, 'Alice'],
    [BOB, 'Bob'],
  ])
  return nfts
    .map((nft) => `${(nft.request_metadata as { title: string }).title}: ${names.get(nft.receiver_wallet_address)}`)
    .sort()
}

const newCollection = () => createTestCollection(backend, { enable_transfer: true, dynamic: true })
const JANUARY = ['January 1: Alice', 'January 2: Alice']
const COMMANDS = ['mint', 'plan', 'apply'] as const

test('a second drop.csv changes nothing of the first on another machine, until it has a run of its own', {
  tags: ['promise'],
}, async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection)).mint('jan/drop.csv'))
  for (const command of COMMANDS) {
    const result = await (await machine(collection))[command]('feb/drop.csv')
    expect(result.code).toBe(EXIT.unknownOutcome)
    expect(result.stderr).toContain(
      '1 row was minted by the run "jan/drop.csv", but this run is "feb/drop.csv"\n  line 2\n',
    )
    expect(result.stderr).toContain('If this manifest is another drop, add --run <name>.')
  }
  expect(await nftsOf(collection)).toEqual(JANUARY)
  await succeeded((await machine(collection)).mint('feb/drop.csv', '--run', 'february'))
  expect(await nftsOf(collection)).toEqual(['February 1: Bob', 'February 2: Bob', ...JANUARY])
  // The first is still known on a new machine.
  const plan = await succeeded((await machine(collection)).plan('jan/drop.csv'))
  expect(plan.stderr).toContain('2 unchanged')
})

test('a moved drop is planned, saved and applied with --adopt on another machine', async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection)).apply('jan/drop.csv'))
  const moved = {
    'archive/drop.csv': csv(['a', 'January 1!', ALICE], ['b', 'January 2', BOB], ['d', 'January 3', BOB]),
  }
  const other = await machine(collection, moved)
  const plan = await succeeded(other.plan('archive/drop.csv', '--adopt', '--out', other.path('plan.json')))
  expect(plan.stderr).toContain('2 NFTs have the label "jan/drop.csv". gdn apply replaces it with "archive/drop.csv".')
  const [header = ''] = (await readFile(other.path('plan.json'), 'utf8')).split('\n')
  expect(JSON.parse(header)).toMatchObject({ label: 'archive/drop.csv', adopt: ['jan/drop.csv'] })
  // The plan can be applied where there is neither the manifest nor a repository.
  const third = await machine(collection, { 'plan.json': await readFile(other.path('plan.json'), 'utf8') }, '')
  await succeeded(third.applySaved('plan.json'))
  expect(await nftsOf(collection)).toEqual(['January 1!: Alice', 'January 2: Bob', 'January 3: Bob'])
  expect((await succeeded((await machine(collection, moved)).plan('archive/drop.csv'))).stderr).toContain('3 unchanged')
  expect((await (await machine(collection)).plan('jan/drop.csv')).stderr).toContain(
    '2 rows were minted by the run "archive/drop.csv", but this run is "jan/drop.csv"',
  )
})

test('a saved plan without --adopt adopts nothing', async () => {
  const collection = await newCollection()
  const one = await machine(collection)
  await succeeded(one.plan('feb/drop.csv', '--out', one.path('plan.json')))
  await succeeded((await machine(collection)).mint('jan/drop.csv'))
  const result = await one.applySaved('plan.json')
  expect(result.stderr).toContain('1 row was minted by the run "jan/drop.csv"')
  expect(await one.applySaved('plan.json', '--adopt')).toMatchObject({
    code: EXIT.usage,
    stderr: expect.stringContaining('error: --adopt: the plan was created without --adopt'),
  })
  expect(await nftsOf(collection)).toEqual(JANUARY)
})

test('mint takes over a moved drop with --adopt, and a dry run says so', async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection)).mint('jan/drop.csv'))
  const other = await machine(collection, { 'archive/drop.csv': FILES['jan/drop.csv'] })
  const adopt = ['--adopt', '--listing-wait', '1s']
  const dry = await succeeded(other.mint('archive/drop.csv', '--dry-run', ...adopt))
  expect(dry.stdout + dry.stderr).toContain('gdn replaces the label "jan/drop.csv" on the NFTs of 2 rows')
  expect((await other.plan('archive/drop.csv')).code).toBe(EXIT.unknownOutcome)
  await succeeded(other.mint('archive/drop.csv', ...adopt))
  expect(await nftsOf(collection)).toEqual(JANUARY)
  expect((await (await machine(collection)).plan('jan/drop.csv')).code).toBe(EXIT.unknownOutcome)
})

test('a drop that was moved on the machine that minted it is taken over as the errors say', async () => {
  const moved = csv(['a', 'January 1!', ALICE], ['b', 'January 2', ALICE])
  for (const command of ['mint', 'apply'] as const) {
    const collection = await newCollection()
    const one = await machine(collection, FILES)
    await succeeded(one.mint('jan/drop.csv'))
    await rename(one.path('jan'), one.path('archive'))
    await writeFile(one.path('archive/drop.csv'), moved)
    const { code, stderr } = await one[command]('archive/drop.csv')
    expect(code).toBe(EXIT.usage)
    expect(stderr).toContain('If this manifest was moved, add --adopt.')
    await succeeded(one.apply('archive/drop.csv', '--adopt'))
    expect(await nftsOf(collection)).toEqual(['January 1!: Alice', 'January 2: Alice'])
    await succeeded(one.run('batch', 'status', one.path('archive/drop.csv')))
  }
})

test('rows of a renamed manifest are taken as minted by the command that apply names', async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection)).mint('jan/drop.csv'))
  const other = await machine(collection, { 'jan/later.csv': FILES['jan/drop.csv'] })
  const { code, stderr } = await other.apply('jan/later.csv')
  expect(code).toBe(EXIT.unknownOutcome)
  expect(stderr).toContain('To treat these rows as minted, run `gdn batch mint` with --adopt.\n')
  expect(stderr).toContain('If the manifest was renamed after its rows were minted, add --run <former file name>.')
  await succeeded(other.mint('jan/later.csv', '--adopt', '--listing-wait', '1s'))
  await succeeded(other.apply('jan/later.csv'))
  expect(await nftsOf(collection)).toEqual(JANUARY)
})

test.each(['mint', 'plan'] as const)(
  'names the edited rows of a renamed manifest that --adopt would mint: %s',
  async (command) => {
    const collection = await newCollection()
    const rows = ['a', 'b', 'c', 'd'].map((id): [string, string, string] => [id, `Title ${id}`, ALICE])
    await succeeded((await machine(collection, { 'drop.csv': csv(...rows) })).mint('drop.csv'))
    const edit = (n: number) =>
      csv(...rows.map(([id, title, to], i): [string, string, string] => [id, i < n ? 'New' : title, to]))
    for (const [n, says] of [
      [1, 'Line 2 would be minted as a new NFT.'],
      [2, 'Lines 2, 3 would be minted as new NFTs.'],
    ] as const) {
      const other = await machine(collection, { 'moved.csv': edit(n) })
      const { code, stderr } = await other[command]('moved.csv')
      expect(code).toBe(EXIT.unknownOutcome)
      expect(stderr).toContain(`To treat these rows as minted, run \`gdn batch mint\` with --adopt. ${says}\n`)
      expect(stderr.indexOf('--run <former file name>')).toBeLessThan(stderr.indexOf('--adopt'))
    }
  },
)

test('a saved plan gives the run of a moved manifest its new path, also without a label', async () => {
  const collection = await newCollection()
  const one = await machine(collection, FILES, '')
  await succeeded(one.mint('jan/drop.csv'))
  await rename(one.path('jan'), one.path('archive'))
  const out = ['--out', one.path('plan.json')]
  const plan = await succeeded(one.plan('archive/drop.csv', '--adopt', ...out))
  expect(plan.stderr).toMatch(/The manifest was moved from \S+jan\/drop\.csv\. gdn apply stores the new path/)
  await succeeded(one.applySaved('plan.json'))
  await succeeded(one.run('batch', 'status', one.path('archive/drop.csv')))
})

test('a manifest outside of a repository and a project has no label, and works as before', async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection, FILES, '')).mint('jan/drop.csv'))
  const { stderr } = await succeeded((await machine(collection)).plan('feb/drop.csv'))
  expect(stderr).toContain('1 to transfer, 1 to update, 1 to mint')
})

test('a project without a repository has labels too', async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection, FILES, 'gdn.config.json')).mint('jan/drop.csv'))
  expect((await (await machine(collection)).plan('feb/drop.csv')).code).toBe(EXIT.unknownOutcome)
})

test('a drop whose run has the name of its file has the label of its path', async () => {
  const collection = await newCollection()
  await succeeded((await machine(collection)).mint('jan/drop.csv', '--run', 'drop.csv'))
  const { stderr } = await (await machine(collection)).apply('feb/drop.csv', '--run', 'drop.csv')
  expect(stderr).toContain('1 row was minted by the run "jan/drop.csv", but this run is "feb/drop.csv"')
})

test.each([
  ['bidi controls', 'jan\u202e', /run "jan\\u202e\/drop\.csv"/],
  ['emoji', 'jan🚀', /run "jan🚀\/drop\.csv"/],
  ['a line break', 'jan\n', /run "sha256:[0-9a-f]{64}"/],
  ['600 characters', `${'x'.repeat(200)}/${'y'.repeat(200)}/${'z'.repeat(200)}`, /run "sha256:[0-9a-f]{64}"/],
])('a folder with %s is printed safely', async (_, name, expected) => {
  const collection = await newCollection()
  const files = { [`${name}/drop.csv`]: FILES['jan/drop.csv'] }
  await succeeded((await machine(collection, files)).mint(`${name}/drop.csv`))
  for (const command of COMMANDS) {
    const { stderr } = await (await machine(collection))[command]('feb/drop.csv')
    expect(stderr).toMatch(expected)
    expect(stderr).not.toContain('\u202e')
  }
})
