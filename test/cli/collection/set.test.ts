/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { createPublicClient, encodeFunctionData, http, parseAbi, parseEther, toHex, zeroAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { polygon } from 'viem/chains'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { PermitSpending, QuoteSpending } from '../../../src/cli/deps.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { encodeDeployFactory, encodeMake, predictCollection } from '../../../src/server/chain/evm/factory.ts'
import { answering } from '../../helpers/answering-code.ts'
import { until } from '../../helpers/backend.ts'
import { startEnsNode } from '../../helpers/ens-node.ts'
import { PASSWORD, writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { enterCollections } from '../../helpers/known-collections.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { pruningFirst, startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { DATE, fakeApi } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

type Hex = `0x${string}`

const ABI = parseAbi([
  'function owner() view returns (address)',
  'function enableApi() view returns (bool)',
  'function enableTransfer() view returns (bool)',
  'function royaltyInfo(uint256, uint256) view returns (address, uint256)',
  'function contractURI() view returns (string)',
  'function isFrozen() view returns (bool)',
  'function setEnableTransfer(bool)',
  'function revokeService()',
])

/** The schema of https://eips.ethereum.org/EIPS/eip-7572, without its descriptions. */
const URI = { type: 'string', format: 'uri' }
const ERC_7572 = {
  type: 'object',
  properties: {
    ...{ name: { type: 'string' }, description: { type: 'string' } },
    ...{ image: URI, banner_image: URI, featured_image: URI, external_link: URI },
    collaborators: { type: 'array', items: { type: 'string' } },
  },
  required: ['name'],
}

const ownerKey = generatePrivateKey()
const owner = privateKeyToAccount(ownerKey)
const strangerKey = generatePrivateKey()
const stranger = privateKeyToAccount(strangerKey)

let network: PublicNetwork
let factory: Hex
let operator: Hex
let createdCount = 0
beforeAll(async () => {
  network = await startPublicNetwork([], { accounts: 2 })
  await network.call('evm_setAutomine', [true])
  const [admin = '0x', account = '0x'] = await network.call<Hex[]>('eth_accounts')
  operator = account
  const receipt = await send(admin, null, encodeDeployFactory([operator]))
  factory = receipt.contractAddress as Hex
})
afterAll(() => network.close())

async function send(from: Hex, to: Hex | null, data: Hex): Promise<{ status: Hex; contractAddress: Hex | null }> {
  const fields = { from, data, gas: '0x989680', ...(to === null ? {} : { to }) }
  const hash = await network.call<Hex>('eth_sendTransaction', [fields])
  const receipt = await until(
    () => network.call<{ status: Hex; contractAddress: Hex | null } | null>('eth_getTransactionReceipt', [hash]),
    (found) => found !== null,
  )
  if (receipt?.status !== '0x1') throw new Error(`${hash} reverted`)
  return receipt
}

const chain = () => createPublicClient({ chain: polygon, transport: http(network.url) })
const read = (functionName: 'owner' | 'enableApi' | 'enableTransfer' | 'contractURI') =>
  chain().readContract({ address: contract, abi: ABI, functionName })
const royalty = () =>
  chain().readContract({ address: contract, abi: ABI, functionName: 'royaltyInfo', args: [1n, 100n] })
const nonce = () => chain().getTransactionCount({ address: owner.address })

let contract: Hex
let home: Awaited<ReturnType<typeof tempHome>>

beforeEach(async () => {
  const init = {
    requestId: `0x${String(++createdCount).padStart(64, '0')}` as Hex,
    ...{ name: 'Tide', symbol: 'TIDE', owner: owner.address },
    ...{ enableApi: true, enableTransfer: false, locked: false, dynamic: false, enableBurn: false },
    ...{ royaltyReceiver: zeroAddress, royaltyBps: 0n, maxSupply: 0n },
  }
  await send(operator, factory, encodeMake(init))
  contract = predictCollection(factory, init)
  for (const { address } of [owner, stranger]) await network.call('anvil_setBalance', [address, '0xde0b6b3a7640000'])
  home = await tempHome()
  await writeKeystore(join(home.dir, 'owner.json'), ownerKey)
  await writeKeystore(join(home.dir, 'stranger.json'), strangerKey)
  await writePassword(join(home.dir, 'pw'))
})

const run = (flags: readonly string[], more: Parameters<typeof cli>[1] = {}) =>
  cli(['collection', 'set', contract, '-b', 'polygon', '--rpc-url', network.url, ...flags], {
    env: { ...home.env, GDN_API_KEY: 'key' },
    cwd: home.dir,
    ...more,
  })
const set = (...flags: string[]) => run(flags)
const as = (name: string) => ['--wallet', join(home.dir, `${name}.json`), '--password-file', join(home.dir, 'pw')]
const asOwner = () => [...as('owner'), '--yes']

describe('gdn collection set', () => {
  test('changes only what differs, each by a transaction of the owner, without a server', async () => {
    const done = await set('--royalty', '2.5%', '--enable-transfer', '--enable-api', ...asOwner(), '--json')
    expect(done.code, done.stderr).toBe(0)
    const receiver = owner.address
    expect(JSON.parse(done.stdout)).toMatchObject([
      { setting: 'enable_transfer', before: false, after: true, status: 'confirmed', gas_used: expect.any(Number) },
      {
        setting: 'royalty',
        before: null,
        after: { percent: 2.5, receiver },
        fee_paid_wei: expect.stringMatching(/^\d+$/),
      },
    ])
    expect(await royalty()).toEqual([receiver, 2n])
    expect(await read('enableTransfer')).toBe(true)

    const nonceBefore = await nonce()
    const secondResult = await set('--royalty', '2.5%', '--enable-transfer', ...asOwner())
    expect(secondResult).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('Nothing to change.') })
    const other = await set('--royalty-receiver', stranger.address, ...asOwner())
    expect(other.code, other.stderr).toBe(0)
    expect(other.stderr).toMatch(/^Paid: 0\.\d+ POL, for [\d,]+ gas$/m)
    expect(await royalty()).toEqual([stranger.address, 2n])
    const removed = await set('--royalty', '0%', ...asOwner())
    expect(removed.code, removed.stderr).toBe(0)
    expect((await royalty())[1]).toBe(0n)
    expect(await nonce()).toBe(nonceBefore + 2)
  })

  test('lowers the maximum supply without a server, and says that accepted NFTs were not compared', async () => {
    const done = await set('--max-supply', '50', ...asOwner())
    expect(done.code, done.stderr).toBe(0)
    expect(done.stderr.match(/The server did not return the number of accepted NFTs\./g)).toHaveLength(1)
    expect(await set('--max-supply', '51', ...asOwner())).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('--max-supply: can only be lowered, and is 50 now') },
    })
  })

  test('shows what would change and its cost with --dry-run, without a keystore', async () => {
    const { code, stdout, stderr } = await set('--royalty', '5%', '--no-enable-api', '--dry-run')
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(/^enable_api\ttrue\tfalse\tplanned/m)
    expect(stdout).toMatch(/^royalty\t\t5% to 0x[0-9a-fA-F]{40}\tplanned/m)
    expect(stderr).toMatch(/Nothing was sent\. The changes cost at most 0\.\d+ POL\./)
    expect(await read('enableApi')).toBe(true)
  })

  test('accepts a keystore by its file name, and needs no password for --dry-run', async () => {
    const { code, stdout, stderr } = await set('--royalty', '5%', '--wallet', 'owner.json', '--dry-run')
    expect(code, stderr).toBe(0)
    expect(stdout).toContain('planned')
  })

  test('shows the old and the new values in full with --dry-run in a terminal of 80 columns', async () => {
    const receiver = `0x${'5B'.repeat(20)}`
    const dry = ['--royalty', '5%', '--royalty-receiver', receiver, '--no-enable-api', '--dry-run']
    const { code, stdout } = await run(dry, { tty: true, columns: 80 })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^enable_api: yes → no\nroyalty: 5% to 0x(?:5b){20}\n$/i)
  })

  test('refuses before the first change what the owner cannot pay in full, and says what is missing', async () => {
    const flags = ['--royalty', '5%', '--enable-transfer']
    const { stderr } = await set(...flags, '--dry-run')
    const most = parseEther(/at most (0\.\d+) POL/.exec(stderr)?.[1] ?? '')
    await network.call('anvil_setBalance', [owner.address, toHex((most * 3n) / 4n)])
    const { code, stderr: problem } = await set(...flags, ...asOwner())
    expect(code).toBe(5)
    expect(problem).toMatch(
      /the owner 0x\w{40} has 0\.\d+ POL on polygon and needs 0\.\d+: send 0\.\d+ POL\n.*Nothing was sent/,
    )
    expect([await read('enableTransfer'), (await royalty())[1]]).toEqual([false, 0n])
  })

  test('asks for the most that its transactions can cost, and sends nothing that is not permitted', async () => {
    const requests: Parameters<PermitSpending>[0][] = []
    let isPermitted = false
    const permit: PermitSpending = async (spending) => {
      requests.push(spending)
      if (!isPermitted) throw new GdnError('max_cost', 'it is too much')
      return null
    }
    const flags = ['--royalty', '5%', '--enable-transfer', ...asOwner(), '--json']
    const nonceBefore = await nonce()
    expect(await run(flags, { permit })).toMatchObject({ code: 5, stderr: expect.stringContaining('it is too much') })
    expect(await nonce()).toBe(nonceBefore)
    isPermitted = true
    const { code, stdout, stderr } = await run(flags, { permit })
    expect(code, stderr).toBe(0)
    const records = JSON.parse(stdout) as { fee_paid_wei: string; max_fee_wei: string }[]
    expect(records).toHaveLength(2)
    for (const { fee_paid_wei, max_fee_wei } of records)
      expect(BigInt(max_fee_wei)).toBeGreaterThan(BigInt(fee_paid_wei))
    const most = records.reduce((sum, { max_fee_wei }) => sum + BigInt(max_fee_wei), 0n)
    expect(requests.at(-1)).toMatchObject({ kind: 'wallet', blockchain: 'polygon', coin: 'POL', maxCostWei: most })
  })

  test('reports in a dry run what its transactions would cost', async () => {
    const quoted: Parameters<QuoteSpending>[0][] = []
    const quote: QuoteSpending = async (spending) => void quoted.push(spending)
    const { stderr } = await run(['--royalty', '5%', '--dry-run'], { quote })
    expect(stderr).toContain('Nothing was sent.')
    expect(quoted).toMatchObject([{ kind: 'wallet', isPublic: true, coin: 'POL', maxCostWei: expect.any(BigInt) }])
  })

  test('says that fees have risen, not that funds are missing, if they exceed the approved price', async () => {
    const permit: PermitSpending = async () => {
      await network.mine(1, 10n ** 12n)
      return null
    }
    onTestFinished(() => network.mine(1, 10n ** 9n))
    const nonceBefore = await nonce()
    const { code, stderr } = await run(['--royalty', '5%', ...asOwner()], { permit })
    expect([code, await nonce()]).toEqual([5, nonceBefore])
    expect(stderr).toContain(
      'The transaction changed nothing. Fees have risen above the approved price. Run the same command again to see the current cost.',
    )
  })

  test('exits with 8 if a change is in no block at --timeout, and with 6 before anything is sent', async () => {
    await network.call('evm_setAutomine', [false])
    onTestFinished(async () => {
      await network.mine()
      await network.call('evm_setAutomine', [true])
    })
    const flags = ['--royalty', '5%', ...asOwner(), '--json', '--timeout', '3s']
    const late = await set(...flags)
    expect([late.code, errorOf(late).message]).toEqual([8, 'the network has not confirmed all changes yet'])
    // The transaction is pending.
    const waiting = await set(...flags)
    expect([waiting.code, errorOf(waiting).message]).toEqual([6, 'the --timeout of 3 s expired'])
  })

  test('says in the JSON of a plan what is irreversible', async () => {
    const { stdout } = await set('--royalty', '5%', '--freeze', '--dry-run', '--json')
    expect(JSON.parse(stdout)).toMatchObject([
      { setting: 'royalty', irreversible: false, max_fee_wei: expect.stringMatching(/^\d+$/), fee_paid_wei: null },
      { setting: 'frozen', irreversible: true, max_fee_wei: expect.stringMatching(/^\d+$/), fee_paid_wei: null },
    ])
  })

  test('sends nothing without a confirmation on a public network', async () => {
    const { code, stderr } = await set('--royalty', '5%', ...as('owner'))
    expect(code).toBe(3)
    expect(stderr).toMatch(/Change royalty \(0x\w{40} on polygon, for at most 0\.\d+ POL\)\?/)
    expect((await royalty())[1]).toBe(0n)
  })

  test('names the old and the new value of each setting before it prompts', async () => {
    const { stderr } = await set('--royalty', '5%', '--no-enable-api', ...as('owner'))
    expect(stderr).toMatch(/^enable_api: yes → no\nroyalty: 5% to 0x\w{40}\nerror: confirmation required/m)
  })

  test('shows only the fields of the metadata that change, keeps the others, and uploads nothing for a dry run', async () => {
    const uri = 'ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'
    const stored: object[] = []
    const api = await fakeApi({
      files: (body: never) => {
        stored.push(body)
        return { body: { url: uri } }
      },
      '/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku': () => ({
        body: { name: 'Tide', description: 'Of the sea' },
      }),
    })
    const described = ['--description', 'Of the sea', '--base-url', api.url]
    const planned = await set(...described, '--dry-run', '--json')
    expect(planned.code, planned.stderr).toBe(0)
    const change = { setting: 'metadata', before: null, after: { description: 'Of the sea' } }
    expect(JSON.parse(planned.stdout)[0]).toMatchObject(change)
    expect(JSON.parse(planned.stdout)[0].after).toEqual(change.after)
    expect(stored).toEqual([])

    const done = await set(...described, ...asOwner())
    expect(done.code, done.stderr).toBe(0)
    expect(stored).toHaveLength(1)
    expect(JSON.stringify(stored)).toContain('Tide')
    expect(await read('contractURI')).toBe(uri)

    const more = ['--external-link', 'https://example.com/', '--description', 'Other']
    const next = await set(...more, '--base-url', api.url, '--dry-run')
    expect(next.stdout).toContain(
      '\tdescription: Of the sea\tdescription: Other, external_link: https://example.com/\t',
    )
  })

  test('leaves metadata in the contract that conforms to ERC-7572, as a new contract has', async () => {
    const check = new Ajv2020({ formats: { uri: (text: string) => URL.canParse(text) } }).compile(ERC_7572)
    const created = await read('contractURI')
    const data = /^data:application\/json;base64,(.+)$/.exec(String(created))?.[1] ?? ''
    const initial: unknown = JSON.parse(Buffer.from(data, 'base64').toString())
    expect([check(initial), initial]).toEqual([true, { name: 'Tide' }])

    let stored = ''
    const api = await fakeApi({
      files: (body: never) => {
        stored = String(body)
        return { body: { url: 'ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku' } }
      },
    })
    const fields = {
      description: 'Of the sea',
      image: 'https://example.com/x.png',
      banner_image: 'https://example.com/b.png',
      external_link: 'https://example.com/',
    }
    const flags = ['--description', fields.description, '--image', fields.image, '--banner', fields.banner_image]
    const more = ['--external-link', fields.external_link, '--base-url', api.url, ...asOwner()]
    const done = await set(...flags, ...more)
    expect(done.code, done.stderr).toBe(0)
    const uploaded: unknown = JSON.parse(/^\{.*\}$/m.exec(stored)?.[0] ?? 'null')
    expect(uploaded).toEqual({ name: 'Tide', ...fields })
    expect(check(uploaded)).toBe(true)
  })

  test('keeps the description and image of the creation when it sets metadata for the first time', async () => {
    const id = '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5'
    const creation = { description: 'Of the sea', image: 'https://example.com/x.png' }
    const stored: object[] = []
    const api = await fakeApi({
      createcollection: (request) => ({ body: { request, response: { transaction_gdn_id: id, accepted_date: DATE } } }),
      getcollections: () => ({
        body: {
          requests: { transaction_gdn_ids: [id] },
          collections: [
            {
              ...{ transaction_gdn_ids: id, contract_address: contract, name: 'Tide', blockchain: 'polygon' },
              ...{ wallet_address: owner.address, status: 'deployed', ...creation },
            },
          ],
        },
      }),
      files: (body: never) => {
        stored.push(body)
        return { body: { url: 'ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku' } }
      },
    })
    const toApi = ['--base-url', api.url]
    const unknown = await set('--external-link', 'https://example.com/', '--dry-run', ...toApi)
    expect(unknown.stderr).toContain('To keep them, add --description and --image')
    const argv = ['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', owner.address, ...toApi]
    const createResult = await cli(argv, { env: { ...home.env, GDN_API_KEY: 'key' }, cwd: home.dir })
    expect(createResult.code, createResult.stderr).toBe(0)

    const sameResult = await set('--description', creation.description, ...asOwner(), ...toApi)
    expect(sameResult.stderr).toContain('Nothing to change.')
    const done = await set('--external-link', 'https://example.com/', ...asOwner(), ...toApi)
    expect(done.code, done.stderr).toBe(0)
    const metadata = { name: 'Tide', ...creation, external_link: 'https://example.com/' }
    expect(JSON.stringify(stored)).toContain(JSON.stringify(JSON.stringify(metadata)).slice(1, -1))
  })

  test('waits for what an interrupted command sent, and does not send it again', async () => {
    await network.call('evm_setAutomine', [false])
    onTestFinished(() => network.call('evm_setAutomine', [true]))
    const before = await nonce()
    const raw = await owner.signTransaction({
      ...{ chainId: 137, nonce: before, to: contract, gas: 200_000n, type: 'eip1559' },
      ...{ maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
      data: encodeFunctionData({ abi: ABI, functionName: 'setEnableTransfer', args: [true] }),
    })
    await network.call('eth_sendRawTransaction', [raw])
    const node = await startRpcProxy(network.url)
    onTestFinished(() => node.close())
    const flags = ['-b', 'polygon', '--rpc-url', node.url, '--enable-transfer', ...asOwner()]
    const ended = cli(['collection', 'set', contract, ...flags], { env: home.env, cwd: home.dir })
    await until(
      () => node.count('eth_getTransactionCount'),
      (count) => count > 3,
    )
    await network.mine()
    const { code, stderr } = await ended
    expect(code, stderr).toBe(0)
    expect(await read('enableTransfer')).toBe(true)
    expect(await network.pool()).toEqual([])
    expect(await nonce()).toBe(before + 1)
  })

  test('sends no change that it has not shown: settings may change meanwhile', async () => {
    await network.call('anvil_impersonateAccount', [owner.address])
    onTestFinished(() => network.call('anvil_stopImpersonatingAccount', [owner.address]))
    const setTransfer = (enabled: boolean) =>
      send(
        owner.address,
        contract,
        encodeFunctionData({ abi: ABI, functionName: 'setEnableTransfer', args: [enabled] }),
      )
    await setTransfer(true)
    let changing: Promise<unknown> | null = null
    const node = await startRpcProxy(network.url, {
      // Asked for once everything is compared, shown and confirmed.
      answer: ({ method }) => {
        if (method !== 'eth_getTransactionCount' || changing !== null) return undefined
        changing = setTransfer(false)
        return { result: '0xffff' }
      },
    })
    onTestFinished(() => node.close())
    const flags = ['-b', 'polygon', '--rpc-url', node.url, '--enable-transfer', '--royalty', '5%', ...asOwner()]
    const before = await royalty()
    const { code, stderr } = await cli(['collection', 'set', contract, ...flags], { env: home.env, cwd: home.dir })
    await changing
    expect(stderr).toContain('enable_transfer: would also change, but was not shown')
    expect(code).toBe(5)
    expect(await royalty()).toEqual(before)
  })

  test.each([
    ['the contract', '--description', 'x', undefined],
    ['the node', '--royalty', '5%', 'eth_sendRawTransaction'],
    ['the node before anything is sent', '--royalty', '5%', 'eth_estimateGas'],
  ])('escapes what %s says before a terminal reads it', async (_, flag, value, method) => {
    const evil = '\u001b[2J\u001b]0;owned\u0007\u202eevil'
    const uri = `data:application/json;base64,${Buffer.from(JSON.stringify({ [evil]: evil, description: evil })).toString('base64')}`
    for (const input of [uri, `ipfs://${evil}`]) {
      await set('--contract-uri', input, ...asOwner())
      const node = await startRpcProxy(network.url, {
        answer: (call) => (call.method === method ? { error: { code: -32000, message: evil } } : undefined),
      })
      onTestFinished(() => node.close())
      const flags = ['-b', 'polygon', '--rpc-url', node.url, '--gateway', node.url, flag, value, ...asOwner()]
      const argv = ['collection', 'set', contract, ...flags, ...(method === undefined ? ['--dry-run'] : [])]
      const showResult = await cli(argv, { env: home.env, cwd: home.dir, tty: true })
      expect(showResult.stdout + showResult.stderr).toContain('owned')
      expect(showResult.stdout + showResult.stderr).not.toMatch(/\u001b\[2J|\u0007|\u202e/)
    }
  })

  test('starts over at a newer block if the node no longer has the state of the block', async () => {
    const node = await startRpcProxy(network.url, { answer: pruningFirst(5) })
    onTestFinished(() => node.close())
    const flags = ['-b', 'polygon', '--rpc-url', node.url, '--royalty', '7%', '--dry-run']
    const { code, stdout, stderr } = await cli(['collection', 'set', contract, ...flags, '--json'], {
      ...{ env: home.env, cwd: home.dir },
    })
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ setting: 'royalty' }])
    expect(node.count('eth_blockNumber')).toBeGreaterThan(1)
  })

  test('offers the ownership, which only the other wallet takes', async () => {
    const offered = await set('--new-owner', stranger.address, ...asOwner())
    expect(offered.code, offered.stderr).toBe(0)
    expect(await read('owner')).toBe(owner.address)
    const refused = await set('--accept-owner', ...asOwner())
    expect(refused.code).toBe(5)
    const acceptResult = await set('--accept-owner', ...as('stranger'), '--yes')
    expect(acceptResult.code, acceptResult.stderr).toBe(0)
    expect(await read('owner')).toBe(stranger.address)
    const secondResult = await set('--accept-owner', ...as('stranger'), '--yes')
    expect(secondResult).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('Nothing to change.') })
  })

  test('resolves the ENS names of a new owner and of a royalty receiver', async () => {
    const node = await startEnsNode({ 'new.eth': { 2147483785: stranger.address } })
    onTestFinished(node.close)
    const env = { ...home.env, GDN_API_KEY: 'key', GDN_ENS_RPC_URL: node.url }
    const flags = ['--new-owner', 'new.eth', '--royalty', '5%', '--royalty-receiver', 'New.eth', '--dry-run', '--json']
    const showResult = await run(flags, { env })
    expect(showResult.code, showResult.stderr).toBe(0)
    expect(JSON.parse(showResult.stdout)).toMatchObject([
      { setting: 'royalty', after: { receiver: stranger.address } },
      { setting: 'pending_owner', after: stranger.address },
    ])
    expect(node.asked).toEqual(['new.eth'])
  })

  test('freezes the metadata of all NFTs, once, after a confirmation that says that it is for good', async () => {
    const frozen = () => chain().readContract({ address: contract, abi: ABI, functionName: 'isFrozen' })
    await enterCollections(join(home.dir, 'state'), { name: 'Tides', contract_address: contract })
    const refused = await set('--freeze', ...as('owner'), '--state-dir', join(home.dir, 'state'))
    expect(refused).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        new RegExp(`permanently \\(Tides, ${contract} on polygon.*This can't be undone\\.`, 's'),
      ),
    })
    expect(await frozen()).toBe(false)
    const done = await set('--freeze', ...asOwner())
    expect(done.code, done.stderr).toBe(0)
    expect(await frozen()).toBe(true)
    expect((await set('--freeze', ...asOwner())).stderr).toContain('Nothing to change.')
  })

  describe('bad input sends nothing', () => {
    test.each([
      ['royalties above 100 %', ['--royalty', '100.01%'], '--royalty: must be a percentage such as 5%', 2],
      ['a royalty without a unit', ['--royalty', '5'], '--royalty: must be a percentage such as 5%', 2],
      ['no setting', [], 'no setting is specified', 2],
      [
        'metadata twice',
        ['--contract-uri', 'ipfs://b', '--image', 'a.png'],
        "can't be combined with flags that change",
        2,
      ],
      ['a receiver of nothing', ['--royalty-receiver', stranger.address], 'has no royalty', 2],
      ['an address with a typo', ['--royalty', '5%', '--royalty-receiver', '0x12'], '--royalty-receiver: "0x12"', 2],
      ['no wallet', ['--royalty', '5%'], '--wallet: is required: the owner 0x', 2],
      ['acceptance and more', ['--accept-owner', '--royalty', '5%'], "--accept-owner: can't be combined", 2],
    ])('%s', async (_, flags, message, exitCode) => {
      const before = await nonce()
      const { code, stderr } = await set(...flags)
      expect(stderr).toContain(message)
      expect(code).toBe(exitCode)
      expect(await nonce()).toBe(before)
    })

    test.each([
      ["a stranger's wallet", 'stranger.json', 5, () => `is ${owner.address}, not ${stranger.address}`],
      ['a keystore that does not exist', './nonexist.json', 2, () => "nonexist.json: doesn't exist"],
      ['a file name without a folder that does not exist', 'nonexist.json', 2, () => "nonexist.json: doesn't exist"],
      ['an unknown name', '@deleted', 2, () => '@deleted is not the name of a wallet'],
      ['a file that is no keystore', 'pw', 2, () => 'pw'],
    ])('%s, with --dry-run too', async (_, wallet, exitCode, message) => {
      const before = await nonce()
      const flags = ['--royalty', '5%', '--wallet', wallet, '--password-file', join(home.dir, 'pw')]
      for (const more of ['--yes', '--dry-run']) {
        const { code, stdout, stderr } = await set(...flags, more)
        expect(stderr).toContain(message())
        expect([code, stdout]).toEqual([exitCode, ''])
      }
      expect(await nonce()).toBe(before)
    })

    test('an address without a contract of gdn', async () => {
      const flags = ['-b', 'polygon', '--rpc-url', network.url, '--royalty', '5%']
      const { code, stderr } = await cli(['collection', 'set', stranger.address, ...flags], { env: home.env })
      expect(code).toBe(5)
      expect(stderr).toContain('is not a gdn collection on polygon\n  Check the address.')
    })

    test.each([
      ['reverts', answering({})],
      ['returns other data', answering({ 'owner()': '0x01' })],
    ])('a contract of another developer that %s', async (_how, code) => {
      const address = privateKeyToAccount(generatePrivateKey()).address
      await network.call('anvil_setCode', [address, code])
      for (const more of [asOwner(), ['--dry-run']]) {
        const flags = ['-b', 'polygon', '--rpc-url', network.url, '--royalty', '5%', ...more]
        const foreign = await cli(['collection', 'set', address, ...flags], { env: home.env, cwd: home.dir })
        expect(foreign.stderr).toContain('is not a gdn collection on polygon')
        expect(foreign.code).toBe(5)
      }
    })

    test('a node of another chain', async () => {
      const flags = ['-b', 'base', '--rpc-url', network.url, '--royalty', '5%']
      const { code, stderr } = await cli(['collection', 'set', contract, ...flags], { env: home.env })
      expect(code).toBe(2)
      expect(stderr).toContain('--rpc-url')
    })

    test('a collection whose owner has revoked the service', async () => {
      const data = encodeFunctionData({ abi: ABI, functionName: 'revokeService' })
      await network.call('anvil_impersonateAccount', [owner.address])
      onTestFinished(() => network.call('anvil_stopImpersonatingAccount', [owner.address]))
      await send(owner.address, contract, data)
      const { code, stderr } = await set('--enable-api', ...asOwner())
      expect(stderr).toContain('revoked all permissions of the service')
      expect(code).toBe(5)
    })
  })

  test('never prints the key, the password or the URL of the node', async () => {
    const secret = `${network.url}/?key=very-secret-key`
    const file = join(home.dir, 'url')
    await writeFile(file, secret, { mode: 0o600 })
    const argv = [
      'collection',
      'set',
      contract,
      '-b',
      'polygon',
      '--rpc-url-file',
      file,
      '--royalty',
      '5%',
      ...asOwner(),
    ]
    const { code, stdout, stderr } = await cli([...argv, '--debug'], { env: home.env, cwd: home.dir })
    expect(code, stderr).toBe(0)
    for (const text of [ownerKey.slice(2), PASSWORD, 'very-secret-key']) expect(stdout + stderr).not.toContain(text)
  })
})
