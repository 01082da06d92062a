import { afterEach, describe, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { compilerVersion, type DeployedContract, standardInput } from '../../../src/server/setup/verify/contracts.ts'
import { createEtherscan } from '../../../src/server/setup/verify/etherscan.ts'
import { createSourcify } from '../../../src/server/setup/verify/sourcify.ts'
import type { SourceVerifier } from '../../../src/server/setup/verify/verifier.ts'
import { WALLETS } from '../../helpers/backend.ts'
import { type HttpServer, type Reply, type SeenRequest, startHttpServer } from '../../helpers/http-server.ts'

const KEY = 'ETHERSCANKEY0123456789ABCDEFGHIJKL'
const ADDRESS = WALLETS[0] as Hex
const FACTORY: DeployedContract = {
  name: 'GdnFactory',
  identifier: 'GdnFactory.sol:GdnFactory',
  address: ADDRESS,
  constructorArguments: '0x1234',
  creationTransaction: `0x${'11'.repeat(32)}`,
}
const HOSTILE = `no match \u001b[2J ${KEY} ${'why '.repeat(1250)}`

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})

/** The replies in this order, then the last one again. */
async function serve(replies: Reply[]): Promise<HttpServer> {
  const server = await startHttpServer(replies)
  opened.push(server)
  return server
}

function keep(verifier: SourceVerifier): SourceVerifier {
  opened.unshift(verifier)
  return verifier
}

const { signal } = new AbortController()
const common = { chainId: 137, signal, pollMs: 5 }
const sourcify = ({ url }: HttpServer, more: object = {}) => keep(createSourcify({ url, ...common, ...more }))
const etherscan = ({ url }: HttpServer, more: object = {}) =>
  keep(createEtherscan({ url, ...common, key: new Secret(KEY), explorerUrl: 'https://scan.example/', ...more }))

const paths = (seen: readonly SeenRequest[]) => seen.map(({ method, path }) => `${method} ${path}`)

describe('Sourcify', () => {
  const unknown: Reply = { status: 404, json: { match: null, chainId: '137', address: ADDRESS } }
  const accepted: Reply = { status: 202, json: { verificationId: 'job/1' } }
  const pending: Reply = { json: { isJobCompleted: false, verificationId: 'job/1' } }
  const completed = (more: object): Reply => ({ json: { isJobCompleted: true, ...more } })
  const exact: Reply = { json: { match: 'exact_match' } }

  it('gets the sources, and the verdict is waited for', async () => {
    const server = await serve([unknown, accepted, pending, pending, completed({ contract: { match: 'exact_match' } })])
    expect(await sourcify(server).verify(FACTORY)).toEqual({
      ...{ status: 'verified', match: 'exact', message: null },
      url: `${server.url}/v2/contract/137/${ADDRESS}`,
    })
    expect(paths(server.seen)).toEqual([
      `GET /v2/contract/137/${ADDRESS}`,
      `POST /v2/verify/137/${ADDRESS}`,
      ...Array.from({ length: 3 }, () => 'GET /v2/verify/job%2F1'),
    ])
    expect(JSON.parse(server.seen[1]?.body.toString() ?? '')).toEqual({
      stdJsonInput: JSON.parse(standardInput),
      compilerVersion,
      contractIdentifier: 'GdnFactory.sol:GdnFactory',
      creationTransactionHash: FACTORY.creationTransaction,
    })
  })

  it.each<[string, Reply[], object]>([
    ['it is verified exactly', [exact], { status: 'already_verified', match: 'exact' }],
    [
      'it is verified by then',
      [unknown, { status: 409, json: { customCode: 'already_verified' } }, exact],
      { status: 'already_verified', match: 'exact' },
    ],
    [
      'nothing better is found',
      [
        { json: { match: 'match' } },
        accepted,
        completed({ error: { customCode: 'already_verified' } }),
        { json: { match: 'match' } },
      ],
      { status: 'already_verified', match: 'partial' },
    ],
    [
      'another submission runs',
      [
        unknown,
        { status: 429, json: { customCode: 'duplicate_verification_request' } },
        { status: 429, text: '' },
        accepted,
        completed({ contract: { match: 'match' } }),
      ],
      { status: 'verified', match: 'partial' },
    ],
    [
      'the service fails at first',
      [
        { status: 502, text: '<html>' },
        unknown,
        { status: 500, json: {} },
        'drop',
        accepted,
        completed({ contract: { match: 'exact_match' } }),
      ],
      { status: 'verified' },
    ],
  ])('succeeds if %s', async (_, replies, verdict) => {
    const server = await serve(replies)
    expect(await sourcify(server).verify(FACTORY)).toMatchObject(verdict)
    expect(server.seen).toHaveLength(replies.length)
  })

  it.each<[string, Reply[], RegExp]>([
    [
      'the code differs',
      [
        unknown,
        accepted,
        completed({ error: { customCode: 'no_match', message: 'The bytecodes differ.' }, contract: { match: null } }),
      ],
      /^The bytecodes differ\.$/,
    ],
    ['it names no reason', [unknown, accepted, completed({ contract: {} })], /^the service returned no reason$/],
    [
      'its reason is hostile',
      [unknown, accepted, completed({ error: { message: HOSTILE } })],
      /^no match {2}\[2J \[redacted\] why [why ]+…$/,
    ],
    [
      'its reason is no text',
      [unknown, accepted, completed({ error: { message: { toString: 1 } } })],
      /^\{"toString":1\}$/,
    ],
    [
      'it does not have the chain',
      [unknown, { status: 404, json: { customCode: 'unsupported_chain', message: 'Chain 137 not found' } }],
      /^Chain 137 not found$/,
    ],
    ['it accepts without a job', [unknown, { status: 202, json: {} }], /^the service returned no reason$/],
  ])('rejects if %s', async (_, replies, message) => {
    const knows = new Secret(KEY)
    const verdict = await sourcify(await serve(replies)).verify(FACTORY)
    expect(verdict).toMatchObject({ status: 'rejected', match: null, url: null })
    expect(verdict.message).toMatch(message)
    expect(verdict.message?.length).toBeLessThanOrEqual(201)
    expect(String(knows)).toBe('[redacted]')
  })

  it.each<[string, Reply]>([
    ['always fails', { status: 500, text: '' }],
    ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:1' } }],
    ['returns a page', { text: '<html>' }],
    ['returns a list', { json: [] }],
  ])('is unreachable if it %s', async (_, reply) => {
    const server = await serve([reply])
    await expect(sourcify(server).verify(FACTORY)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(new RegExp(`^${new URL(server.url).host} does not respond as expected: `)),
    })
    expect(server.seen).toHaveLength(5)
  })

  it('is tried twice if it refuses connections, and the first failure is announced', async () => {
    const server = await serve([])
    await server.close()
    const said: string[] = []
    const verifying = sourcify(server, { onRetry: (why: string) => void said.push(why) }).verify(FACTORY)
    const why = `${new URL(server.url).host} cannot be reached: connect ECONNREFUSED ${new URL(server.url).host}`
    await expect(verifying).rejects.toMatchObject({ code: 'unreachable', message: why })
    expect(said).toEqual([why])
  })

  it('is not waited for after the time is up', async () => {
    const late = new AbortController()
    const server = await serve([unknown, accepted, pending])
    const verdict = sourcify(server, { signal: late.signal }).verify(FACTORY)
    const waited = expect(verdict).rejects.toThrow('time is up')
    while (server.seen.length < 4) await new Promise((resolve) => setTimeout(resolve, 5))
    late.abort(new Error('time is up'))
    await waited
  })
})

describe('Etherscan', () => {
  const ok = (result: string): Reply => ({ json: { status: '1', message: 'OK', result } })
  const no = (result: string): Reply => ({ json: { status: '0', message: 'NOTOK', result } })
  const pending = no('Pending in queue')

  it('gets the sources and the chain, and the verdict is waited for', async () => {
    const server = await serve([ok('guid-1'), pending, pending, ok('Pass - Verified')])
    expect(await etherscan(server).verify(FACTORY)).toEqual({
      ...{ status: 'verified', match: null, message: null },
      url: `https://scan.example/address/${ADDRESS}#code`,
    })
    expect(server.seen.map(({ method, path }) => [method, path.slice(0, 14)])).toEqual([
      ['POST', '/?chainid=137'],
      ...Array.from({ length: 3 }, () => ['GET', '/?chainid=137&']),
    ])
    const form = Object.fromEntries(new URLSearchParams(server.seen[0]?.body.toString()))
    expect(form).toMatchObject({
      ...{ module: 'contract', action: 'verifysourcecode', apikey: KEY, contractaddress: ADDRESS },
      ...{ sourceCode: standardInput, codeformat: 'solidity-standard-json-input' },
      ...{ contractname: 'GdnFactory.sol:GdnFactory', compilerversion: `v${compilerVersion}` },
      constructorArguments: '1234',
    })
    const query = new URL(server.seen[1]?.path ?? '', server.url).searchParams
    expect(Object.fromEntries(query)).toEqual({
      ...{ chainid: '137', module: 'contract', action: 'checkverifystatus', guid: 'guid-1', apikey: KEY },
    })
  })

  it.each<[string, Reply[], object]>([
    ['it is verified', [no('Contract source code already verified')], { status: 'already_verified' }],
    ['it is verified by then', [ok('g'), no('Already Verified')], { status: 'already_verified' }],
    [
      'the contract is not indexed yet',
      [no(`Unable to locate ContractCode at ${ADDRESS}`), ok('g'), ok('Pass - Verified')],
      { status: 'verified' },
    ],
    [
      'the rate limit is exceeded',
      [
        no('Max rate limit reached'),
        ok('g'),
        no('Max calls per sec rate limit reached (3/sec)'),
        ok('Pass - Verified'),
      ],
      { status: 'verified' },
    ],
    [
      'the service fails at first',
      [{ status: 503, text: '' }, ok('g'), 'drop', ok('Pass - Verified')],
      { status: 'verified' },
    ],
  ])('succeeds if %s', async (_, replies, verdict) => {
    const server = await serve(replies)
    expect(await etherscan(server).verify(FACTORY)).toMatchObject(verdict)
    expect(server.seen).toHaveLength(replies.length)
  })

  it.each<[string, Reply[], RegExp]>([
    [
      'the code differs',
      [ok('g'), no('Fail - Unable to verify. Compiled contract deployment bytecode does NOT match')],
      /^Fail - Unable to verify/,
    ],
    ['the chain needs another plan', [no('Free API access is not supported for this chain')], /^Free API access/],
    ['its reason is no text', [no({ toString: 1 } as never)], /^\{"toString":1\}$/],
    ['its reason is hostile', [no(HOSTILE)], /^no match {2}\[2J \[redacted\] why [why ]+…$/],
    ['its reason spells the key with spaces', [no(`no ${[...KEY].join(' ')}`)], /^\[redacted\]$/],
    ['its reason spells the key with hyphens', [no(`no ${[...KEY.toLowerCase()].join('-\n')}`)], /^\[redacted\]$/],
    ['its reason has the key backwards', [no([...KEY].reverse().join('.'))], /^\[redacted\]$/],
  ])('rejects if %s', async (_, replies, message) => {
    const verdict = await etherscan(await serve(replies)).verify(FACTORY)
    expect(verdict).toMatchObject({ status: 'rejected', message: expect.stringMatching(message) })
  })

  it('is not asked about a factory whose deployment is unknown', async () => {
    const server = await serve([ok('g')])
    const verdict = await etherscan(server).verify({ ...FACTORY, constructorArguments: null })
    expect(verdict).toMatchObject({ status: 'rejected', message: expect.stringContaining('--creation-tx') })
    expect(server.seen).toEqual([])
  })

  it.each(['Invalid API Key (#err2)|POLYGON', 'Missing/Invalid API Key'])(
    'names the key that it rejects: %s',
    async (text) => {
      const server = await serve([no(`${text} ${KEY}`)])
      await expect(etherscan(server).verify(FACTORY)).rejects.toMatchObject({
        code: 'unauthorized',
        message: `${new URL(server.url).host} rejected the key in --etherscan-key-file or GDN_ETHERSCAN_KEY`,
      })
    },
  )

  it('has its key in no error', async () => {
    const server = await serve(['drop'])
    const error = await etherscan(server)
      .verify(FACTORY)
      .catch((thrown: Error) => thrown)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).cause)).not.toContain(KEY)
    expect(error).toMatchObject({ code: 'unreachable' })
  })
})
