/** @module-tag slow */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freshDataDir, startTestBackend } from '../../helpers/backend.ts'
import { type Reply, type SeenRequest, startHttpServer } from '../../helpers/http-server.ts'
import { newWallet } from '../../helpers/rpc-wallets.ts'
import { folder, service, TARGET } from '../batch/drop.ts'
import { CONTRACT, fakeApi, nft, OWNER } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'

const KEY = 'opensea-key-of-this-test-4711'
const ACCEPTED: Reply = { json: 'queued' }
const tokenIn = ({ path }: SeenRequest) => /\/nfts\/(.+)\/refresh$/.exec(path)?.[1]

async function openSea(replies: Parameters<typeof startHttpServer>[0] = [ACCEPTED]) {
  const server = await startHttpServer(replies)
  onTestFinished(() => server.close())
  return { ...server, flags: ['--opensea-url', server.url, '--rate', '1000'], tokens: () => server.seen.map(tokenIn) }
}

async function home() {
  const { path, options } = await folder({ 'opensea.key': `${KEY}\n` })
  await chmod(path('opensea.key'), 0o600)
  const withKey: CliOptions = { ...options, env: { ...options.env, GDN_OPENSEA_KEY: KEY } }
  const refresh = async (argv: readonly string[], more: CliOptions = withKey) => {
    const result = await cli(['nft', 'refresh', ...argv], more)
    expect(result.stdout + result.stderr).not.toContain(KEY)
    return result
  }
  return { path, options, withKey, refresh }
}

describe('nft refresh', () => {
  test('sends nothing for an embedded chain, unless another server with the API of OpenSea is named', async () => {
    const { refresh, path, withKey } = await home()
    const api = await fakeApi({
      '*': () => ({
        headers: { 'blockchains-without-value': '*' },
        body: { requests: {}, is_gdn_nft: false },
      }),
    })
    const result = await refresh(['7', ...TARGET, '--base-url', api.url, '--json'])
    expect([result.code, errorOf(result)]).toMatchObject([
      5,
      {
        code: 'refused',
        message: "the blockchain polygon exists only on this machine, so OpenSea can't read its NFTs",
      },
    ])
    await writeFile(path('drop.csv'), `title,description,receiver\nDawn,x,${OWNER}\n`)
    const applied = await cli(
      ['apply', path('drop.csv'), ...TARGET, '--base-url', api.url, '--yes', '--refresh', '--json'],
      withKey,
    )
    expect([applied.code, errorOf(applied).message]).toMatchObject([5, expect.stringContaining('exists only on')])
    expect(api.calls.filter(({ path: called }) => called.endsWith('/createnft'))).toEqual([])
    const sea = await openSea()
    const other = await refresh(['7', ...TARGET, '--base-url', api.url, ...sea.flags])
    expect(other.code, other.stderr).toBe(0)
  })

  test('has a hint for --opensea-key', async () => {
    const { refresh } = await home()
    expect((await refresh(['7', ...TARGET, '--opensea-key', 'abc'])).stderr).toContain(
      'Did you mean --opensea-key-file?',
    )
  })

  test('requests the refresh of each token, with the key in a header', async () => {
    const { refresh, path, options } = await home()
    const sea = await openSea()
    const argv = ['7', '12', ...TARGET, ...sea.flags, '--opensea-key-file', path('opensea.key'), '--json']
    const { code, stdout, stderr } = await refresh(argv, options)
    expect(code, stderr).toBe(0)
    const place = { contract_address: CONTRACT, blockchain: 'polygon', marketplace: 'opensea', error: null }
    expect(JSON.parse(stdout)).toEqual([
      { token_id: '7', status: 'requested', ...place },
      { token_id: '12', status: 'requested', ...place },
    ])
    expect(sea.seen.map(({ method, path, headers }) => [method, path, headers['x-api-key']])).toEqual(
      ['7', '12'].map((id) => ['POST', `/api/v2/chain/polygon/contract/${CONTRACT}/nfts/${id}/refresh`, KEY]),
    )
  })

  test('reads the key that auth login saved for the server', async () => {
    const { refresh, options, path } = await home()
    const sea = await openSea()
    const login = ['auth', 'login', '--base-url', sea.url, '--no-check', '--key-file', path('opensea.key')]
    expect((await cli(login, options)).code).toBe(0)
    expect((await refresh(['7', ...TARGET, ...sea.flags], options)).code).toBe(0)
    expect(sea.seen[0]?.headers['x-api-key']).toBe(KEY)
  })

  test('is suggested after the key of OpenSea was saved', async () => {
    const { options, path } = await home()
    const url = 'https://api.opensea.io'
    const login = ['auth', 'login', '--base-url', url, '--no-check', '--key-file', path('opensea.key')]
    const { code, stderr } = await cli(login, options)
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('gdn nft refresh')
    expect(stderr).not.toContain('config set')
  })

  test('sends nothing without a key, for a network that OpenSea does not list, or over http', async () => {
    const { refresh, options } = await home()
    const sea = await openSea()
    const without = await refresh(['7', ...TARGET, ...sea.flags, '--json'], options)
    expect([without.code, errorOf(without)]).toMatchObject([4, { hint: expect.stringContaining('gdn auth login') }])
    const testnet = await refresh(['7', '-c', CONTRACT, '-b', 'polygon-amoy', ...sea.flags, '--json'])
    expect([testnet.code, errorOf(testnet).message]).toEqual([2, "OpenSea doesn't list NFTs on polygon-amoy"])
    const plain = await refresh(['7', ...TARGET, '--opensea-url', 'http://opensea.example', '--json'])
    expect([plain.code, errorOf(plain).message]).toMatchObject([2, expect.stringContaining('must be an https URL')])
    for (const wrong of ['0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5', '../../x', '-1', '07']) {
      expect((await refresh(['--json', ...TARGET, ...sea.flags, '--', wrong])).code).toBe(2)
    }
    expect(sea.seen).toEqual([])
  })

  test('names the chain that OpenSea can’t read before it asks for a key, a server or NFTs', async () => {
    const { refresh, options } = await home()
    for (const argv of [['7', '-c', CONTRACT], ['-c', CONTRACT], []]) {
      const result = await refresh([...argv, '-b', 'sepolia', '--json'], options)
      expect([result.code, errorOf(result).message]).toEqual([2, "OpenSea doesn't list NFTs on sepolia"])
    }
    const api = await fakeApi({
      '*': () => ({ headers: { 'blockchains-without-value': '*' }, body: { requests: {}, nft_gdn_ids: [] } }),
    })
    for (const ids of [['7'], []]) {
      const result = await refresh([...ids, ...TARGET, '--base-url', api.url, '--json'], options)
      expect([result.code, errorOf(result).message]).toMatchObject([5, expect.stringContaining('exists only on')])
    }
  })

  test('without a server names the flags that make one unnecessary', async () => {
    const { refresh } = await home()
    for (const [argv, missing] of [
      [['7', '-c', CONTRACT], '-b <name>'],
      [['7'], '-c <address>, -b <name>'],
      [['-c', CONTRACT, '-b', 'base'], 'the token IDs'],
    ] as const) {
      const result = await refresh([...argv, '--json'])
      expect([result.code, errorOf(result)]).toMatchObject([
        2,
        {
          message: 'no server is configured',
          hint: `To refresh NFTs without a server, add ${missing}. To read the NFTs from a server, add --local or --base-url <url>.`,
        },
      ])
    }
  })

  test('refreshes all deployed NFTs of a collection', async () => {
    const { refresh, withKey } = await home()
    const sea = await openSea()
    const nfts = [
      nft('a', { token_id: '1' }),
      nft('b', { token_id: '2', burned: true }),
      nft('c', { token_id: null, status: 'initiated' }),
      nft('d', { token_id: '../../4' }),
      nft('e', { token_id: '5' }),
    ]
    const api = await fakeApi({
      getnftgdnids: () => ({
        body: {
          requests: { contract_address: CONTRACT, blockchain: 'polygon' },
          nft_gdn_ids: ['a', 'b', 'c', 'd', 'e'],
        },
      }),
      getnfts: ({ nft_gdn_ids }) => ({ body: { requests: { nft_gdn_ids }, nfts } }),
    })
    expect((await refresh([...TARGET, '--base-url', api.url, ...sea.flags], withKey)).code).toBe(0)
    expect(sea.tokens()).toEqual(['1', '5'])
  })

  test('refreshes the NFTs that a run minted', async () => {
    const { path, refresh, withKey } = await home()
    await writeFile(path('drop.csv'), `title,description,receiver\nDawn,first,${OWNER}\nDusk,second,${OWNER}\n`)
    const api = await fakeApi(service())
    const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--rate', '1000']
    expect((await cli(mint, withKey)).code).toBe(0)
    const sea = await openSea()
    expect((await refresh(['--run', path('drop.csv'), ...sea.flags])).code).toBe(0)
    expect(sea.tokens()).toEqual(['1', '2'])
  })
})

describe('a marketplace server', () => {
  const outcomes = ({ stdout }: { stdout: string }) =>
    (JSON.parse(stdout) as { status: string }[]).map(({ status }) => status)
  const three = async (replies: Parameters<typeof openSea>[0], ...more: string[]) => {
    const { refresh } = await home()
    const sea = await openSea(replies)
    return { sea, result: await refresh(['1', '2', '3', ...TARGET, ...sea.flags, '--json', ...more]) }
  }

  test('a marketplace server that rejects one NFT does not stop the others, and the exit code is 7', async () => {
    const { result } = await three((request) =>
      tokenIn(request) === '2' ? { status: 404, json: { errors: [`no such NFT for ${KEY}`] } } : ACCEPTED,
    )
    expect(outcomes(result)).toEqual(['requested', 'failed', 'requested'])
    expect(result.code).toBe(7)
    expect(errorOf(result)).toMatchObject({
      code: 'batch_failed_rows',
      message: 'failed to request the refresh of 1 of 3 NFTs: token 2: HTTP 404: no such NFT for [redacted]',
      details: { not_requested: ['2'] },
    })
  })

  test('a marketplace server that rejects an NFT with an object in place of a text is reported with its JSON', async () => {
    const { result } = await three([{ status: 404, json: { errors: [{ toString: 1 }] } }])
    expect([result.code, errorOf(result).message]).toEqual([
      7,
      expect.stringContaining('token 1: HTTP 404: {"toString":1}'),
    ])
  })

  test('a marketplace server that limits the rate gets the same request after the wait that it asks for', async () => {
    const { sea, result } = await three([{ status: 429, headers: { 'retry-after': '3' } }, ACCEPTED])
    expect([result.code, sea.tokens()]).toEqual([0, ['1', '1', '2', '3']])
  })

  test.each([
    ['Retry-After', () => ({ 'retry-after': '3600' })],
    ['X-RateLimit-Reset', () => ({ 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + 3500) })],
  ])('that asks for an hour with %s ends the command', async (_name, headers) => {
    const { sea, result } = await three((request) =>
      tokenIn(request) === '1' ? ACCEPTED : { status: 429, headers: headers() },
    )
    expect([result.code, errorOf(result).code, sea.seen.length]).toEqual([6, 'rate_limited', 2])
    expect(outcomes(result)).toEqual(['requested', 'not_sent', 'not_sent'])
  })

  test.each([
    ['401', { status: 401, json: { errors: [KEY] } }, 4, 1],
    ['403', { status: 403, json: { detail: `refused ${KEY}` } }, 4, 1],
    ['an HTML page', { text: '<html>Sign in to this network', headers: { 'content-type': 'text/html' } }, 6, 1],
    ['a redirect to a private address', { status: 302, headers: { location: 'http://169.254.169.254/' } }, 6, 1],
    ['429 without end', { status: 429, headers: { 'retry-after': '0' } }, 6, 10],
    ['500', { status: 500, text: `<h1>${KEY}</h1>` }, 6, 3],
    ['no response', 'drop', 6, 3],
    ['a page that never ends', { text: 'x'.repeat(1024 * 1024) }, 6, 3],
  ] as const)('that returns %s ends the command, and nothing shows the key', async (_what, reply, code, requests) => {
    const { sea, result } = await three([reply as Reply])
    expect([result.code, sea.seen.length]).toEqual([code, requests])
    expect(outcomes(result)).toEqual(['not_sent', 'not_sent', 'not_sent'])
  })

  test('a marketplace server that fails once gets the request again', async () => {
    const { sea, result } = await three([{ status: 503 }, 'drop', ACCEPTED])
    expect([result.code, sea.tokens()]).toEqual([0, ['1', '1', '1', '2', '3']])
  })

  test('a marketplace server that hangs ends the command at its --timeout, which lists what is left', async () => {
    const { refresh } = await home()
    const ended = new AbortController()
    onTestFinished(() => ended.abort())
    const sea = await openSea(async (request) => {
      if (tokenIn(request) === '1') return ACCEPTED
      await new Promise((resolve) => ended.signal.addEventListener('abort', resolve))
      return ACCEPTED
    })
    const { timeUpError } = await import('../../../src/core/time-up.ts')
    const { withKey } = await home()
    const timeout = new AbortController()
    const argv = ['1', '2', '3', ...TARGET, ...sea.flags, '--json']
    const running = refresh(argv, { ...withKey, signal: timeout.signal })
    await expect.poll(() => sea.seen.length).toBe(2)
    timeout.abort(timeUpError(2000))
    const result = await running
    expect([result.code, errorOf(result).code]).toEqual([8, 'pending'])
    expect(outcomes(result)).toEqual(['requested', 'not_sent', 'not_sent'])
  })
})

describe('apply and reveal with --refresh', () => {
  async function collection() {
    const dataDir = await freshDataDir()
    const backend = await startTestBackend(dataDir.path)
    onTestFinished(async () => {
      await backend.close()
      await dataDir.remove()
    })
    const { path, options } = await folder({
      'drop.csv': `id,title,description,receiver\na,Dawn,first,${OWNER}\nb,Dusk,second,${OWNER}\n`,
      'hidden.json': JSON.stringify({ title: 'Hidden', description: 'x' }),
    })
    const server = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url, GDN_BLOCKCHAIN: 'polygon' }
    const env: NodeJS.ProcessEnv = { ...options.env, ...server, GDN_OPENSEA_KEY: KEY }
    const gdn = (...argv: string[]) => cli(argv, { ...options, env })
    const owner = newWallet()
    const createResult = await gdn(
      'collection',
      'create',
      '--name',
      'Tides',
      '--wallet',
      owner.address,
      '--dynamic',
      '-o',
      'ids',
    )
    expect(createResult.code, createResult.stderr).toBe(0)
    env.GDN_CONTRACT = createResult.stdout.trim()
    return { path, gdn }
  }

  test('refresh the NFTs whose metadata they changed', async () => {
    const { path, gdn } = await collection()
    const sea = await openSea()
    const refreshing = ['--yes', '--refresh', '--opensea-url', sea.url]
    const first = await gdn('apply', path('drop.csv'), ...refreshing)
    expect(first.code, first.stderr).toBe(0)
    expect(sea.seen).toEqual([])
    await writeFile(path('drop.csv'), (await readFile(path('drop.csv'), 'utf8')).replace('second', 'changed'))
    const second = await gdn('apply', path('drop.csv'), ...refreshing)
    expect(second.code, second.stderr).toBe(0)
    expect(second.stderr).toContain('OpenSea accepted 1 refresh request.')
    expect(sea.tokens()).toHaveLength(1)
  })

  test('exit with an error that says that the changes were made if OpenSea fails', async () => {
    const { path, gdn } = await collection()
    expect((await gdn('apply', path('drop.csv'), '--yes')).code).toBe(0)
    await writeFile(path('drop.csv'), (await readFile(path('drop.csv'), 'utf8')).replace('second', 'changed'))
    const sea = await openSea([{ status: 404 }])
    const result = await gdn('apply', path('drop.csv'), '--yes', '--refresh', '--opensea-url', sea.url, '--json')
    expect(result.code).toBe(7)
    expect(JSON.parse(result.stdout)).toMatchObject({ updated: 1, failed: 0 })
    expect(errorOf(result)).toMatchObject({
      message: expect.stringMatching(
        /^all changes were made, but gdn failed to request the refresh of 1 of 1 NFT: token \d+: HTTP 404$/,
      ),
      hint: expect.stringMatching(
        /^To request the other refreshes, run `gdn nft refresh \d+ -c 0x\w{40} -b polygon`\.$/,
      ),
    })
  })

  test('send nothing to the server without an OpenSea key', async () => {
    const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,x,${OWNER}\n` })
    const api = await fakeApi({ '*': () => ({ status: 404, body: {} }) })
    const result = await cli(
      [
        ...['apply', path('drop.csv'), ...TARGET, '--base-url', api.url, '--yes', '--refresh', '--json'],
        ...['--opensea-url', 'https://opensea.example'],
      ],
      options,
    )
    expect([result.code, errorOf(result).code]).toEqual([4, 'unauthorized'])
    expect(api.calls.filter(({ path }) => /nft/.test(path))).toEqual([])
  })

  test('refresh revealed NFTs', async () => {
    const { path, gdn } = await collection()
    const minted = await gdn('batch', 'mint', path('drop.csv'), '--unrevealed', path('hidden.json'), '--yes')
    expect(minted.code, minted.stderr).toBe(0)
    const sea = await openSea()
    const { code, stderr } = await gdn('reveal', path('drop.csv'), '--yes', '--refresh', '--opensea-url', sea.url)
    expect(code, stderr).toBe(0)
    expect(sea.tokens()).toHaveLength(2)
  })
})
