/** @module-tag slow */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { enterCollections } from '../../helpers/known-collections.ts'
import { chain, token, URI } from '../chain/fake-chain.ts'
import { CONTRACT, fakeApi, knows, nft, OWNER, type Reply } from '../fake-api.ts'
import { type CliOptions, cli, errorOf, tempHome } from '../harness.ts'

const env = { GDN_API_KEY: 'key' }
const OTHER = '0x1111111111111111111111111111111111111111'
const A = nft('a', {
  metadata_url: `${URI}/0.json`,
  request_metadata: { title: 'Dawn', description: 'first', file_fields: [] },
})
const AS_ORDERED = { 1: token(1, 'Dawn', 'first') }

/** A getisgdnnft of a service that minted this NFT, for this owner on Polygon only. */
const says = (record: ReturnType<typeof nft>) => (request: Record<string, unknown>) => {
  const { receiver_wallet_address, blockchain, nft_gdn_ids } = request
  const isgdnnft = receiver_wallet_address === record.receiver_wallet_address && blockchain === 'polygon'
  const { request_metadata: _metadata, metadata_url: _url, ...seen } = record
  return {
    body: {
      requests: { receiver_wallet_address, blockchain, nft_gdn_id: nft_gdn_ids },
      response: { isgdnnft, ...(isgdnnft ? { nft: seen } : {}) },
    },
  }
}

const api = (more: Record<string, (body: never) => Reply> = {}, record = A) =>
  fakeApi({ getnfts: knows(record) as never, getisgdnnft: says(record) as never, ...more })

const verify = ({ url }: { url: string }, argv: readonly string[], options: CliOptions = {}) =>
  cli(['nft', 'verify', 'a', '--base-url', url, ...argv], { ...options, env: { ...env, ...options.env } })

test('looks up owner and blockchain, and exits with 0 and the record for an NFT of the service', async () => {
  const server = await api()
  const { code, stdout, stderr } = await verify(server, ['-b', 'polygon', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({
    nft_gdn_id: 'a',
    isgdnnft: true,
    token_id: '1',
    status: 'deployed',
    contract_address: CONTRACT,
    receiver_wallet_address: OWNER,
    blockchain: 'polygon',
  })
  expect(server.bodies('getisgdnnft')).toEqual([
    { receiver_wallet_address: OWNER, blockchain: 'polygon', nft_gdn_ids: ['a'] },
  ])
})

test('a person reads that only the server was asked', async () => {
  const { stderr } = await verify(await api(), ['-b', 'polygon'])
  expect(stderr).toContain('The chain, the metadata and the files were not read.')
  expect(stderr).toContain('add --on-chain.')
})

test.each([['--owner'], ['--receiver'], ['--receiver-wallet-address']])(
  'looks up nothing if %s and the blockchain are given',
  async (flag) => {
    const server = await fakeApi({ getisgdnnft: says(A) as never })
    expect((await verify(server, [flag, OWNER, '-b', 'polygon'])).code).toBe(0)
    expect(server.calls).toHaveLength(1)
  },
)

test('exits with 5 for an NFT of another owner, and still prints the record', async () => {
  const server = await fakeApi({ getisgdnnft: says(A) as never })
  const result = await verify(server, ['--owner', OTHER, '-b', 'polygon', '--json'])
  expect(result.code).toBe(5)
  expect(JSON.parse(result.stdout)).toMatchObject({ isgdnnft: false, receiver_wallet_address: OTHER })
  expect(errorOf(result)).toMatchObject({ code: 'verify_failed', details: { nft_gdn_id: 'a', isgdnnft: false } })
})

describe('without confirmation, the error states only what the server says', () => {
  test('it names the current owner if the server does', async () => {
    const result = await verify(await api(), ['--receiver', OTHER, '-b', 'polygon', '--json'])
    expect(result.code).toBe(5)
    // The server created it, also if it belongs to another owner.
    expect(JSON.parse(result.stdout)).toMatchObject({ isgdnnft: true, receiver_wallet_address: OWNER })
    const { message, details } = errorOf(result)
    expect(message).toBe(`the server doesn't confirm that ${OTHER} owns a on polygon: the owner is ${OWNER}`)
    expect(details).toMatchObject({ receiver_wallet_address: OTHER, isgdnnft: true, current_owner: OWNER })
  })

  test('it keeps the first response if the server fails to say whether it created the NFT', async () => {
    const forOwner = (request: Record<string, unknown>) =>
      request.receiver_wallet_address === OWNER ? { status: 403, body: {} } : says(A)(request)
    const server = await api({ getisgdnnft: forOwner as never })
    const result = await verify(server, ['--receiver', OTHER, '-b', 'polygon', '--json'])
    expect(result.code, result.stderr).toBe(5)
    expect(JSON.parse(result.stdout)).toMatchObject({ isgdnnft: false, receiver_wallet_address: OWNER })
    expect(errorOf(result)).toMatchObject({ code: 'verify_failed', details: { isgdnnft: false, current_owner: OWNER } })
  })

  test.each<[string, (stop: () => Reply) => Record<string, (body: never) => Reply>]>([
    ['reads the record', (stop) => ({ getnfts: stop })],
    [
      'asks for the current owner',
      (stop) => ({
        getisgdnnft: ((request: Record<string, unknown>) =>
          request.receiver_wallet_address === OWNER ? stop() : says(A)(request)) as never,
      }),
    ],
  ])('it is not reported if the user interrupts the command while it %s', async (_, more) => {
    const stop = new AbortController()
    const interrupt = () => {
      stop.abort(new GdnError('interrupted', 'interrupted'))
      return { status: 403, body: {} }
    }
    const argv = ['--receiver', OTHER, '-b', 'polygon', '--json']
    const result = await verify(await api(more(interrupt)), argv, { signal: stop.signal })
    expect([result.stdout, errorOf(result).code]).toEqual(['', 'interrupted'])
  })

  test.each<[string, Record<string, (body: never) => Reply>, string[]]>([
    ['the server has no record', { getnfts: () => ({ body: { nfts: [] } }) }, ['--receiver', OTHER, '-b', 'polygon']],
    [
      "the record can't be read",
      { getnfts: () => ({ status: 404, body: {} }) },
      ['--receiver', OTHER, '-b', 'polygon'],
    ],
    ['the blockchain differs', {}, ['--receiver', OWNER, '-b', 'base']],
  ])('it names both causes if %s', async (_, more, argv) => {
    const { code, stderr } = await verify(await api(more), argv)
    expect(code).toBe(5)
    expect(stderr).toContain("the server doesn't confirm that")
    expect(stderr).toContain("The server didn't create the NFT, or its owner or blockchain differs.")
  })
})

test('takes the blockchain from a collection created on this machine, as nft show does', async () => {
  const { dir, env: home } = await tempHome()
  const server = await api()
  await enterCollections(join(dir, 'state'), { origin: server.url, contract_address: CONTRACT })
  const options = { env: { ...home, GDN_STATE_DIR: join(dir, 'state') } }
  expect((await verify(server, ['-q'], options)).code).toBe(0)
  const showResult = await cli(['nft', 'show', 'a', '--base-url', server.url, '--json'], {
    env: { ...env, ...options.env },
  })
  expect(JSON.parse(showResult.stdout)).toEqual({ ...A, blockchain: 'polygon' })
})

test('names --blockchain if nothing provides the blockchain', async () => {
  const server = await fakeApi({ getnfts: knows(A) as never })
  const { code, stderr } = await verify(server, [])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--blockchain') })
})

test.each<[string, string[], string]>([
  ['an address with a flipped letter', ['--owner', OWNER.replace('B', 'b'), '-b', 'polygon'], '--receiver'],
  ['Solana', ['--on-chain', '-b', 'solana'], '--on-chain'],
  ['a URL without --on-chain', ['-b', 'polygon', '--rpc-url', 'http://127.0.0.1:9'], '--rpc-url'],
  ['a second NFT in a flag', ['--nft-gdn-id', 'b', '-b', 'polygon'], '--nft-gdn-id'],
])('rejects %s with exit code 2 before anything is sent', async (_, argv, flag) => {
  const server = await fakeApi({})
  const { code, stderr } = await verify(server, argv)
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(flag) })
  expect(server.calls).toEqual([])
})

describe('--on-chain', () => {
  const flags = ['-b', 'polygon', '--on-chain']

  test('exits with 0 if owner, token URI and metadata match the service', { tags: ['promise'] }, async () => {
    const { code, stdout } = await verify(await api(chain(AS_ORDERED)), [...flags, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ isgdnnft: true, verified: true, verify_error: null, differences: [] })
  })

  test('a person reads that no file was read', async () => {
    const { code, stderr } = await verify(await api(chain(AS_ORDERED)), flags)
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(
        'Its files were not checked. To check the files of all tokens, run `gdn collection check`',
      ),
    ])
  })

  test.each<[string, Parameters<typeof token>[3], string]>([
    ['another owner', { owner: OTHER }, `owner is ${OTHER}, not ${OWNER}`],
    ['another token URI', { uri: `${URI}/9.json` }, `token URI is ${URI}/9.json, not ${URI}/0.json`],
    ['other metadata', { metadata: { name: 'Dust', description: 'first' } }, 'name is Dust, not Dawn'],
  ])('exits with 5 and reports %s', async (_, more, message) => {
    const result = await verify(await api(chain({ 1: token(1, 'Dawn', 'first', more) })), [...flags, '--json'])
    expect(result.code).toBe(5)
    expect(errorOf(result)).toMatchObject({ code: 'verify_failed', message: expect.stringContaining(message) })
    expect(JSON.parse(result.stdout)).toMatchObject({ isgdnnft: true, verified: false, verify_error: message })
    expect(JSON.parse(result.stdout).differences).toHaveLength(1)
  })

  test('in a terminal, names a difference only in the error, and not in the record above it', async () => {
    const server = await api(chain({ 1: token(1, 'Dawn', 'first', { owner: OTHER }) }))
    const { stdout, stderr } = await verify(server, flags, { tty: true, columns: 200 })
    expect(stderr).toContain(OTHER)
    expect(stdout).toMatch(/^VERIFIED +no$/m)
    expect(stdout).not.toContain(OTHER)
  })

  test("exits with 6 if the chain can't be read, and leaves the NFT unverified", async () => {
    const result = await verify(await api(), [...flags, '--json'])
    expect(result.code).toBe(6)
    expect(errorOf(result)).toMatchObject({ message: expect.stringContaining('--rpc-url') })
    expect(JSON.parse(result.stdout)).toMatchObject({ isgdnnft: true, verified: null })
  })

  test('names the flag and the address of a node that does not respond once, and how to continue', async () => {
    const result = await verify(await api(), [...flags, '--rpc-url', 'http://127.0.0.1:9', '--json'])
    expect(result.code).toBe(6)
    expect(errorOf(result)).toMatchObject({
      message: '--rpc-url: nothing listens at http://127.0.0.1:9',
      hint: 'Try again, or configure another RPC URL.',
    })
  })

  test('reports a storage error', async () => {
    const { '/rpc/polygon': rpc } = chain(AS_ORDERED)
    const gateway = await fakeApi({ [`/ipfs/${URI.slice(7)}/0.json`]: () => ({ status: 403, body: {} }) })
    const server = await api({ '/rpc/polygon': rpc as never })
    const result = await verify(server, [...flags, '--gateway', gateway.url, '--json'])
    expect(result.code).toBe(6)
    expect(errorOf(result).message).toContain('its metadata')
    expect(errorOf(result).message).toContain('HTTP 403')
  })

  test('exits with 8 for an NFT without a token', async () => {
    const initiated = nft('a', { token_id: null, status: 'initiated' })
    const result = await verify(await api({}, initiated), flags)
    expect(result).toMatchObject({ code: 8, stderr: expect.stringContaining('gdn nft wait a') })
  })
})

test('reads a token of a contract from the server and blockchain of the environment, as of the flags', async () => {
  const verify = async (flags: string[], env: NodeJS.ProcessEnv = {}) => {
    const argv = ['nft', 'verify', `${OWNER}/1`, '--on-chain', '--json', ...flags]
    const home = await tempHome()
    const { code, stdout, stderr } = await cli(argv, { env: { ...home.env, ...env } })
    return [code, stdout, stderr]
  }
  const url = 'http://127.0.0.1:9'
  const expected = await verify(['-b', 'polygon', '--base-url', url])
  expect(expected).not.toEqual(await verify(['-b', 'polygon']))
  expect(await verify([], { GDN_BLOCKCHAIN: 'polygon', GDN_BASE_URL: url })).toEqual(expected)
  expect(await verify([], { GDN_BLOCKCHAIN: 'polygon', GDN_PROFILE: 'local' })).toEqual(
    await verify(['-b', 'polygon', '--profile', 'local']),
  )
})
