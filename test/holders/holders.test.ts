/** @module-tag slow */
import { copyFile, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { stateDirectory } from '../../src/config/paths.ts'
import { GdnError } from '../../src/core/errors.ts'
import { storeKnownCollection } from '../../src/state/known-collections.ts'
import { withState } from '../../src/state/open-state.ts'
import { type CliOptions, cli, errorOf, tempHome } from '../cli/harness.ts'
import { type PlainAnvil, startPlainAnvil } from '../helpers/plain-anvil.ts'
import { type RpcProxyOptions, startRpcProxy } from '../helpers/rpc-proxy.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { bruteForce } from './brute-force.ts'
import { type ContractName, type Deployed, deploy } from './token-contracts.ts'

let anvil: PlainAnvil
const contracts = {} as Record<ContractName, Deployed>
let block = 0

const PEOPLE = Array.from({ length: 30 }, (_, at) =>
  getAddress(`0x${(at * 7919 + 65_537).toString(16).padStart(40, 'abc')}`),
)
const person = (at: number): Hex => PEOPLE[at % PEOPLE.length] as Hex

beforeAll(async () => {
  anvil = await startPlainAnvil()
  const make = async (name: ContractName, ...args: unknown[]) => {
    contracts[name] = await deploy(anvil, name, ...args)
    return contracts[name]
  }
  const oz = await make('Oz721')
  const range = await make('OzConsecutive', [person(0), person(1), person(0)], 1000n)
  const many = await make('Oz1155')
  const coin = await make('Oz20')
  const fast = await make('A721')
  for (let i = 0; i < 20; i++) await oz.send('mintMany', PEOPLE.slice(i % 5, (i % 5) + 10), BigInt(i * 10))
  for (let i = 0; i < 40; i++) {
    await many.send('mint', person(i), BigInt(i % 4), BigInt(5 + i))
    await coin.send('mint', person(i), 10n ** 18n + BigInt(i))
  }
  await many.send('mintBatch', person(3), [0n, 3n, 3n], [2n, 4n, 8n])
  for (let i = 0; i < 12; i++) {
    await oz.send('move', ...(await ownedBy('Oz721', i * 3)), person(i + 2), BigInt(i * 3))
    await oz.send('burn', BigInt(i * 3 + 1))
    await range.send('move', person(Math.floor((i * 199) / 1000) === 1 ? 1 : 0), person(i + 5), BigInt(i * 199))
    await many.send('move', person(i), person(i + 9), BigInt(i % 4), BigInt(1 + i))
    await coin.send('move', person(i), person(i + 9), 10n ** 18n)
  }
  await many.send('burn', person(20), 0n, 25n)
  await coin.send('burn', person(25), 10n ** 18n)
  await range.send('burn', 2999n)
  await fast.send('mintRange', person(4), 30n)
  await fast.send('mint', person(5), 12n)
  await fast.send('burn', 8n).catch(() => {})
  // A receiver that is a contract, and a transfer to oneself.
  await oz.send('mint', coin.address, 900n)
  await oz.send('move', coin.address, coin.address, 900n)
  block = Number(await anvil.request<Hex>('eth_blockNumber', []))
}, 120_000)

afterAll(() => anvil.stop())

/** The present owner of a token. */
async function ownedBy(name: ContractName, token: number): Promise<[Hex]> {
  const data = `0x6352211e${token.toString(16).padStart(64, '0')}`
  const result = await anvil.request<Hex>('eth_call', [{ to: contracts[name].address, data }, 'latest'])
  return [getAddress(`0x${result.slice(26)}`)]
}

const holders = (contract: string, url: string, flags: string[] = [], options: CliOptions = {}) =>
  cli(
    ['collection', 'holders', contract, '-b', 'testchain', '--rpc-url', url, '--block', String(block), ...flags],
    options,
  )

interface Row {
  receiver: string
  count: string
  token_ids?: string[]
  block_number: number
  block_hash: string
}

const rowsIn = (stdout: string): Pick<Row, 'receiver' | 'count'>[] =>
  stdout.startsWith('[')
    ? (JSON.parse(stdout) as Row[])
    : stdout
        .trim()
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(','))
        .map(([receiver = '', count = '']) => ({ receiver, count }))

const countsIn = (stdout: string) => Object.fromEntries(rowsIn(stdout).map(({ receiver, count }) => [receiver, count]))

async function proxy(options: RpcProxyOptions) {
  const started = await startRpcProxy(anvil.url, options)
  onTestFinished(() => started.close())
  return started
}

/** Number of blocks that an eth_getLogs call asks for. */
const blocksOf = ({ params }: { params: { fromBlock: string; toBlock: string }[] }) =>
  Number(params[0]?.toBlock) - Number(params[0]?.fromBlock) + 1

/** A node for ranges of up to 8 blocks, and a signal that stops the command after this number of ranges. */
async function stoppingProxy(ranges: number) {
  const stop = new AbortController()
  let left = ranges
  const { url } = await proxy({
    answer: (call) => {
      if (call.method !== 'eth_getLogs') return undefined
      if (blocksOf(call) > 8) return { error: { code: -32_000, message: 'block range is too wide' } }
      if (left-- === 0) stop.abort(new GdnError('interrupted', 'stopped'))
      return undefined
    },
  })
  return { url, signal: stop.signal }
}

const EVERYBODY = [...PEOPLE]
test.each([
  ['Oz721', { tokens: 910 }],
  ['OzConsecutive', { tokens: 3001 }],
  ['A721', { tokens: 60 }],
  ['Oz20', { people: EVERYBODY }],
  ['Oz1155', { people: EVERYBODY, ids: 4 }],
] as const)(
  'finds the same holders of %s as asking the contract for each',
  async (name, what) => {
    const { address } = contracts[name]
    const result = await holders(address, anvil.url, ['--json'])
    expect(result).toMatchObject({ code: 0 })
    expect(countsIn(result.stdout)).toEqual(await bruteForce(anvil, address, what, block))
  },
  60_000,
)

test.each(['Oz721', 'Oz1155', 'Oz20'] as const)(
  'finds the same holders of %s if it claims every interface',
  async (name) => {
    const { url } = await proxy({
      answer: ({ method, params }) =>
        method === 'eth_call' && params[0].data.startsWith('0x01ffc9a7')
          ? { result: `0x${'1'.padStart(64, '0')}` }
          : undefined,
    })
    const [result, expected] = [
      await holders(contracts[name].address, url, ['--json']),
      await holders(contracts[name].address, anvil.url, ['--json']),
    ]
    expect(result).toMatchObject({ code: 0 })
    expect(countsIn(result.stdout)).toEqual(countsIn(expected.stdout))
  },
)

interface Log {
  topics: Hex[]
  blockNumber: Hex
}
test.each([
  ['a log twice', (log: Log): unknown[] => [log, log]],
  ['a log without topics', (log: Log): unknown[] => [{ ...log, topics: [] }]],
  ['a topic that is null', (log: Log): unknown[] => [{ ...log, topics: [null] }]],
  [
    'a topic that is no number',
    (log: Log) => [{ ...log, topics: [...log.topics.slice(0, -1), `0x${'z'.repeat(64)}`] }],
  ],
  ['another event', (log: Log): unknown[] => [{ ...log, topics: [`0x${'1'.repeat(64)}`, ...log.topics.slice(1)] }]],
] as const)('rejects a node that returns %s', async (_what, change) => {
  for (const name of ['Oz721', 'Oz1155', 'Oz20'] as const) {
    const { address } = contracts[name]
    const range = { fromBlock: '0x0', toBlock: `0x${block.toString(16)}` }
    const logs = await anvil.request<Log[]>('eth_getLogs', [{ address, ...range }])
    const isIn = ({ fromBlock, toBlock }: typeof range, at: Hex) => +fromBlock <= +at && +at <= +toBlock
    const { url } = await proxy({
      answer: ({ method, params }) => {
        if (method !== 'eth_getLogs') return undefined
        const asked = logs.filter(({ blockNumber }) => isIn(params[0], blockNumber))
        return { result: asked.flatMap((log) => (log === logs[9] ? change(log) : [log])) }
      },
    })
    const result = await holders(address, url, ['--json'])
    expect([name, result.code, result.stdout]).toEqual([name, 6, ''])
    expect(errorLine(result.stderr).code).toBe('bad_answer')
  }
})

test('rejects a block whose time is not a date', async () => {
  const { url } = await proxy({
    answer: ({ method }) =>
      method === 'eth_getBlockByNumber'
        ? { result: { number: '0x5', hash: `0x${'1'.repeat(64)}`, timestamp: '0xfffffffffffff' } }
        : undefined,
  })
  const result = await latest(contracts.Oz20.address, ['--json'], url)
  expect([result.code, result.stdout]).toEqual([6, ''])
})

test('does not take a call that runs out of gas for pruned state', async () => {
  const { url } = await proxy({
    answer: ({ method, params }) =>
      method === 'eth_call' && params[0].data.startsWith('0x70a08231') && !params[0].data.endsWith('1'.repeat(40))
        ? { error: { code: -32_000, message: 'out of gas' } }
        : undefined,
  })
  const result = await holders(contracts.Oz721.address, url, ['--json'])
  expect([result.code, result.stdout]).toEqual([6, ''])
  expect(errorLine(result.stderr).message).toMatch(/can't call the contract to check holder 0x\w+: out of gas$/)
})

test.each([
  [
    'of another contract',
    async (folder: string, file: string): Promise<ContractName> => {
      const other = join(folder, file.replace(/0x\w+/, contracts.Oz1155.address.toLowerCase()))
      for (const end of ['', '-wal']) await copyFile(join(folder, file + end), other + end).catch(() => {})
      return 'Oz1155'
    },
  ],
  [
    'that is damaged',
    async (folder: string, file: string): Promise<ContractName> => {
      for (const end of ['-wal', '-shm']) await rm(join(folder, file + end), { force: true })
      await writeFile(join(folder, file), 'damaged'.repeat(1000))
      return 'Oz721'
    },
  ],
] as const)('reads again instead of resuming from a file %s', async (_what, damage) => {
  const home = await tempHome()
  const { url, signal } = await stoppingProxy(9)
  const { address } = contracts.Oz721
  expect((await holders(address, url, [], { env: home.env, signal })).code).toBe(130)
  const folder = join(home.dir, '.local/state/gdn/holders')
  const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.db'))
  const name = await damage(folder, file)
  const [result, expected] = [
    await holders(contracts[name].address, anvil.url, ['--json'], { env: home.env }),
    await holders(contracts[name].address, anvil.url, ['--json']),
  ]
  expect([result.code, result.stdout]).toEqual([0, expected.stdout])
})

test('keeps old lock files, because another process may hold the lock', async () => {
  const { env, dir } = await tempHome()
  const folder = join(dir, '.local/state/gdn/holders')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of ['a.db', 'a.db.lock']) {
    await writeFile(join(folder, name), '')
    await utimes(join(folder, name), 1, 1)
  }
  expect((await holders(contracts.Oz20.address, anvil.url, [], { env })).code).toBe(0)
  expect((await readdir(folder)).filter((name) => name.startsWith('a'))).toEqual(['a.db.lock'])
})

test('finds the same through limits of blocks, lost and late responses', async () => {
  let seen = 0
  const { url, calls } = await proxy({
    refuse: () => (++seen % 7 === 0 ? { status: 502 } : undefined),
    delayMs: () => (seen * 7) % 20,
    answer: (call) =>
      call.method === 'eth_getLogs' && blocksOf(call) > 9
        ? { error: { code: -32_614, message: 'eth_getLogs is limited to a 9 range' } }
        : undefined,
  })
  const { address } = contracts.Oz721
  const result = await holders(address, url, ['--json'])
  expect(result).toMatchObject({ code: 0 })
  expect(countsIn(result.stdout)).toEqual(await bruteForce(anvil, address, { tokens: 910 }, block))
  expect(calls.filter((call) => call.method === 'eth_getLogs' && blocksOf(call) <= 9).length).toBeGreaterThan(10)
}, 60_000)

test('finds the same through a limit of results', async () => {
  const { url } = await proxy({
    answer: (call) =>
      call.method === 'eth_getLogs' && blocksOf(call) > 30
        ? { error: { code: -32_005, message: 'query returned more than 10000 results' } }
        : undefined,
  })
  const result = await holders(contracts.Oz20.address, url, ['--json'])
  const expected = await bruteForce(anvil, contracts.Oz20.address, { people: EVERYBODY }, block)
  expect([result.code, countsIn(result.stdout)]).toEqual([0, expected])
}, 60_000)

test('resumes a stopped reading where it was', async () => {
  const home = await tempHome()
  const { address } = contracts.Oz721
  for (let round = 0; ; round++) {
    expect(round).toBeLessThan(60)
    const { url, signal } = await stoppingProxy(4)
    const result = await holders(address, url, ['-o', 'csv'], { env: home.env, signal })
    if (result.code !== 0) {
      expect(result).toMatchObject({ code: 130, stdout: '' })
      continue
    }
    expect(round).toBeGreaterThan(2)
    expect(result.stderr).toContain('Resuming at block')
    expect(countsIn(result.stdout)).toEqual(await bruteForce(anvil, address, { tokens: 910 }, block))
    expect(await readdir(join(home.dir, '.local/state/gdn/holders'))).toEqual([expect.stringMatching(/\.lock$/)])
    return
  }
}, 120_000)

test('reads again after a reorg below the block, and says so', async () => {
  let requestCount = 0
  const { url } = await proxy({
    answer: ({ method, params }) => {
      if (method !== 'eth_getBlockByNumber' || params[0] !== `0x${block.toString(16)}` || ++requestCount > 1)
        return undefined
      return { result: { number: params[0], hash: `0x${'1'.repeat(64)}`, timestamp: '0x1' } }
    },
  })
  const result = await holders(contracts.Oz20.address, url, ['-o', 'csv'])
  expect(result.stderr).toContain('A reorg replaced a block that was read')
  const expected = await bruteForce(anvil, contracts.Oz20.address, { people: EVERYBODY }, block)
  expect([result.code, countsIn(result.stdout)]).toEqual([0, expected])
})

test('refuses a chain whose block changes each time', async () => {
  let requestCount = 0
  const { url } = await proxy({
    answer: ({ method, params }) =>
      method === 'eth_getBlockByNumber'
        ? {
            result: {
              number: params[0].startsWith('0x') ? params[0] : `0x${block.toString(16)}`,
              hash: `0x${String(++requestCount).padStart(64, '0')}`,
              timestamp: '0x1',
            },
          }
        : undefined,
  })
  const result = await holders(contracts.Oz20.address, url, ['--json'])
  expect([result.code, result.stdout, errorLine(result.stderr).code]).toEqual([5, '', 'refused'])
})

/** The error among notes. */
const errorLine = (stderr: string) => JSON.parse(stderr.split('\n').find((line) => line.startsWith('{')) ?? '').error

test('names the holder whose balance differs, prints nothing, and exits with 5', async () => {
  const rebasing = await deploy(anvil, 'Rebasing')
  await rebasing.send('mint', person(1), 5n)
  await rebasing.send('rebase')
  const result = await latest(rebasing.address, ['--json'])
  expect([result.code, result.stdout]).toEqual([5, ''])
  expect(errorOf(result)).toMatchObject({
    code: 'verify_failed',
    message: `holder ${person(1)}: 5 according to the events, but 10 in the contract`,
  })
})

const latest = (contract: string, flags: string[] = [], url = anvil.url) =>
  cli(['collection', 'holders', contract, '-b', 'testchain', '--rpc-url', url, ...flags])

test('names the sum that differs from totalSupply', async () => {
  const { url } = await proxy({
    answer: ({ method }) => (method === 'eth_getLogs' ? { result: [] } : undefined),
  })
  const result = await holders(contracts.Oz20.address, url, ['--json'])
  expect(result.code).toBe(5)
  expect(errorOf(result).message).toMatch(/^the events add up to 0, but totalSupply of 0x\w+ is \d+$/)
})

test('names the networks of profiles and known collections on which an address without code has some', async () => {
  const { dir, env } = await tempHome()
  const address = person(0).toLowerCase()
  const withCode = await proxy({
    answer: ({ method, params: [of] }) => (method === 'eth_getCode' && of === address ? { result: '0x60' } : undefined),
  })
  const profiles = {
    test: { base_url: `${withCode.url}/`, blockchain: 'base' },
    other: { base_url: anvil.url, blockchain: 'polygon' },
    stopped: { base_url: 'http://127.0.0.1:9', blockchain: 'polygon' },
    solana: { base_url: withCode.url, blockchain: 'solana' },
  }
  await mkdir(join(dir, '.config/gdn'), { recursive: true })
  await writeFile(join(dir, '.config/gdn/config.json'), JSON.stringify({ profiles }))
  await withState(stateDirectory(env), (state) =>
    state.write((sql) =>
      storeKnownCollection(
        sql,
        { origin: 'id:1', url: withCode.url },
        {
          transaction_gdn_id: 'x',
          contract_address: null,
          name: 'Tide',
          blockchain: 'linea',
          wallet_address: address,
          created_at: new Date(0).toISOString(),
        },
      ),
    ),
  )
  const command = ['collection', 'holders', address, '-b', 'testchain', '--rpc-url', anvil.url]
  const result = await cli(command, { env })
  expect([result.code, result.stdout]).toEqual([2, ''])
  expect(result.stderr.replaceAll(/\s+/g, ' ')).toContain(
    `The address has code on base (${withCode.url}) and linea (${withCode.url}). Use \`-b base --rpc-url ${withCode.url}/rpc/base\`.`,
  )
})

test('names the token whose owner differs', async () => {
  const ownerOf = '0x6352211e'
  const { url } = await proxy({
    answer: ({ method, params }) =>
      method === 'eth_call' && params[0].data.startsWith(ownerOf) && !/0{63}[01]$/.test(params[0].data)
        ? { result: `0x${'0'.repeat(24)}${'9'.repeat(40)}` }
        : undefined,
  })
  const result = await holders(contracts.Oz721.address, url, ['--json'])
  expect(result.code).toBe(5)
  expect(errorOf(result).message).toMatch(
    /^token \d+: owner 0x\w+ according to the events, but owner 0x9{40} in the contract$/,
  )
})

test.each(['Unindexed', 'Upgradable'] as const)(
  'accepts %s only if the balances of all holders agree',
  async (name) => {
    const contract = await deploy(anvil, name)
    for (let i = 0; i < 25; i++) await contract.send('mint', person(i), BigInt(i + 1))
    if (name === 'Upgradable') await contract.send('upgrade')
    const good = await latest(contract.address, ['-o', 'ids'])
    expect(good).toMatchObject({ code: 0, stderr: expect.stringContaining('all 25 balances match the contract') })
    expect(good.stdout.trim().split('\n').sort()).toEqual(PEOPLE.slice(0, 25).sort())
    await contract.send('cheat', person(3), person(4))
    const bad = await latest(contract.address)
    expect([bad.code, bad.stdout]).toEqual([5, ''])
    expect(bad.stderr).toMatch(name === 'Unindexed' ? /not indexed/ : /proxy was upgraded/)
  },
)

test('refuses a contract with doubts if the node has pruned the state', async () => {
  const contract = await deploy(anvil, 'Unindexed')
  await contract.send('mint', person(1), 1n)
  const { url } = await proxy({
    answer: ({ method, params }) =>
      /^eth_(call|getCode)$/.test(method) && params[1] !== 'latest'
        ? { error: { code: -32_000, message: 'missing trie node' } }
        : undefined,
  })
  const result = await latest(contract.address, [], url)
  expect([result.code, result.stdout]).toEqual([5, ''])
  expect(result.stderr).toContain('does not have the state of the block')
})

test('prints the holders without a check, and says so, if the node has pruned the state', async () => {
  const { url } = await proxy({
    answer: ({ method, params }) =>
      (method === 'eth_call' && params[1] !== 'latest') || (method === 'eth_getCode' && params[1] !== 'latest')
        ? { error: { code: -32_000, message: 'missing trie node' } }
        : undefined,
  })
  const result = await holders(contracts.Oz721.address, url, ['-o', 'csv'])
  expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('the balances were not checked') })
  const expected = await bruteForce(anvil, contracts.Oz721.address, { tokens: 910 }, block)
  expect(countsIn(result.stdout)).toEqual(expected)
}, 60_000)

test('names the block that needs an archive node if the node has pruned its logs', async () => {
  const { url } = await proxy({
    answer: ({ method }) =>
      method === 'eth_getLogs' ? { error: { code: 4444, message: 'pruned history unavailable' } } : undefined,
  })
  const result = await holders(contracts.Oz721.address, url, ['--json'])
  expect(result.code).toBe(5)
  expect(errorOf(result)).toMatchObject({
    message: expect.stringMatching(/has no logs of block 1 /),
    hint: expect.stringContaining('archive node that has block 1'),
  })
})

test('keeps an event of 2⁹⁶ tokens as a range', async () => {
  const bomb = await deploy(anvil, 'Bomb', person(1))
  await bomb.send('move', person(2))
  const result = await latest(bomb.address, ['-o', 'csv'])
  expect(result).toMatchObject({ code: 0 })
  expect(result.stdout).toBe(
    `receiver,count,token_ids\r\n${person(1)},${2n ** 96n - 1n},1-6 8-${2n ** 96n}\r\n${person(2)},1,7\r\n`,
  )
})

test('chooses by --min, --exclude, --token-id, --per token and --sample', async () => {
  const { dir, env } = await tempHome()
  const { address } = contracts.Oz1155
  const rows = async (...flags: string[]) => {
    const result = await holders(address, anvil.url, ['--json', ...flags], { env })
    expect(result).toMatchObject({ code: 0 })
    return JSON.parse(result.stdout) as Row[]
  }
  const all = await rows()
  expect(all.map(({ count }) => Number(count))).toEqual(all.map(({ count }) => Number(count)).sort((a, b) => b - a))
  expect(all[0]).toMatchObject({ block_number: block, block_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
  expect(await rows('--min', '40')).toEqual(all.filter(({ count }) => Number(count) >= 40))
  const [first, second, third] = all.map(({ receiver }) => receiver)
  const file = join(dir, 'team.csv')
  await writeFile(file, `\uFEFFreceiver,count\r\n"${first}",1\r\n${second?.toLowerCase()},1\r\n\r\n`)
  expect(await rows('--exclude', file, '--exclude', String(third))).toEqual(all.slice(3))
  const others = ['--exclude', String(first), '--exclude', `0x${'9'.repeat(40)}`]
  const { stderr } = await holders(address, anvil.url, others, { env })
  expect(stderr).toContain('Excluded 2 addresses.\n')
  expect(stderr).toContain("1 of the excluded addresses isn't a holder.\n")
  const ofToken = await rows('--token-id', '3')
  expect(ofToken.every(({ token_ids }) => token_ids?.join() === '3')).toBe(true)
  const perToken = await rows('--per', 'token')
  expect(perToken.length).toBe(all.flatMap(({ token_ids = [] }) => token_ids).length)
  const sum = (list: Row[]) => list.reduce((total, { count }) => total + BigInt(count), 0n)
  expect(sum(perToken)).toBe(sum(all))
  const drawn = await rows('--sample', '5', '--seed', 'a')
  expect(drawn).toHaveLength(5)
  expect(await rows('--sample', '5', '--seed', 'a')).toEqual(drawn)
  expect(await rows('--sample', '5', '--seed', 'b')).not.toEqual(drawn)
}, 60_000)

test('takes the last block that is not later than --at', async () => {
  const at = async (number: number) => {
    const found = await anvil.request<{ timestamp: Hex }>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
    return Number(found.timestamp)
  }
  const expected = block - 20
  const time = await at(expected)
  let last = expected
  while ((await at(last + 1)) <= time) last += 1
  const iso = new Date(time * 1000).toISOString().slice(0, 19)
  const result = await latest(contracts.Oz20.address, ['--at', `${iso}Z`, '--json'])
  expect((JSON.parse(result.stdout) as Row[])[0]).toMatchObject({ block_number: last })
})

test.each([
  [
    'a contract that is no token',
    async () => (await deploy(anvil, 'NoToken')).address,
    [],
    /is not an ERC-721, ERC-1155 or ERC-20 contract/,
  ],
  ['an address without code', async () => person(0), [], /has no code at block/],
  [
    'a block that does not exist yet',
    async () => contracts.Oz20.address,
    ['--block', '99999999'],
    /is at block \d+, so it does not have block 99999999/,
  ],
  [
    'a time in the future',
    async () => contracts.Oz20.address,
    ['--at', '2999-01-01'],
    /is later than the newest block/,
  ],
  [
    'a time before the chain',
    async () => contracts.Oz20.address,
    ['--at', '1999-01-01'],
    /is earlier than the first block/,
  ],
  ['a day that does not exist', async () => contracts.Oz20.address, ['--at', '2026-02-30'], /must be a time in UTC/],
  ['--seed without --sample', async () => contracts.Oz20.address, ['--seed', 'x'], /requires --sample/],
  ['--per of ERC-20', async () => contracts.Oz20.address, ['--per', 'token'], /has no token IDs/],
  [
    'a file that does not exist',
    async () => contracts.Oz20.address,
    ['--exclude', 'nothing.csv'],
    /is neither an address nor a file/,
  ],
] as const)('rejects %s with exit code 2', async (_what, contract, flags, message) => {
  const result = await latest(await contract(), [...flags])
  expect([result.code, result.stdout]).toEqual([2, ''])
  expect(result.stderr).toMatch(message)
})

test('names line and column of a wrong address to exclude', async () => {
  const dir = await temporaryFolder('gdn-exclude-')
  const file = join(dir, 'team.csv')
  await writeFile(file, `receiver\n${person(1)}\n  0x12\u001b[31m\n`)
  const result = await latest(contracts.Oz20.address, ['--exclude', file])
  expect(result.code).toBe(2)
  expect(result.stderr).toContain(`${file}:3:1: `)
  expect(result.stderr).not.toContain('\u001b')
})

test('never shows the key in an RPC URL', async () => {
  const { url } = await proxy({
    answer: ({ method }) =>
      method === 'eth_getLogs' ? { error: { code: -32_000, message: 'no: k3y-s3cr3t-0123456789' } } : undefined,
  })
  const result = await holders(contracts.Oz20.address, `${url}/v2/k3y-s3cr3t-0123456789`, ['--debug'])
  expect(result.code).toBe(6)
  expect(result.stderr).not.toContain('k3y-s3cr3t')
})
