/** @module-tag slow */
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openSqlite } from '../../../src/sqlite/driver.ts'
import { statePath } from '../../../src/state/open-state.ts'
import { openAddressBook } from '../../../src/wallet/address-book.ts'
import { ALICE, BOB } from '../../helpers/addresses.ts'
import { filesHolding } from '../../helpers/leaks.ts'
import { saveAddresses } from '../../helpers/saved-addresses.ts'
import { createSmallDisk } from '../../helpers/small-disk.ts'
import { LIGHT } from '../../keystore/vectors.ts'
import { folder, service, TARGET } from '../batch/drop.ts'
import { CONTRACT, fakeApi, nft, OWNER } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'

vi.mock('../../../src/wallet/address-book.ts', { spy: true })

/** The address in the keystore, which spells it in lower case. */
/** The address of a collection on Solana. */
const SOLANA = 'So11111111111111111111111111111111111111112'
const AT = ['--base-url', 'http://127.0.0.1:9']

let path: (name: string) => string
let options: CliOptions
let wallets: string
let stateDir: string

beforeEach(async () => {
  const workFolder = await folder({})
  path = workFolder.path
  options = workFolder.options
  wallets = path('.local/share/gdn/wallets')
  await mkdir(wallets, { recursive: true, mode: 0o700 })
  await writeFile(join(wallets, 'alice.json'), JSON.stringify({ ...LIGHT.json, address: LIGHT.address }), {
    mode: 0o600,
  })
  stateDir = path('.local/state/gdn')
  await saveAddresses(stateDir, { bob: BOB })
})

const gdn = (argv: string[]) => cli(argv, options)

function changeState(sql: string): void {
  const raw = openSqlite(statePath(stateDir))
  raw.exec(sql)
  raw.close()
}

/** The body of the request that a command would send. */
async function request(argv: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await gdn([...argv, ...AT, '--dry-run'])
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout).body
}

const MINT = ['nft', 'mint', '--title', 'Dawn', ...TARGET]
const GRANT = ['nft', 'grant', '--title', 'Dawn', ...TARGET]
const TRANSFER = ['nft', 'transfer', 'a', ...TARGET, '--token-id', '1']
const CREATE = ['collection', 'create', '--name', 'Tide', '-b', 'polygon']

describe('@name', () => {
  test.each([
    ['--receiver', [...MINT, '--receiver', '@alice'], { receiver_wallet_address: ALICE }],
    ['--receiver=', [...MINT, '--receiver=@bob'], { receiver_wallet_address: BOB }],
    ['the API’s name of the flag', [...MINT, '--receiver-wallet-address', '@bob'], { receiver_wallet_address: BOB }],
    [
      '--sender',
      [...GRANT, '--sender', '@alice', '--receiver', '@bob'],
      { sender_wallet_address: ALICE, receiver_wallet_address: BOB },
    ],
    [
      '--sender and --receiver of a transfer',
      [...TRANSFER, '--sender', '@alice', '--receiver', '@bob'],
      { sender_wallet_address: ALICE, receiver_wallet_address: BOB },
    ],
    ['--wallet', [...CREATE, '--wallet', '@alice'], { wallet_address: ALICE }],
  ])('is replaced by its address in %s', async (_where, argv, expected) => {
    expect(await request(argv)).toMatchObject(expected)
  })

  test('is replaced in a request from a file', async () => {
    const metadata = [{ title: 'Dawn', description: '', file_fields: [] }]
    const common = { contract_address: CONTRACT, blockchain: 'polygon', receiver_wallet_address: '@bob' }
    await writeFile(path('mint.json'), JSON.stringify({ ...common, metadata }))
    expect(await request(['nft', 'mint', '-f', path('mint.json')])).toMatchObject({ receiver_wallet_address: BOB })
    await writeFile(path('grant.json'), JSON.stringify({ ...common, metadata, sender_wallet_address: '@alice' }))
    expect(await request(['nft', 'grant', '-f', path('grant.json')])).toMatchObject({ sender_wallet_address: ALICE })
    await writeFile(path('create.json'), JSON.stringify({ name: 'x', blockchain: 'polygon', wallet_address: '@bob' }))
    expect(await request(['collection', 'create', '-f', path('create.json')])).toMatchObject({ wallet_address: BOB })
    const move = { ...common, nft_gdn_id: 'a', token_id: '1', sender_wallet_address: '@alice' }
    await writeFile(path('move.json'), JSON.stringify(move))
    expect(await request(['nft', 'transfer', '-f', path('move.json')])).toMatchObject({
      sender_wallet_address: ALICE,
      receiver_wallet_address: BOB,
    })
  })

  test('is suggested for the same word without @, and for no other word', async () => {
    for (const name of ['alice', 'bob']) {
      const { message, hint } = errorOf(await gdn([...MINT, ...AT, '--receiver', name, '--dry-run', '--json']))
      expect({ message, hint }).toEqual({
        message: `--receiver: "${name}" is a name, not an address`,
        hint: `Did you mean @${name}?`,
      })
    }
    expect((await gdn([...MINT, ...AT, '--receiver', 'carol', '--dry-run'])).stderr).not.toContain('Did you mean')
  })

  test('is replaced in --owner of nft verify', async () => {
    const api = await fakeApi({
      getisgdnnft: (body: object) => ({
        body: { requests: { ...body, nft_gdn_id: 'a' }, response: { isgdnnft: true, nft: nft('a') } },
      }),
    })
    await gdn(['nft', 'verify', 'a', '--owner', '@bob', '-b', 'polygon', '--base-url', api.url])
    expect(api.bodies('getisgdnnft')).toMatchObject([{ receiver_wallet_address: BOB }])
  })

  test('is replaced in a profile, while the settings show the name', async () => {
    await gdn(['config', 'set', 'wallet', '@alice'])
    expect(await request(CREATE)).toMatchObject({ wallet_address: ALICE })
    expect(await request([...GRANT, '--receiver', BOB])).toMatchObject({ sender_wallet_address: ALICE })
    expect((await gdn(['config', 'get', 'wallet', '-o', 'ids'])).stdout).toBe('@alice\n')
  })

  test('is replaced in a project file', async () => {
    await writeFile(path('.gdnrc.json'), JSON.stringify({ wallet: '@bob' }))
    expect(await request(CREATE)).toMatchObject({ wallet_address: BOB })
  })

  test('is replaced in a manifest template', async () => {
    expect((await gdn(['batch', 'template', '--receiver', '@bob'])).stdout).toContain(BOB)
  })
})

describe('names in a manifest', () => {
  const rows = {
    'drop.csv': 'title,description,receiver,sender\nDawn,x,@bob,@alice\nDusk,y,@alice,@bob\n',
    'drop.jsonl': `{"title":"Dawn","description":"x","receiver":"@bob","sender":"@alice"}\n{"title":"Dusk","description":"y","receiver":"@alice","sender":"@bob"}\n`,
    'drop.json': JSON.stringify([
      { title: 'Dawn', description: 'x', receiver: '@bob', sender: '@alice' },
      { title: 'Dusk', description: 'y', receiver: '@alice', sender: '@bob' },
    ]),
  }

  test.each(Object.entries(rows))('are replaced in %s before addresses are sent and stored', async (name, text) => {
    await writeFile(path(name), text)
    const minted = service()
    const api = await fakeApi({
      createnfttrans: minted.createnft as never,
      '*': () => ({ body: {} }),
    })
    const argv = [
      'batch',
      'mint',
      path(name),
      ...TARGET,
      '--base-url',
      api.url,
      '--rate',
      '1000',
      '--no-lookup',
      '--no-wait',
    ]
    const { code, stderr } = await gdn(argv)
    expect(code, stderr).toBe(0)
    // Two requests may be in flight at once, and arrive in either order.
    const bodies = api.bodies('createnfttrans')
    expect(bodies).toHaveLength(2)
    expect(bodies).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ sender_wallet_address: ALICE, receiver_wallet_address: BOB }),
        expect.objectContaining({ sender_wallet_address: BOB, receiver_wallet_address: ALICE }),
      ]),
    )
    for (const typed of ['@alice', '@bob']) expect(await filesHolding(path('.local/state'), typed)).toEqual([])
    const state = await filesHolding(path('.local/state'), ALICE)
    expect(state.length).toBeGreaterThan(0)
  })

  test('are replaced in a manifest that is a whole request', async () => {
    const metadata = [
      { title: 'Dawn', description: '', file_fields: [] },
      { title: 'Dusk', description: '', file_fields: [] },
    ]
    const whole = { contract_address: CONTRACT, blockchain: 'polygon', receiver_wallet_address: '@bob', metadata }
    await writeFile(path('whole.json'), JSON.stringify(whole))
    const { code, stdout } = await gdn(['batch', 'validate', path('whole.json'), '--json'])
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { valid: true, rows: 2 }])
    await writeFile(path('whole.json'), JSON.stringify({ ...whole, receiver_wallet_address: '@bbo' }))
    const wrong = await gdn(['batch', 'validate', path('whole.json')])
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('@bob')])
  })

  test('names in a manifest that changed since a row failed prevent its retry until they are changed back', async () => {
    await writeFile(path('drop.csv'), 'title,description,receiver\nDawn,x,@bob\nDusk,y,@alice\n')
    const minted = service()
    let isDown = true
    const api = await fakeApi({
      getnftgdnids: () => ({
        body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [] },
      }),
      createnft: (body: never) =>
        isDown && (body as { receiver_wallet_address: string }).receiver_wallet_address === BOB
          ? { status: 400, body: { error: { title: 'Bad Request', message: 'not yet' } } }
          : minted.createnft(body),
      '*': () => ({ body: {} }),
    })
    const at = ['--base-url', api.url, '--rate', '1000', '--no-wait']
    expect((await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...at, '--no-lookup'])).code).toBe(7)
    isDown = false
    await gdn(['wallet', 'rm', 'bob'])
    await gdn(['wallet', 'add', 'bob', OWNER])
    const requestCount = api.bodies('createnft').length
    const refused = await gdn(['batch', 'retry', 'drop', ...at])
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('1 failed row of the run was edited') })
    expect(api.bodies('createnft')).toHaveLength(requestCount)
    await gdn(['wallet', 'rm', 'bob'])
    await gdn(['wallet', 'add', 'bob', BOB])
    const { code, stderr } = await gdn(['batch', 'retry', 'drop', ...at])
    expect(code, stderr).toBe(0)
    expect(api.bodies('createnft').at(-1)).toMatchObject({ receiver_wallet_address: BOB })
  })

  test.each([
    ['drop.csv', (receiver: string) => `title,description,receiver\nDawn,x,${receiver}\n`],
    ['drop.json', (receiver: string) => `[{"title":"Dawn","description":"x","receiver":"${receiver}"}]`],
  ])('are looked up only if %s has one', async (name, text) => {
    const opened: number[] = []
    for (const receiver of [BOB, '@bob', name === 'drop.csv' ? '@alice' : String.raw`\u0040bob`]) {
      await writeFile(path(name), text(receiver))
      vi.mocked(openAddressBook).mockClear()
      const { code, stderr } = await gdn(['batch', 'validate', path(name), ...TARGET])
      expect(code, stderr).toBe(0)
      opened.push(vi.mocked(openAddressBook).mock.calls.length)
    }
    expect(opened).toEqual([0, 1, 1])
  })

  test('are reported as errors of their rows if they are unknown, with the nearest name', async () => {
    await writeFile(path('drop.csv'), 'title,description,receiver\nDawn,x,@bob\nDusk,y,@bobb\nNoon,z,@Bob\n')
    const result = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET, '--json'])
    expect(result.code).toBe(2)
    expect(errorOf(result).details).toMatchObject({
      issues: [
        {
          ...{ place: { line: 3, column: 3, field: 'receiver' }, hint: 'Did you mean @bob?' },
          message: 'receiver @bobb is not the name of a wallet or address on this machine',
        },
        { place: { line: 4, field: 'receiver' }, hint: 'Use @bob.' },
      ],
    })
  })
})

describe('an unknown name', () => {
  test.each([
    ['--receiver', [...MINT, '--receiver', '@alcie'], 'Did you mean @alice?'],
    ['--sender', [...GRANT, '--receiver', BOB, '--sender', '@bobb'], 'Did you mean @bob?'],
    ['--wallet', [...CREATE, '--wallet', '@nobody'], 'gdn wallet list'],
    ['--receiver', [...MINT, '--receiver', '@'], undefined],
    ['--receiver', [...MINT, '--receiver', '@../alice'], undefined],
    ['--receiver', [...MINT, '--receiver', '@Alice'], '@alice'],
    ['--receiver', [...MINT, '--receiver', `@${'x'.repeat(10_000)}`], undefined],
  ])('makes %s fail with exit code 2 and suggests a name: %j', async (flag, argv, hint) => {
    const result = await gdn([...argv, ...AT, '--dry-run', '--json'])
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toContain(flag)
    if (hint !== undefined) expect(errorOf(result).hint).toContain(hint)
  })

  test('is rejected as a setting', async () => {
    const { code, stderr } = await gdn(['config', 'set', 'wallet', '@alcie'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('Did you mean @alice?')])
  })

  test('in a profile is reported only by commands that use the wallet of the profile', async () => {
    await gdn(['wallet', 'add', 'nobody', OWNER])
    await gdn(['config', 'set', 'wallet', '@nobody'])
    await gdn(['wallet', 'rm', 'nobody'])
    expect((await gdn(['config', 'list'])).code).toBe(0)
    expect(await request([...MINT, '--receiver', BOB])).toMatchObject({ receiver_wallet_address: BOB })
    const { code, stderr } = await gdn([...CREATE, ...AT, '--dry-run'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('@nobody')])
  })

  test('is rejected if there are no wallets', async () => {
    await rm(wallets, { recursive: true })
    expect(await gdn([...MINT, '--receiver', '@alice', ...AT, '--dry-run'])).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining('--receiver: @alice is not the name of a wallet') },
    })
  })
})

describe('an unsafe name', () => {
  const mint = () => gdn([...MINT, '--receiver', '@bob', ...AT, '--dry-run'])

  test('is rejected if others can change its address', async () => {
    await chmod(statePath(stateDir), 0o666)
    const { code, stderr } = await mint()
    expect([code, stderr]).toEqual([2, expect.stringContaining('chmod 600')])
    await chmod(statePath(stateDir), 0o600)
    await chmod(wallets, 0o777)
    expect((await mint()).stderr).toContain('chmod 700')
  })

  test('is rejected if its keystore contains no address', async () => {
    await writeFile(join(wallets, 'carol.json'), JSON.stringify(LIGHT.json), { mode: 0o600 })
    const { code, stderr } = await gdn([...MINT, '--receiver', '@carol', ...AT, '--dry-run'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('has no address')])
  })

  test('is rejected for a blockchain of another kind', async () => {
    const argv = ['nft', 'mint', '--title', 'x', '-c', SOLANA, '-b', 'solana', '--receiver', '@bob']
    expect(await gdn([...argv, ...AT, '--dry-run'])).toMatchObject({
      ...{
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(`--receiver: "${BOB}" is an EVM address, but this blockchain is Solana`),
      },
    })
  })

  test('is rejected as a collection, because only wallets have names', async () => {
    const api = await fakeApi({})
    expect(await gdn(['nft', 'list', '-c', '@bob', '-b', 'polygon', '--base-url', api.url])).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining('--contract: "@bob" is not an EVM address') },
    })
    expect(api.calls).toEqual([])
  })
})

describe('a name of both a keystore and a saved address', () => {
  const CAROL = OWNER
  beforeEach(async () => {
    await saveAddresses(stateDir, { carol: CAROL })
    await copyFile(join(wallets, 'alice.json'), join(wallets, 'carol.json'))
  })
  const mint = () => gdn([...MINT, '--receiver', '@carol', ...AT, '--dry-run', '--json'])

  test('is rejected by an error that names both and the fix', async () => {
    expect(errorOf(await mint())).toMatchObject({
      code: 'invalid_input',
      message: `--receiver: @carol is both the saved address ${CAROL} and the keystore ${join(wallets, 'carol.json')}`,
      hint: expect.stringContaining('`gdn wallet rm carol`'),
    })
  })

  test('is listed with this problem', async () => {
    const list: { name: string; error?: string }[] = JSON.parse((await gdn(['wallet', 'list', '--json'])).stdout)
    expect(list.filter(({ error }) => error?.includes('gdn wallet rm carol')).map(({ name }) => name)).toEqual([
      'carol',
      'carol',
    ])
  })

  test('is resolved by the fix, which keeps the keystore', async () => {
    const { code, stderr } = await gdn(['wallet', 'rm', 'carol'])
    expect([code, stderr]).toEqual([0, expect.stringContaining(CAROL)])
    expect(JSON.parse((await mint()).stdout).body).toMatchObject({ receiver_wallet_address: ALICE })
    expect((await gdn(['wallet', 'rm', 'carol'])).stderr).toContain('gdn never deletes keys')
  })

  test('is exported as the keystore', async () => {
    expect(await gdn(['wallet', 'export', 'carol', '--to', path('copy.json')])).toMatchObject({ code: 0 })
    expect(await readFile(path('copy.json'), 'utf8')).toBe(await readFile(join(wallets, 'carol.json'), 'utf8'))
  })
})

describe.each([
  ['damaged', () => writeFile(statePath(stateDir), Buffer.alloc(8192, 0xa5)), 'is damaged'],
  ['of another schema', () => changeState('PRAGMA user_version = 99'), 'has schema 99'],
])('with a state.db that is %s', (_what, change, said) => {
  beforeEach(async () => await change())

  test.each([['@alice'], ['@bob'], ['@nobody']])('%s is rejected with its error', async (name) => {
    const result = await gdn([...MINT, '--receiver', name, ...AT, '--dry-run', '--json'])
    expect(errorOf(result)).toMatchObject({ code: 'data_dir', message: expect.stringContaining(said) })
    expect(errorOf(result).message).toMatch(new RegExp(`^--receiver: ${name} can't be looked up: `))
  })

  test.each([
    ['wallet', 'list'],
    ['wallet', 'add', 'carol', OWNER],
    ['wallet', 'rm', 'bob'],
    ['wallet', 'generate', ...AT],
  ])('gdn %s %s fails with its error', async (...argv) => {
    expect(errorOf(await gdn([...argv, '--json']))).toMatchObject({
      code: 'data_dir',
      message: expect.stringContaining(said),
    })
  })

  test('commands that use no name work', async () => {
    await writeFile(path('.gdnrc.json'), JSON.stringify({ wallet: '@bob' }))
    expect(await request([...MINT, '--receiver', BOB])).toMatchObject({ receiver_wallet_address: BOB })
    expect((await gdn(['config', 'get', 'wallet', '-o', 'ids'])).stdout).toBe('@bob\n')
    await writeFile(path('drop.csv'), `title,description,receiver\nDawn,x,${BOB}\n`)
    expect((await gdn(['batch', 'validate', path('drop.csv'), ...TARGET])).code).toBe(0)
  })
})

test('names work in a read-only state directory, which keeps its names', async (context) => {
  const disk = await createSmallDisk(4096)
  if (typeof disk === 'string') return context.skip(disk)
  onTestFinished(() => disk.remove())
  await saveAddresses(disk.path, { dan: OWNER })
  await disk.makeReadOnly()
  const there = ['--state-dir', disk.path]
  expect(await request([...MINT, '--receiver', '@dan', ...there])).toMatchObject({ receiver_wallet_address: OWNER })
  for (const argv of [
    ['wallet', 'add', 'eve', OWNER],
    ['wallet', 'rm', 'dan'],
  ]) {
    expect(errorOf(await gdn([...argv, ...there, '--json']))).toMatchObject({ code: 'data_dir' })
  }
  expect(JSON.parse((await gdn(['wallet', 'list', '--json', ...there])).stdout)).toMatchObject([
    { name: 'alice' },
    { name: 'dan' },
  ])
})

test('every command with a flag for an address has --state-dir, where names are saved', async () => {
  const commands: { name: string; flags: { name: string; type: string }[] }[] = JSON.parse(
    (await gdn(['--json', '--help'])).stdout,
  ).commands
  const named = commands.filter(({ flags }) => flags.some(({ type }) => type === 'address'))
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter(({ flags }) => !flags.some(({ name }) => name === '--state-dir'))).toEqual([])
})
