/** @module-tag slow */
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { COMMANDS } from '../../src/cli/catalogue.ts'
import type { Deps } from '../../src/cli/deps.ts'
import { Ledger } from '../../src/cli/mcp/spending.ts'
import type { ToolResponse } from '../../src/cli/mcp/tool-response.ts'
import { writeKeystore, writePassword } from '../helpers/keystore-file.ts'
import { openMcpSession } from '../helpers/mcp-session.ts'
import { CSV, folder, service, TARGET } from './batch/drop.ts'
import { api, collectionNode, MINT, type Prepared, rpcRoute, SCENARIOS, withServer } from './contract/scenarios.ts'
import { announce, CONTRACT, fakeApi, knows, nft, OWNER, type Reply } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

/** A service that stops a run before its first row: it rejects the key. */
async function stoppedRun(): Promise<Prepared> {
  const { path, options } = await folder({ 'drop.csv': CSV })
  let isStopped = false
  const { createnft, getnfts } = service()
  const { url } = await api({
    getnfts,
    createnft(body: never): Reply {
      if (isStopped) return createnft(body)
      isStopped = true
      return { status: 403, body: { error: { title: 'Forbidden', message: 'not yet' } } }
    },
  })
  const at = ['--base-url', url, '--rate', '1000']
  const { code } = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...at, '-q'], options)
  expect(code).toBe(4)
  return { argv: ['batch', 'resume', 'drop', ...at], options }
}

/** A collection whose chain is behind the server. */
async function collectionOnServer(): Promise<Prepared> {
  const { path, options } = await folder()
  const key = generatePrivateKey()
  await writeKeystore(path('owner.json'), key)
  await writePassword(path('password'))
  const { url } = await api({ '/rpc/polygon': rpcRoute(collectionNode(privateKeyToAccount(key).address)) })
  const wallet = ['--wallet', path('owner.json'), '--password-file', path('password')]
  return {
    argv: ['collection', 'set', CONTRACT, '-b', 'polygon', '--base-url', url, '--royalty', '5%', ...wallet],
    options,
  }
}

/** A request by `gdn api`. */
async function rawRequest(request: object): Promise<Prepared> {
  const { path, options } = await folder({ 'request.json': JSON.stringify(request) })
  const { url } = await fakeApi({ '*': () => ({ body: {} }) })
  return { argv: ['api', 'createnft', '-f', path('request.json'), '--base-url', url], options }
}

/** The response of a backend that was restarted with a public network. */
const HAS_VALUE: Reply = {
  status: 412,
  headers: { 'error-code': 'blockchain_has_value' },
  body: { error: { title: 'Precondition Failed', message: 'the coins of polygon have value on this server' } },
}

/** Commands that send nothing in their scenario, or have none. */
const OWN: Readonly<Record<string, () => Promise<Prepared>>> = {
  'batch resume': stoppedRun,
  'collection set': collectionOnServer,
  api: () => rawRequest({ blockchain: 'polygon' }),
}
/** They don't send requests to a server, or are tested below and in test/reveal/reveal-backend.test.ts. */
const WITHOUT_SERVER = ['chain setup', 'tx bump', 'tx cancel', 'worker', 'serve', 'mcp', 'reveal']
/** They prompt everywhere, because they can't be undone. */
const FOR_GOOD = ['apply', 'nft freeze', 'nft burn']

const SPENDING = COMMANDS.filter(({ command, effect }) => effect === 'spend' && !WITHOUT_SERVER.includes(command))

/** Runs a command without `--yes` and without a terminal. Also returns the creating requests that it sent. */
async function unconfirmed(command: string, names: string | null, onCreating: () => Reply | null = () => null) {
  const prepare = OWN[command] ?? SCENARIOS[command]?.prepare
  if (prepare === undefined) throw new Error(`${command} has no scenario`)
  const { argv, options } = await prepare()
  const sentHeaders: (string | string[] | undefined)[] = []
  announce(names, ({ headers }) => {
    sentHeaders.push(headers['gdn-only-without-value'])
    return onCreating()
  })
  const result = await cli([...argv.filter((word) => word !== '--yes'), '--json'], options)
  return { ...result, sent: sentHeaders }
}

describe.each(SPENDING)('gdn $command', ({ command }) => {
  test.each([
    ['a server on this machine that announces nothing', null],
    ['a public network of a backend on this machine', 'base, solana'],
  ])('needs a confirmation on %s, and sends nothing without it', async (_what, names) => {
    const result = await unconfirmed(command, names)
    expect(result.sent).toEqual([])
    expect(result.code, result.stderr).toBe(3)
    expect(errorOf(result)).toMatchObject({ code: 'not_confirmed', hint: expect.stringContaining('--yes') })
  })
})

describe.each(SPENDING.filter(({ command }) => !FOR_GOOD.includes(command)))('gdn $command', ({ command }) => {
  test('needs no confirmation on an embedded chain of a backend on this machine', async () => {
    const { code, stderr, sent } = await unconfirmed(command, 'base, polygon')
    expect(code, stderr).toBe(0)
    // The settings of a collection are sent to its chain.
    if (command === 'collection set') return
    expect(sent.length).toBeGreaterThan(0)
    expect(new Set(sent)).toEqual(new Set(['yes']))
  })

  test.skipIf(command === 'collection set')(
    'is rejected without an effect if the coins have value by then',
    async () => {
      const result = await unconfirmed(command, '*', () => HAS_VALUE)
      expect(result.sent).toEqual(['yes'])
      expect(result.code, result.stderr).toBe(3)
      expect(errorOf(result)).toMatchObject({
        code: 'not_confirmed',
        message: expect.stringContaining('the coins of polygon have value on this server'),
      })
    },
  )
})

describe('a tool of gdn mcp that may not spend', () => {
  const { signal } = new AbortController()
  const deps = { env: {}, signals: { signal }, sleep: async () => {}, io: { note: () => {} } } as unknown as Deps

  const mint = (names: string | null, onCreating?: () => Reply | null) =>
    permitted(withServer(service(), ...MINT), names, onCreating)

  /** Runs a command as a tool does: with `--yes`, and as the session permits. */
  async function permitted(prepared: Promise<Prepared>, names: string | null, onCreating = (): Reply | null => null) {
    const { argv, options } = await prepared
    const sentHeaders: unknown[] = []
    announce(names, ({ headers }) => {
      sentHeaders.push(headers['gdn-only-without-value'])
      return onCreating()
    })
    const permit = new Ledger(null).permit(deps)
    return { ...(await cli([...argv, '--yes', '--json'], { ...options, permit })), sent: sentHeaders }
  }

  test.each([
    ['a server on this machine that announces nothing', null],
    ['a public network of a backend on this machine', 'base, solana'],
  ])('sends nothing on %s', async (_what, names) => {
    const result = await mint(names)
    expect([result.code, errorOf(result).code, result.sent]).toEqual([3, 'not_confirmed', []])
  })

  test('mints on an embedded chain of a backend on this machine, unless its coins have value by then', async () => {
    expect(await mint('polygon')).toMatchObject({ code: 0, sent: ['yes'] })
    const result = await mint('polygon', () => HAS_VALUE)
    expect([result.code, errorOf(result).code, result.sent]).toEqual([3, 'not_confirmed', ['yes']])
  })

  test('asks the server again at each call of a session, also for a plan that was free', async () => {
    const { path } = await folder({ 'project/a.txt': '' })
    const server = await fakeApi(service())
    const session = await openMcpSession({
      ...{ home: path(''), url: server.url, env: { GDN_API_KEY: 'key' }, maxCost: null },
    })
    onTestFinished(() => session.close())
    const values = { contract: CONTRACT, blockchain: 'polygon', receiver: OWNER, title: 'Dawn' }
    const plan = () => session.call('nft_mint', values)
    const make = ({ plan_id }: ToolResponse) => session.call('nft_mint', { dry_run: false, plan_id })
    announce('polygon')
    const [first, free] = [await plan(), await plan()]
    expect(await make(first)).toMatchObject({ status: 'ok' })
    announce('base')
    const planned = await plan()
    expect(JSON.stringify(planned)).toContain('The coins of polygon have value.')
    for (const one of [planned, free]) expect((await make(one)).error?.code).toBe('not_confirmed')
    expect(server.bodies('createnft')).toHaveLength(1)
  })

  test.each([
    ['the blockchain', ['-b', 'base']],
    ['the collection', ['-c', OWNER, '-b', 'polygon']],
  ])('transfers nothing if it states %s of the NFT otherwise', async (_what, lie) => {
    const getnfts = knows(nft('a', { blockchain: 'polygon' }))
    const argv = ['nft', 'transfer', 'a', '--receiver', CONTRACT, ...lie]
    const result = await permitted(withServer({ getnfts }, ...argv), 'polygon, base')
    expect(errorOf(result).message).toBe('spending on an unknown blockchain is not allowed')
    expect(result.sent).toEqual([])
  })
})

test('believes no server on another machine', async () => {
  const { options } = await folder()
  const argv = ['nft', 'mint', ...TARGET, '--receiver', OWNER, '--title', 'x', '--base-url', 'https://not-here.invalid']
  const result = await cli([...argv, '--json'], options)
  expect(errorOf(result)).toMatchObject({ code: 'not_confirmed' })
})

test.each([
  ['names no blockchain', {}],
  ['names one that is misspelled', { blockchain: 'polygn' }],
])('counts a raw request that %s as one for a public network, if the server has any', async (_what, request) => {
  const { argv, options } = await rawRequest(request)
  announce('polygon')
  expect(errorOf(await cli([...argv, '--json'], options)).code).toBe('not_confirmed')
  announce('*')
  expect((await cli([...argv, '--json'], options)).code).toBe(0)
})

test('reports a server that does not respond, and does not prompt', async () => {
  const { options } = await folder()
  const { url } = await fakeApi({ '*': () => ({ status: 502, body: {} }) })
  const argv = ['nft', 'mint', ...TARGET, '--receiver', OWNER, '--title', 'x', '--base-url', url]
  expect(errorOf(await cli([...argv, '--json'], options))).toMatchObject({ code: 'unreachable' })
})
