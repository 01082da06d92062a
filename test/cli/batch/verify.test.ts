/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { chain, type Token, token, URI } from '../chain/fake-chain.ts'
import { CONTRACT, fakeApi, OWNER, type Reply } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { CSV, folder, service, TARGET } from './drop.ts'

const AS_ORDERED = { 1: token(1, 'Dawn', 'first'), 2: token(2, 'Dusk', 'second') }

/** A service whose NFTs have the token URIs of the chain. */
function minting() {
  const { createnft, getnfts } = service()
  return {
    createnft,
    getnfts: (body: { nft_gdn_ids: string[] }): Reply => {
      const { body: answer } = getnfts(body) as { body: { nfts: { token_id: string }[] } }
      const nfts = answer.nfts.map((nft) => ({ ...nft, metadata_url: `${URI}/${Number(nft.token_id) - 1}.json` }))
      return { body: { ...answer, nfts } }
    },
  }
}

/** Mints, and verifies after the second NFT got other values on the server, and on the chain before. */
async function verifyChanged(now: Record<string, unknown>, on: Token | undefined) {
  const { path, options } = await folder()
  const { createnft, getnfts } = minting()
  let isChanged = false
  const api = await fakeApi({
    createnft,
    getnfts: (body: { nft_gdn_ids: string[] }): Reply => {
      const { body: answer } = getnfts(body) as { body: { nfts: { token_id: string }[] } }
      const nfts = answer.nfts.map((nft) => (isChanged && nft.token_id === '2' ? { ...nft, ...now } : nft))
      return { body: { ...answer, nfts } }
    },
    ...chain(on === undefined ? { 1: AS_ORDERED[1] } : { ...AS_ORDERED, 2: on }),
  })
  await cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url], options)
  isChanged = true
  const argv = ['batch', 'results', 'drop', '--verify', '--base-url', api.url, '--fields', FIELDS]
  const { code, stdout } = await cli([...argv, '--json'], options)
  const { stderr } = await cli([...argv, '-o', 'csv'], options)
  return { code, rows: JSON.parse(stdout) as unknown[], stderr }
}

const ZERO = `0x${'0'.repeat(40)}`
const FIELDS = 'line,verified,verify_error'
const UPDATED = {
  revision: 1,
  metadata_url: `${URI}/9.json`,
  request_metadata: { title: 'Dusk', description: 'edited', file_fields: [] },
}
const updatedToken = (name = 'Dusk', description = 'edited') => token(2, name, description, { uri: `${URI}/9.json` })

async function mintAndVerify(tokens: Readonly<Record<string, Token>>, csv = CSV, ...more: string[]) {
  const { path, options } = await folder({ 'drop.csv': csv })
  const api = await fakeApi({ ...minting(), ...chain(tokens) })
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--verify', '--json', ...more]
  const minted = await cli(argv, options)
  const results = (...flags: string[]) =>
    cli(['batch', 'results', 'drop', '--verify', '--base-url', api.url, ...flags], options)
  return { minted, results, api }
}

describe('--verify', () => {
  test('compares owner, token URI and metadata of every deployed row with chain and storage', async () => {
    const { minted, results } = await mintAndVerify(AS_ORDERED)
    expect(minted).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(minted.stdout)).toMatchObject({ deployed: 2, verified: 2, differing: 0, unread: 0 })
    const { stdout, code } = await results('--json', '--fields', 'line,verified,verify_error')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual([
      { line: 2, verified: true, verify_error: null },
      { line: 3, verified: true, verify_error: null },
    ])
    expect(
      (await results()).stderr.match(
        /^Files were not checked\. To check the files of all tokens, run `gdn collection check`/gm,
      ),
    ).toHaveLength(1)
  })

  test.each<[string, Partial<Record<1 | 2, Token>>, string]>([
    [
      'another owner',
      { 2: token(2, 'Dusk', 'second', { owner: CONTRACT }) },
      `owner is ${CONTRACT.toLowerCase()}, not ${OWNER}`,
    ],
    [
      'another token URI',
      { 2: token(2, 'Dusk', 'second', { uri: `${URI}/7.json` }) },
      `token URI is ${URI}/7.json, not ${URI}/1.json`,
    ],
    ['another title', { 2: token(2, 'Dust', 'second') }, 'name is Dust, not Dusk'],
    ['a missing token', { 2: undefined } as never, 'token 2 is missing, not on the chain'],
  ])('exits with 5 and lists per row what differs: %s', async (_, tokens, differs) => {
    const changed = Object.fromEntries(
      Object.entries({ ...AS_ORDERED, ...tokens }).filter(([, one]) => one !== undefined),
    )
    const { minted, results } = await mintAndVerify(changed)
    expect(minted.code).toBe(5)
    expect(JSON.parse(minted.stdout)).toMatchObject({ deployed: 2, verified: 1, differing: 1 })
    expect(errorOf(minted)).toMatchObject({
      code: 'verify_failed',
      message: expect.stringContaining(`line 3: ${differs}`),
      details: { differing_rows: [{ line: 3, differs }] },
    })
    const csv = await results('-o', 'csv')
    expect(csv.code).toBe(5)
    expect(csv.stdout).toMatch(/,error,burned,verified,verify_error\r\n.*,true,\r\n.*,false,.*\r\n$/)
    expect(csv.stderr).toContain(differs)
  })

  test('exits with 6 if nothing could be read, and says why', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(minting())
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--verify']
    const { code, stderr, stdout } = await cli([...argv, '-q'], options)
    expect(code).toBe(6)
    expect(stderr).toContain('no row could be verified')
    const reason =
      'this server provides no access to nodes of polygon: set --rpc-url or GDN_RPC_URL to the URL of a node'
    expect(stderr).toContain(`2 rows were not verified: ${reason}\n`)
    expect(stdout).toContain('verified\t0\ndiffering\t0\nunread\t2\n')
    const secondResult = await cli([...argv, '-q'], options)
    expect({ code: secondResult.code, sent: api.bodies('createnft').length }).toEqual({ code: 6, sent: 1 })
    const results = await cli(['batch', 'results', 'drop', '--verify', '--base-url', api.url, '--json'], options)
    expect([results.code, errorOf(results).message]).toEqual([6, `no row could be verified: ${reason}`])
    expect(JSON.parse(results.stdout)).toMatchObject([{ verified: null }, { verified: null }])
  })

  test('exits with 8 if nothing is deployed yet', async () => {
    const { path, options } = await folder()
    const { createnft } = minting()
    const api = await fakeApi({ createnft })
    const argv = [
      'batch',
      'mint',
      path('drop.csv'),
      ...TARGET,
      '--base-url',
      api.url,
      '--verify',
      '--no-wait',
      '--json',
    ]
    const result = await cli(argv, options)
    expect({ code: result.code, error: errorOf(result).code }).toEqual({ code: 8, error: 'pending' })
    expect(errorOf(result).hint).toBe(
      'Run the same command again without `--no-wait`, so that gdn waits until the rows are deployed.',
    )
  })

  test.each<[string, (title: string) => boolean]>([
    ['all of its rows failed', () => true],
    ["some of its rows failed and the others can't be read", (title) => title === 'Dusk'],
  ])('exits with 7 for a finished run if %s', async (_, refuse) => {
    const { path, options } = await folder()
    const { createnft, getnfts } = service(refuse)
    const api = await fakeApi(refuse('Dawn') ? { createnft } : { createnft, getnfts })
    const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--chunk-size', '1', '--base-url', api.url]
    const first = await cli([...mint, '--verify', '--json'], options)
    const secondResult = await cli([...mint, '--verify', '--json'], options)
    expect([first.code, secondResult.code]).toEqual([7, 7])
    const { code, message, hint } = errorOf(secondResult)
    expect(code).toBe('batch_failed_rows')
    expect(message).toMatch(/^the run is finished; \d of 2 rows failed$/)
    expect(hint).toContain('gdn batch retry')
  })

  test('rejects an RPC URL of another chain without showing the URL, which may contain a key', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(minting())
    const other = await fakeApi({ '/rpc?key=sesame': chain(AS_ORDERED, 1)['/rpc/polygon'] as never })
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--verify', '--json']
    const env = { ...options.env, GDN_RPC_URL: `${other.url}/rpc?key=sesame` }
    const result = await cli(argv, { ...options, env })
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toBe('GDN_RPC_URL: has the chain ID 1, but polygon has 137')
    expect(result.stderr).not.toContain('sesame')
  })

  test('reads from the selected gateway instead of the server', async () => {
    const { path, options } = await folder()
    const { '/rpc/polygon': rpc, ...files } = chain(AS_ORDERED) as Record<string, never>
    const api = await fakeApi({ ...minting(), '/rpc/polygon': rpc } as never)
    const gateway = await fakeApi(files)
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json', '--verify']
    const { stdout } = await cli([...argv, '--gateway', `${gateway.url}/ipfs/`], options)
    expect(JSON.parse(stdout)).toMatchObject({ verified: 2, unread: 0 })
  })

  test('skips NFTs that are not deployed', async () => {
    const { path, options } = await folder()
    const { createnft } = service()
    const api = await fakeApi({ createnft, '/rpc/polygon': chain({})['/rpc/polygon'] as never })
    const argv = [
      'batch',
      'mint',
      path('drop.csv'),
      ...TARGET,
      '--base-url',
      api.url,
      '--verify',
      '--no-wait',
      '--json',
    ]
    expect(JSON.parse((await cli(argv, options)).stdout)).toMatchObject({ accepted: 2, verified: 0, unread: 0 })
  })

  test.each<[string, Record<string, unknown>, Token | undefined, string]>([
    ['an update', UPDATED, updatedToken(), 'updated'],
    [
      'a transfer',
      { receiver_wallet_address: CONTRACT },
      token(2, 'Dusk', 'second', { owner: CONTRACT }),
      `transferred to ${CONTRACT}`,
    ],
    ['a burn', { burned: true, receiver_wallet_address: ZERO }, undefined, 'burned'],
  ])('counts rows apart that the server reports as changed since: %s', async (_, now, on, says) => {
    const { code, rows, stderr } = await verifyChanged(now, on)
    expect({ code, rows }).toEqual({
      code: 0,
      rows: [
        { line: 2, verified: true, verify_error: null },
        { line: 3, verified: null, verify_error: `changed since the mint, according to the server: ${says}` },
      ],
    })
    expect(stderr).toContain(
      "1 row changed since the mint: the chain and the storage match the server's current record",
    )
  })

  test.each<[string, Record<string, unknown>, Token]>([
    ['metadata that the update did not set', UPDATED, updatedToken('Dust')],
    ['metadata without an update', { ...UPDATED, revision: 0 }, updatedToken()],
    ['another owner than an update has', UPDATED, { ...updatedToken(), owner: CONTRACT }],
    [
      'metadata that changed without an update, beside a transfer',
      { receiver_wallet_address: CONTRACT },
      updatedToken(),
    ],
  ])('keeps a difference that no reported change explains: %s', async (_, now, on) => {
    const { code, rows } = await verifyChanged(now, on)
    expect({ code, rows }).toMatchObject({ code: 5, rows: [{ verified: true }, { verified: false }] })
  })
})
