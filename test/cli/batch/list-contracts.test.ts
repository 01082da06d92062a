import { describe, expect, test } from 'vitest'
import { fakeApi, type Reply } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const PERSON = `0x${'5'.repeat(40)}`
const SAFE = `0x${'a1'.repeat(20)}`
const TOKEN_BOUND = `0x${'a2'.repeat(20)}`
const DELEGATED = `0x${'a3'.repeat(20)}`
const ERC4337 = `0x${'a4'.repeat(20)}`
const POOL = `0x${'a5'.repeat(20)}`
const OTHER = `0x${'a6'.repeat(20)}`
const DEAD = '0x000000000000000000000000000000000000dead'
const SEAPORT = '0x0000000000000068f116a894984e2db1123eb395'
const PROXY = '0x6080604052'
const SOLANA_TARGET = ['-c', 'Vote111111111111111111111111111111111111111', '-b', 'solana']

const CODE: Record<string, string> = {
  [SAFE]: PROXY,
  [TOKEN_BOUND]: `0x363d3d373d3d3d363d73${'b'.repeat(40)}5af43d82803e903d91602b57fd5bf3${'0'.repeat(256)}`,
  [DELEGATED]: `0xef0100${'b'.repeat(40)}`,
  [ERC4337]: PROXY,
  [POOL]: PROXY,
  [OTHER]: PROXY,
}
const RESULTS: Record<string, string> = {
  [`${SAFE} 0xa619486e`]: '41675c099f32341bf84bfc5382af534df5c7461a',
  [`${ERC4337} 0xb0d691fe`]: '0000000071727de22e5e9d8baf0edac6f37da032',
  [`${POOL} 0x0dfe1681`]: 'c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
}

interface Request {
  id: number
  method: string
  params: [string & { to: string; data: string }]
}

/** A node of the chain. A contract rejects a function that it doesn't have. */
function respond({ id, method, params: [first] }: Request) {
  if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: '0x89' }
  if (method === 'eth_getCode') return { jsonrpc: '2.0', id, result: CODE[first.toLowerCase()] ?? '0x' }
  const result = RESULTS[`${first.to.toLowerCase()} ${first.data}`]
  if (result !== undefined) return { jsonrpc: '2.0', id, result: `0x${result.padStart(64, '0')}` }
  return { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted' } }
}
const node = (body: never): Reply => ({
  body: Array.isArray(body) ? (body as Request[]).map(respond) : respond(body as Request),
})

async function mint(receivers: readonly string[], flags: readonly string[], more: Parameters<typeof fakeApi>[0] = {}) {
  const row = JSON.stringify({ title: 'Ticket', description: 'x' })
  const { path, options } = await folder({ 'row.json': row, 'list.csv': `receiver\n${receivers.join('\n')}\n` })
  const api = await fakeApi(more)
  const argv = ['batch', 'mint', path('row.json'), '--to', path('list.csv'), '--base-url', api.url, '--json', ...flags]
  const result = await cli(argv, options)
  const { notes = [] } = result.stdout === '' ? {} : (JSON.parse(result.stdout) as { notes?: string[] })
  const bodies = api.bodies('createnft') as { receiver_wallet_address: string }[]
  return { ...result, notes, receivers: bodies.map((one) => one.receiver_wallet_address.toLowerCase()).sort() }
}

const ALL = [PERSON, SAFE, TOKEN_BOUND, DELEGATED, ERC4337, POOL, OTHER, DEAD, SEAPORT]

describe('receivers of a list that are contracts', () => {
  test('are named with their kinds before anything is sent', async () => {
    const { code, notes } = await mint(ALL, [...TARGET, '--dry-run'], { '/rpc/polygon': node })
    expect(code).toBe(0)
    const note = notes.find((text) => text.startsWith('8 receivers are contracts or burn addresses: '))?.toLowerCase()
    for (const [address, kind] of [
      [SAFE, 'safe'],
      [TOKEN_BOUND, 'erc-6551 account'],
      [DELEGATED, 'smart account, eip-7702'],
      [ERC4337, 'smart account, erc-4337'],
      [POOL, 'pool'],
      [OTHER, 'contract'],
      [DEAD, 'burn address'],
      [SEAPORT, 'marketplace'],
    ]) {
      expect(note).toContain(`${address} (${kind})`)
    }
    expect(note).not.toContain(PERSON)
  })

  test('get the NFT without --skip-contracts, and are left out with it', async () => {
    const handlers = () => ({ ...service(), '/rpc/polygon': node })
    expect((await mint([PERSON, SAFE, DEAD], TARGET, handlers())).receivers).toEqual([DEAD, PERSON, SAFE].sort())
    const { receivers, notes } = await mint([PERSON, SAFE, DEAD], [...TARGET, '--skip-contracts'], handlers())
    expect(receivers).toEqual([PERSON])
    expect(notes.join()).toContain('2 receivers are contracts or burn addresses (skipped): ')
  })

  test('cause an error if there are no other receivers', async () => {
    const result = await mint([SAFE], [...TARGET, '--skip-contracts'], { '/rpc/polygon': node })
    expect(result).toMatchObject({ code: 2, receivers: [] })
    expect(errorOf(result).message).toContain(
      'list.csv: has no receivers except contracts and burn addresses, which are skipped',
    )
  })

  test('are named once as unknown if no node can be read, which is an error with --skip-contracts', async () => {
    const { code, notes, receivers } = await mint([PERSON, SAFE], TARGET, service())
    expect({ code, receivers }).toEqual({ code: 0, receivers: [PERSON, SAFE].sort() })
    expect(notes.filter((text) => text.includes("didn't check whether receivers are contracts"))).toHaveLength(1)
    const refused = await mint([PERSON, SAFE], [...TARGET, '--skip-contracts'])
    expect(refused).toMatchObject({ code: 2, receivers: [] })
    expect(errorOf(refused)).toMatchObject({
      message: expect.stringMatching(/^--skip-contracts: receivers can't be checked: /),
      hint: expect.stringContaining('--rpc-url'),
    })
  })

  test('are read from the node at --rpc-url, whose key is never printed', async () => {
    const other = await fakeApi({ '/secret-of-node': node })
    const flags = [...TARGET, '--rpc-url', `${other.url}/secret-of-node`, '--skip-contracts']
    expect((await mint([PERSON, SAFE], flags, service())).receivers).toEqual([PERSON])
    const failing = await fakeApi({ '/secret-of-node': () => ({ status: 403, body: {} }) })
    const refused = await mint([PERSON], [...TARGET, '--rpc-url', `${failing.url}/secret-of-node`])
    expect(refused.code).not.toBe(0)
    expect(refused.stderr + refused.stdout).not.toContain('secret-of-node')
  })

  test("can't be left out on Solana", async () => {
    const refused = await mint([SOLANA_TARGET[1] ?? ''], [...SOLANA_TARGET, '--skip-contracts'])
    expect(refused).toMatchObject({ code: 2, receivers: [] })
    expect(errorOf(refused).message).toBe("--skip-contracts: receivers on solana can't be checked")
  })
})
