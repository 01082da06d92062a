/** @module-tag slow */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ALICE, BOB } from '../../helpers/addresses.ts'
import { type EnsStandIn, startEnsNode } from '../../helpers/ens-node.ts'
import { saveAddresses } from '../../helpers/saved-addresses.ts'
import { folder, TARGET } from '../batch/drop.ts'
import { CONTRACT, fakeApi, knows, nft, OWNER } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'

const POLYGON = '2147483785'
const AT = ['--base-url', 'http://127.0.0.1:9']
const MINT = ['nft', 'mint', '--title', 'Dawn', ...TARGET]
const GRANT = ['nft', 'grant', '--title', 'Dawn', ...TARGET]
const TRANSFER = ['nft', 'transfer', 'a', ...TARGET, '--token-id', '1']
const CREATE = ['collection', 'create', '--name', 'Tide', '-b', 'polygon']

let node: EnsStandIn
let path: (name: string) => string
let options: CliOptions

beforeAll(async () => {
  node = await startEnsNode({
    'alice.eth': { [POLYGON]: ALICE, 60: BOB },
    'bob.eth': { 2147483648: BOB },
    'mainnet.eth': { 60: ALICE },
    'zero.eth': { [POLYGON]: `0x${'0'.repeat(40)}` },
    'away.eth': 'gateway',
  })
})
afterAll(() => node.close())

beforeEach(async () => {
  const workFolder = await folder({})
  path = workFolder.path
  options = { ...workFolder.options, env: { ...workFolder.options.env, GDN_ENS_RPC_URL: node.url } }
  node.asked.length = 0
})

const gdn = (argv: string[], more: CliOptions = {}) => cli(argv, { ...options, ...more })
const withoutNode = (): CliOptions => ({ env: { ...options.env, GDN_ENS_RPC_URL: '' } })

/** Writes the user's configuration. */
async function configure(profile: Record<string, unknown>): Promise<void> {
  const file = path('.config/gdn/config.json')
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, JSON.stringify({ profile: 'main', profiles: { main: profile } }))
}

const ROW = { title: 'Dawn', description: '', file_fields: [] }

describe('an ENS name', () => {
  test.each<[where: string, argv: string[], expected: object, shown: string[]]>([
    ['--receiver', [...MINT, '--receiver', 'alice.eth'], { receiver_wallet_address: ALICE }, ['alice.eth']],
    [
      'the API’s name of a flag',
      [...MINT, '--receiver-wallet-address=Alice.ETH'],
      { receiver_wallet_address: ALICE },
      ['alice.eth'],
    ],
    [
      '--sender',
      [...GRANT, '--sender', 'alice.eth', '--receiver', 'bob.eth'],
      { sender_wallet_address: ALICE, receiver_wallet_address: BOB },
      ['bob.eth', 'alice.eth'],
    ],
    [
      '--sender and --receiver with the same name, which is resolved and shown once',
      [...GRANT, '--sender', 'alice.eth', '--receiver', 'alice.eth'],
      { sender_wallet_address: ALICE, receiver_wallet_address: ALICE },
      ['alice.eth'],
    ],
    [
      'a transfer',
      [...TRANSFER, '--sender', 'bob.eth', '--receiver', 'alice.eth'],
      { sender_wallet_address: BOB, receiver_wallet_address: ALICE },
      ['alice.eth', 'bob.eth'],
    ],
    [
      '--wallet and --royalty-receiver',
      [...CREATE, '--wallet', 'alice.eth', '--royalty', '5%', '--royalty-receiver', 'bob.eth'],
      { wallet_address: ALICE, royalty_receiver: BOB },
      ['alice.eth', 'bob.eth'],
    ],
  ])('is replaced by its address in %s', async (_where, argv, expected, names) => {
    const { code, stdout, stderr } = await gdn([...argv, ...AT, '--dry-run'])
    const shown = names.map((name) => `${name} → ${name === 'alice.eth' ? ALICE : BOB}\n`)
    const lines = stderr.replaceAll('Resolving ENS names\n', '')
    expect({ code, lines }).toEqual({ code: 0, lines: `${shown.join('')}Nothing was sent (--dry-run).\n` })
    expect(JSON.parse(stdout).body).toMatchObject(expected)
    if (names.length === 1) expect(node.asked).toEqual(['alice.eth'])
  })

  test.each<[file: string, argv: string[], fields: object, expected: object]>([
    [
      'mint',
      ['nft', 'mint'],
      { receiver_wallet_address: 'Alice.eth', metadata: [ROW] },
      { receiver_wallet_address: ALICE },
    ],
    [
      'grant',
      ['nft', 'grant'],
      { receiver_wallet_address: 'alice.eth', sender_wallet_address: 'bob.eth', metadata: [ROW] },
      { receiver_wallet_address: ALICE, sender_wallet_address: BOB },
    ],
    [
      'transfer',
      ['nft', 'transfer'],
      { receiver_wallet_address: 'alice.eth', sender_wallet_address: OWNER, nft_gdn_id: 'a', token_id: '1' },
      { receiver_wallet_address: ALICE },
    ],
    [
      'create',
      ['collection', 'create'],
      { name: 'Tide', contract_address: undefined, wallet_address: 'alice.eth' },
      { wallet_address: ALICE },
    ],
  ])('is replaced in a request of %s from a file', async (name, argv, fields, expected) => {
    await writeFile(
      path('request.json'),
      JSON.stringify({ contract_address: CONTRACT, blockchain: 'polygon', ...fields }),
    )
    const { code, stdout, stderr } = await gdn([...argv, '-f', path('request.json'), ...AT, '--dry-run', '--json'])
    expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' })
    expect(JSON.parse(stdout).body).toMatchObject(expected)
  })

  test('is permitted as the wallet of the configuration, and resolved when the wallet is used', async () => {
    await configure({ blockchain: 'polygon' })
    expect(await gdn(['config', 'set', 'wallet', 'Alice.eth'])).toMatchObject({ code: 0 })
    expect(await readFile(path('.config/gdn/config.json'), 'utf8')).toContain('"wallet": "alice.eth"')
    expect(node.asked).toEqual([])
    const created = await gdn(['collection', 'create', '--name', 'Tide', ...AT, '--dry-run'])
    expect(JSON.parse(created.stdout).body).toMatchObject({ wallet_address: ALICE })
    node.records['alice.eth'] = {}
    onTestFinished(() => {
      node.records['alice.eth'] = { [POLYGON]: ALICE, 60: BOB }
    })
    const failed = await gdn(['collection', 'create', '--name', 'Tide', ...AT, '--dry-run', '--json'])
    expect(errorOf(failed).message).toBe('the wallet of profile main: alice.eth has no address for polygon')
  })

  test('is resolved on the blockchain that the server returns for an NFT', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0', { blockchain: 'polygon' })) })
    const argv = ['nft', 'transfer', 'id-0', '--receiver', 'alice.eth', '--base-url', api.url, '--dry-run']
    const { code, stdout, stderr } = await gdn(argv)
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`alice.eth → ${ALICE}\n`) })
    expect(JSON.parse(stdout).body).toMatchObject({ receiver_wallet_address: ALICE })
  })

  test('is resolved for the owner that the server confirms', async () => {
    const api = await fakeApi({
      getisgdnnft: (body: object) => ({
        body: { requests: { ...body, nft_gdn_id: 'id-0' }, response: { isgdnnft: true, nft: nft('id-0') } },
      }),
    })
    const argv = ['nft', 'verify', 'id-0', '--receiver', 'alice.eth', '-b', 'polygon', '--base-url', api.url, '--json']
    expect(await gdn(argv)).toMatchObject({ code: 0, stderr: '' })
    expect(api.bodies('getisgdnnft')).toMatchObject([{ receiver_wallet_address: ALICE }])
  })

  test('is resolved as the receiver of a manifest on its blockchain, once for all rows', async () => {
    await writeFile(path('drop.csv'), 'title,description\nDawn,first\nDusk,second\n')
    const argv = ['batch', 'validate', path('drop.csv'), ...TARGET, '--receiver', 'alice.eth', ...AT]
    const { code, stderr } = await gdn(argv)
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`alice.eth → ${ALICE}\n`) })
    expect(node.asked).toEqual(['alice.eth'])
    const other = await gdn([...argv.filter((word) => word !== '-b' && word !== 'polygon'), '--json'])
    expect(errorOf(other)).toMatchObject({
      message:
        "--receiver: alice.eth can't be resolved without a blockchain, because a name can have a different address on each network",
      hint: 'Add --blockchain <name>, or use the address.',
    })
  })

  test('is resolved on the blockchain of the manifest’s column if no flag sets it', async () => {
    await writeFile(path('drop.csv'), `title,description,receiver,blockchain\nDawn,first,alice.eth,polygon\n`)
    const [, contract = ''] = TARGET
    const { code, stderr } = await gdn(['batch', 'validate', path('drop.csv'), '-c', contract, ...AT])
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`alice.eth → ${ALICE}\n`) })
  })

  test('is written as its address to a template', async () => {
    const { stdout } = await gdn(['batch', 'template', '--receiver', 'alice.eth', '-b', 'polygon'])
    expect(stdout).toContain(ALICE)
    expect(stdout).not.toContain('alice.eth')
  })

  test('is resolved at the node of the profile unless GDN_ENS_RPC_URL is set', async () => {
    await configure({ ens_rpc_url: node.url })
    const argv = [...MINT, '--receiver', 'alice.eth', ...AT, '--dry-run', '--json']
    expect(await gdn(argv, withoutNode())).toMatchObject({ code: 0 })
    const error = errorOf(await gdn(argv, { env: { ...options.env, GDN_ENS_RPC_URL: 'ftp://x' } }))
    expect(error.message).toBe('GDN_ENS_RPC_URL: must be a URL that begins with https:// or http://')
  })

  test('an ENS name of this machine with the same spelling is suggested, because it may be another wallet', async () => {
    await saveAddresses(path('.local/state/gdn'), { 'alice.eth': BOB })
    const { message, hint } = errorOf(await gdn([...MINT, '--receiver', 'alice.eth', ...AT, '--dry-run', '--json']))
    expect({ message, hint }).toEqual({
      message: '--receiver: "alice.eth" is a name, not an address',
      hint: 'Did you mean @alice.eth?',
    })
    expect(node.asked).toEqual([])
  })
})

describe('the project’s file', () => {
  test('can’t set the node that resolves names', async () => {
    await writeFile(path('.gdnrc.json'), JSON.stringify({ ens_rpc_url: 'https://evil.example' }))
    const error = errorOf(await gdn([...MINT, '--receiver', 'alice.eth', ...AT, '--dry-run', '--json']))
    expect(error).toMatchObject({ code: 'invalid_config', message: expect.stringContaining('is not a known setting') })
    expect(node.asked).toEqual([])
  })
})

describe('the URL of the node', () => {
  const KEY = 'sesame-open-sesame-0123'

  test.each([['GDN_ENS_RPC_URL'], ['ens_rpc_url']])('in %s is printed without its key', async (where) => {
    const url = `${node.url}/v2/${KEY}`
    if (where === 'ens_rpc_url') await configure({ ens_rpc_url: url })
    const env = { ...options.env, GDN_ENS_RPC_URL: where === 'ens_rpc_url' ? '' : url }
    const results = [
      await gdn(['config', 'list', '--json'], { env }),
      await gdn(['config', 'get', 'ens_rpc_url'], { env }),
      await gdn([...MINT, '--receiver', 'alice.eth', ...AT, '--dry-run', '--debug'], { env }),
      await gdn([...MINT, '--receiver', 'nobody.eth', ...AT, '--dry-run', '--json'], { env }),
    ]
    expect(results[0]?.stdout).toContain('/v2/[redacted]')
    for (const { stdout, stderr } of results) expect(`${stdout}${stderr}`).not.toContain(KEY)
  })

  test('can be set with config set, without a user name or password', async () => {
    const { stdout, stderr } = await gdn(['config', 'set', 'ens_rpc_url', `https://node.example/${KEY}`, '--json'])
    expect(`${stdout}${stderr}`).not.toContain(KEY)
    expect(await readFile(path('.config/gdn/config.json'), 'utf8')).toContain(KEY)
    const error = errorOf(await gdn(['config', 'set', 'ens_rpc_url', 'https://me:pw@node.example', '--json']))
    expect(error.message).toContain('must not have a user name or password')
  })
})

describe('without sending anything', () => {
  test.each<[title: string, argv: string[], code: number, message: string, hint: RegExp, env?: NodeJS.ProcessEnv]>([
    [
      'rejects a name if no node is configured',
      [...MINT, '--receiver', 'alice.eth'],
      2,
      '--receiver: alice.eth is an ENS name, and no Ethereum node is configured to resolve it',
      /^Set GDN_ENS_RPC_URL .*gdn config set ens_rpc_url <url>/,
      { GDN_ENS_RPC_URL: '' },
    ],
    [
      'rejects an invalid name, and shows invisible characters',
      [...MINT, '--receiver', 'al\u001b[31mice.eth'],
      2,
      '--receiver: "al\\u001b[31mice.eth" is not a valid ENS name: disallowed character: {1B}',
      /Check the spelling/,
    ],
    [
      'rejects a name that mixes scripts',
      [...MINT, '--receiver', 'аlice.eth'],
      2,
      '--receiver: "аlice.eth" is not a valid ENS name: illegal mixture: Cyrillic + Latin "l" {6C}',
      /look-alike/,
    ],
    [
      'rejects a name on Solana',
      [
        'nft',
        'mint',
        '--title',
        'Dawn',
        '-c',
        'So11111111111111111111111111111111111111112',
        '-b',
        'solana',
        '--receiver',
        'alice.eth',
      ],
      2,
      '--receiver: alice.eth is an ENS name, which gdn resolves for EVM blockchains only',
      /^Use a solana address\.$/,
    ],
    [
      'rejects a blockchain whose chain ID is unknown',
      ['nft', 'mint', '--title', 'Dawn', '-c', CONTRACT, '-b', 'our-own-chain', '--receiver', 'alice.eth'],
      2,
      "--receiver: alice.eth can't be resolved for our-own-chain, because its chain ID is unknown",
      /^Use the address\.$/,
    ],
    [
      'rejects a name that does not exist',
      [...MINT, '--receiver', 'nobody.eth'],
      5,
      '--receiver: nobody.eth does not exist, or has no resolver',
      /^Nothing was sent\./,
    ],
    [
      'rejects the zero address',
      [...CREATE, '--wallet', 'zero.eth'],
      5,
      '--wallet: zero.eth resolves to the zero address on polygon',
      /^Nothing was sent\./,
    ],
    [
      'rejects a name with only an address for Ethereum',
      [...GRANT, '--sender', 'mainnet.eth', '--receiver', BOB],
      5,
      '--sender: mainnet.eth has an address for Ethereum only, not for polygon',
      /coin type 2147483785.*default EVM address/,
    ],
    [
      'rejects a gateway with a private address',
      [...MINT, '--receiver', 'away.eth'],
      5,
      '--receiver: away.eth is resolved by a gateway, which failed: http://10.0.0.1/0x resolves to a private address (10.0.0.1)',
      /^Nothing was sent\./,
    ],
    [
      'rejects a name at a gateway with --no-ccip',
      [...MINT, '--receiver', 'away.eth', '--no-ccip'],
      5,
      '--receiver: away.eth is resolved by a gateway, and --no-ccip forbids gateways',
      /^Nothing was sent\. Omit --no-ccip/,
    ],
    [
      'rejects a silent node',
      [...MINT, '--receiver', 'alice.eth'],
      5,
      'GDN_ENS_RPC_URL: the Ethereum node http://127.0.0.1:9 did not respond: ',
      /^Nothing was sent\. Try again/,
      { GDN_ENS_RPC_URL: 'http://127.0.0.1:9/key' },
    ],
  ])('%s', async (_title, argv, code, message, hint, env) => {
    const api = await fakeApi({ '*': () => ({ status: 500, body: {} }) })
    const result = await gdn([...argv, '--base-url', api.url, '--yes', '--json'], {
      env: { ...options.env, ...env },
    })
    const error = errorOf(result)
    expect({ code: result.code, message: error.message.slice(0, message.length) }).toEqual({ code, message })
    expect(error.hint).toMatch(hint)
    expect(api.calls).toEqual([])
  })

  test('rejects a node of another chain', async () => {
    const other = await startEnsNode({}, { chainId: 137 })
    onTestFinished(other.close)
    const result = await gdn([...MINT, '--receiver', 'alice.eth', ...AT, '--json'], {
      env: { ...options.env, GDN_ENS_RPC_URL: other.url },
    })
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      message: 'GDN_ENS_RPC_URL: the node has the chain ID 137, but ENS names are on Ethereum (1)',
      hint: 'Nothing was sent. Use the URL of an Ethereum mainnet node.',
    })
    expect(other.asked).toEqual([])
  })
})

describe('an ENS name of an owner', () => {
  test('is excluded from the holders, as a value and in a file', async () => {
    await writeFile(path('list.csv'), `bob.eth\n${OWNER}\nAlice.ETH\n`)
    const argv = ['collection', 'holders', CONTRACT, '-b', 'polygon', '--rpc-url', 'http://127.0.0.1:9']
    const { code, stderr } = await gdn([...argv, '--exclude', path('list.csv'), '--exclude', 'alice.eth'])
    expect(code).toBe(6)
    for (const line of [`bob.eth → ${BOB}\n`, `alice.eth → ${ALICE}\n`, 'Excluded 3 addresses.\n'])
      expect(stderr).toContain(line)
    await writeFile(path('list.csv'), `receiver\n${OWNER}\nnobody.eth\n`)
    const refused = await gdn([...argv, '--exclude', path('list.csv')])
    expect(refused.stderr).toContain('list.csv:3:1 (receiver): nobody.eth ')
  })

  test('is opened in the explorer as its address, on Ethereum unless another network is configured', async () => {
    const api = await fakeApi({
      '/explorer/session': () => ({ body: { version: '0.1.0', open: true, account: null } }),
      '*': (_body, { path: requestPath }) => {
        const address = new URL(requestPath, 'http://x').searchParams.get('q')
        return { body: { exact: { kind: 'owner', address }, hits: [] } }
      },
    })
    const open = ['open', 'alice.eth', '--base-url', api.url]
    expect((await gdn(open)).stdout).toBe(`${api.url}/owners/${BOB}\n`)
    const env = { ...options.env, GDN_BLOCKCHAIN: 'polygon' }
    expect((await gdn(open, { env })).stdout).toBe(`${api.url}/owners/${ALICE}\n`)
    const missing = await gdn(['open', 'nobody.eth', '--base-url', api.url])
    expect([missing.code, missing.stderr]).toEqual([5, expect.stringContaining('nobody.eth')])
  })
})
