import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Connection, Deps } from '../../../src/cli/deps.ts'
import { showWaitForNfts } from '../../../src/cli/request/waiting.ts'
import type { Server } from '../../../src/config/server.ts'
import { pngNamed } from '../../helpers/images.ts'
import { announce, CONTRACT, DATE, fakeApi, knows, nft, OWNER, type Reply } from '../fake-api.ts'
import { cli, errorOf, interruptedWhileWaiting, tempHome, timeUpWhileWaiting } from '../harness.ts'
import { mkfifo } from '../mkfifo.ts'

const env = { GDN_API_KEY: 'key' }
const FILE = 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4'
const TARGET = ['-c', CONTRACT, '-b', 'polygon']
const MINT = ['nft', 'mint', ...TARGET, '--receiver', OWNER]

interface MintBody {
  contract_address: string
  receiver_wallet_address: string
  metadata: object[]
}

/** A createnft that accepts every request; IDs are id-0, id-1, … */
const accepts = ({ metadata, ...requests }: MintBody): Reply => ({
  body: {
    message: 'accepted',
    requests: { ...requests, metadata },
    nfts: metadata.map((_, i) => ({ nft_gdn_ids: `id-${i}`, accepted_date: DATE })),
  },
})

describe('nft mint', () => {
  test.each([
    [
      `contract_address ${CONTRACT} is not a collection of this account`,
      '`gdn collection list` lists the collections created on this machine',
    ],
    ['contract_address and blockchain are inconsistent: that collection is on base', 'Add -b base.'],
  ])('says how to find the collection: %s', async (message, hint) => {
    const api = await fakeApi({
      createnft: () => ({ status: 400, body: { error: { title: 'Bad Request', message } } }),
    })
    const argv = ['-c', CONTRACT, '-b', 'polygon', '--receiver', OWNER, '--title', 'A', '--base-url', api.url, '--json']
    expect(errorOf(await cli(['nft', 'mint', ...argv], { env })).hint).toContain(hint)
  })

  test('names the source of a contract that the server rejects, unless it is a flag', async () => {
    const message = `contract_address ${CONTRACT} is not a collection of this account`
    const api = await fakeApi({
      createnft: () => ({ status: 400, body: { error: { title: 'Bad Request', message } } }),
    })
    const mint = async (argv: string[], more: Record<string, string>) =>
      errorOf(
        await cli(
          [
            'nft',
            'mint',
            '-b',
            'polygon',
            '--receiver',
            OWNER,
            '--title',
            'A',
            '--base-url',
            api.url,
            '--json',
            ...argv,
          ],
          { env: { ...env, ...more } },
        ),
      )
    const failed = await mint([], { GDN_CONTRACT: CONTRACT })
    expect(failed.message).toContain(message)
    expect(failed.hint).toMatch(
      /^This contract is from GDN_CONTRACT\. To use another contract, add --contract <address>\./,
    )
    const flagged = await mint(['-c', CONTRACT], { GDN_CONTRACT: OWNER })
    expect(flagged.message).toContain(message)
    expect(String(flagged.hint)).not.toContain('This contract is from')
  })

  test('sends one request built from flags, and waits until the NFT is deployed', async () => {
    const pending = nft('id-0', { status: 'initiated', token_id: null, metadata_url: null })
    let requestCount = 0
    const api = await fakeApi({
      createnft: accepts,
      getnfts: (body: { nft_gdn_ids: string[] }) => knows(++requestCount < 3 ? pending : nft('id-0'))(body),
    })
    const argv = [...MINT, '--title', 'Dawn', '--description', 'First', '--extra', 'edition=1', '--attr', 'Light=low']
    const result = await cli([...argv, '--image', 'https://x.test/a.png', '--base-url', api.url, '--json'], { env })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(result.stdout)).toMatchObject({
      nft_gdn_id: 'id-0',
      status: 'deployed',
      token_id: '1',
      accepted_date: DATE,
    })
    expect(api.bodies('createnft')).toEqual([
      {
        contract_address: CONTRACT,
        blockchain: 'polygon',
        receiver_wallet_address: OWNER,
        metadata: [
          {
            title: 'Dawn',
            description: 'First',
            file_fields: [{ key: 'image', url: 'https://x.test/a.png' }],
            attribute: [{ tag: 'Light', value: 'low' }],
            edition: '1',
          },
        ],
      },
    ])
    const created = api.calls.find(({ path }) => path.endsWith('/createnft'))
    expect(created?.headers).toMatchObject({ 'x-api-key': 'key', 'idempotency-key': expect.any(String) })
    expect(requestCount).toBe(3)
  })

  test('accepts the API names of flags', async () => {
    const api = await fakeApi({ createnft: accepts })
    const argv = ['nft', 'mint', `--contract-address=${CONTRACT}`, '-b', 'polygon', '--receiver-wallet-address', OWNER]
    const { code } = await cli([...argv, '--title', 'x', '--no-wait', '--base-url', api.url], { env })
    expect(code).toBe(0)
    expect(api.bodies('createnft')).toMatchObject([{ contract_address: CONTRACT, receiver_wallet_address: OWNER }])
  })

  test('returns on acceptance with --no-wait', async () => {
    const api = await fakeApi({ createnft: accepts })
    const { code, stdout } = await cli([...MINT, '--title', 'x', '--no-wait', '-o', 'ids', '--base-url', api.url], {
      env,
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'id-0\n' })
  })

  test.each(['failed', 'error'])(
    'prints an NFT with the status %s, and exits with 5 and the reason',
    async (status) => {
      const failed = nft('id-0', { status, token_id: null, error: 'the image answers 404' })
      const api = await fakeApi({ createnft: accepts, getnfts: knows(failed) })
      const result = await cli([...MINT, '--title', 'x', '--base-url', api.url, '--json'], { env })
      expect(result.code).toBe(5)
      expect(JSON.parse(result.stdout)).toMatchObject({ nft_gdn_id: 'id-0', status })
      expect(errorOf(result)).toMatchObject({
        code: 'nft_failed',
        message: expect.stringContaining('the image answers 404'),
      })
    },
  )

  test('prints an NFT that is pending at the timeout, exits with 8, and names gdn nft wait', async () => {
    const api = await fakeApi({ createnft: accepts, getnfts: knows(nft('id-0', { status: 'initiated' })) })
    const result = await cli([...MINT, '--title', 'x', '--base-url', api.url, '--json'], {
      env,
      ...timeUpWhileWaiting(),
    })
    expect(result.code).toBe(8)
    expect(JSON.parse(result.stdout)).toMatchObject({ nft_gdn_id: 'id-0' })
    expect(errorOf(result)).toMatchObject({ code: 'pending', hint: expect.stringContaining('gdn nft wait id-0') })
  })

  test('exits with 8 and names gdn nft wait if the status of the accepted NFT is not returned', async () => {
    const revoked = { status: 401, body: { error: { title: 'Unauthorized', message: 'revoked' } } }
    const api = await fakeApi({ createnft: accepts, getnfts: () => revoked })
    const result = await cli([...MINT, '--title', 'x', '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(8)
    expect(JSON.parse(result.stdout)).toMatchObject({ nft_gdn_id: 'id-0' })
    expect(errorOf(result)).toMatchObject({
      code: 'pending',
      message: expect.stringMatching(/^1 NFT is accepted, but the status can't be read: /),
      hint: expect.stringContaining('gdn nft wait id-0'),
    })
  })

  test('prints the accepted NFT after Ctrl-C during the wait', async () => {
    const api = await fakeApi({ createnft: accepts, getnfts: knows(nft('id-0', { status: 'initiated' })) })
    const result = await cli([...MINT, '--title', 'x', '-o', 'ids', '--base-url', api.url], {
      env,
      ...interruptedWhileWaiting(),
    })
    expect(result).toMatchObject({ code: 130, stdout: 'id-0\n' })
    expect(result.stderr).toContain(`Run \`gdn nft wait id-0 --base-url ${api.url}\` to keep waiting.\n`)
  })

  test('sends a JSON request from a file or standard input unchanged; flags override it', async () => {
    const request = {
      contract_address: CONTRACT,
      blockchain: 'polygon',
      receiver_wallet_address: OWNER,
      metadata: [1, 2].map((n) => ({ title: `T${n}`, description: 'd', file_fields: [] })),
    }
    const home = await tempHome()
    const file = join(home.dir, 'request.json')
    await writeFile(file, JSON.stringify(request))
    const api = await fakeApi({ createnft: accepts })
    const common = ['--no-wait', '--json', '--base-url', api.url]
    const fromFile = await cli(['nft', 'mint', '-f', file, ...common], { env })
    expect(JSON.parse(fromFile.stdout)).toHaveLength(2)
    const other = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    await cli(['nft', 'mint', '-f', '-', '--receiver', other, ...common], { env, stdin: JSON.stringify(request) })
    expect(api.bodies('createnft')).toEqual([request, { ...request, receiver_wallet_address: other }])
  })

  test('uploads each local file once, and puts the URLs into the request', async () => {
    const home = await tempHome()
    await writeFile(join(home.dir, 'a.png'), pngNamed('a'))
    const api = await fakeApi({ files: () => ({ body: { url: FILE } }), createnft: accepts })
    const argv = [
      ...MINT,
      '--title',
      'x',
      '--image',
      'a.png',
      '--media',
      'back=a.png',
      '--no-wait',
      '--base-url',
      api.url,
    ]
    expect((await cli(argv, { env, cwd: home.dir })).code).toBe(0)
    expect(api.bodies('files')).toEqual([expect.stringContaining('PNG')])
    expect(api.calls.map(({ path }) => path)).toEqual([
      '/healthz',
      '/api/v1/getisgdnnft',
      '/api/v1/files',
      '/api/v1/getnftgdnids',
      '/api/v1/createnft',
    ])
    expect(api.bodies('createnft')).toMatchObject([
      {
        metadata: [
          {
            file_fields: [
              { key: 'image', url: FILE },
              { key: 'back', url: FILE },
            ],
          },
        ],
      },
    ])
  })

  test.each([
    ['an empty file', ''],
    ['an HTML page', '<!doctype html><title>Not found</title>'],
    ['not a PNG image, despite its name', 'png!'],
    ["a PNG image that can't be decoded", pngNamed('a').subarray(0, 60)],
    ['a JPEG image, despite its name', Buffer.from('ffd8ffe000104a46494600010100', 'hex')],
  ])('rejects %s as an image, by its content, before anything is sent', async (what, content) => {
    const home = await tempHome()
    await writeFile(join(home.dir, 'a.png'), content)
    const api = await fakeApi({})
    const argv = [...MINT, '--title', 'x', '--image', 'a.png', '--no-wait', '--base-url', api.url]
    const { code, stderr } = await cli(argv, { env, cwd: home.dir })
    expect(code).toBe(2)
    expect(stderr).toContain(`--image: ${join(home.dir, 'a.png')} is ${what}`)
    expect(api.calls).toEqual([])
  })

  test('warns about a local file of an unknown type, and mints it', async () => {
    const home = await tempHome()
    await writeFile(join(home.dir, 'a.xyz'), 'what?')
    const api = await fakeApi({ files: () => ({ body: { url: FILE } }), createnft: accepts })
    const argv = [...MINT, '--title', 'x', '--media', 'raw=a.xyz', '--no-wait', '--base-url', api.url]
    const { code, stderr } = await cli(argv, { env, cwd: home.dir })
    expect(code, stderr).toBe(0)
    const path = join(home.dir, 'a.xyz')
    expect(stderr).toContain(
      `warning: --media raw: ${path} has an unknown type (.xyz), so marketplaces may not show it`,
    )
    expect(api.bodies('files')).toHaveLength(1)
  })

  test('--dry-run prints the request and sends nothing, without key or server', async () => {
    const { code, stdout } = await cli([
      ...MINT,
      '--title',
      'x',
      '--dry-run',
      '--json',
      '--base-url',
      'https://api.test',
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      method: 'POST',
      url: 'https://api.test/api/v1/createnft',
      body: { receiver_wallet_address: OWNER, metadata: [{ title: 'x' }] },
    })
  })

  test.each([
    ['no title', ['nft', 'mint', ...TARGET, '--receiver', OWNER], '--title'],
    ['no receiver', ['nft', 'mint', ...TARGET, '--title', 'x'], '--receiver: is required'],
    ['no collection', ['nft', 'mint', '--title', 'x', '--receiver', OWNER], '--contract: no collection is specified'],
    [
      'a wrong checksum',
      [...MINT.slice(0, -1), OWNER.replace('fB', 'Fb'), '--title', 'x'],
      `--receiver: "${OWNER.replace('fB', 'Fb')}" has a wrong checksum`,
    ],
    [
      'an invalid contract address',
      ['nft', 'mint', '-c', '0x12', '-b', 'polygon', '--receiver', OWNER, '--title', 'x'],
      '--contract: "0x12" must have 40',
    ],
    [
      'an EVM address on Solana',
      ['nft', 'mint', '-c', CONTRACT, '-b', 'solana', '--title', 'x'],
      'is an EVM address, but this blockchain is Solana',
    ],
    [
      'a URL of another scheme',
      [...MINT, '--title', 'x', '--media', 'a=ftp://x/y'],
      '--media a: must be an http(s), ipfs or ar URL',
    ],
    [
      'an image that is a data URL',
      [...MINT, '--title', 'x', '--media', 'a=https://x.test/a', '--image', 'data:image/png;base64,AAAA'],
      '--image: must be an http(s), ipfs or ar URL',
    ],
    ['a missing file', [...MINT, '--title', 'x', '--media', 'a=none.png'], "none.png doesn't exist"],
    ['a directory', [...MINT, '--title', 'x', '--media', 'a=/'], 'is not a regular file'],
    ['a key twice', [...MINT, '--title', 'x', '--extra', 'a=1', '--extra', 'a=2'], '--extra: "a" is specified twice'],
    ['a reserved key', [...MINT, '--title', 'x', '--extra', 'title=y'], '--extra: "title" is a reserved key'],
    ['__proto__', [...MINT, '--title', 'x', '--extra', '__proto__=y'], '--extra: "__proto__" is a reserved key'],
    ['metadata in two places', [...MINT, '--title', 'x', '-f', 'r.json'], 'both set metadata'],
    [
      'eleven items',
      [...MINT, '--title', 'x', ...Array.from({ length: 9 }, (_, i) => ['--extra', `k${i}=v`]).flat()],
      'at most 10 are allowed',
    ],
    ['a missing request file', ['nft', 'mint', '-f', 'none.json'], "none.json: doesn't exist"],
    ['/dev/zero', ['nft', 'mint', '-f', '/dev/zero'], '/dev/zero: is not a regular file'],
  ])('rejects %s before anything is sent', async (_what, argv, message) => {
    const { code, stderr, stdout } = await cli([...argv, '--base-url', 'http://127.0.0.1:9'], { env })
    expect(stderr).toContain(message)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })

  test('rejects the output of --dry-run as a request, and accepts its body', async () => {
    const dry = await cli([...MINT, '--title', 'x', '--dry-run', '--base-url', 'http://127.0.0.1:9'], { env })
    const fromStdin = ['nft', 'mint', '-f', '-', '--base-url', 'http://127.0.0.1:9', '--dry-run']
    const { code, stderr } = await cli(fromStdin, { env, stdin: dry.stdout })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('jq .body') })
    const body = JSON.stringify(JSON.parse(dry.stdout).body)
    expect((await cli(fromStdin, { env, stdin: body })).stdout).toBe(dry.stdout)
  })

  test('rejects a pipe as a file instead of waiting for it', async () => {
    const home = await tempHome()
    const path = join(home.dir, 'pipe')
    await mkfifo(path)
    const { code, stderr } = await cli(['nft', 'mint', '-f', path], { env })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a regular file') })
  })

  test.each([
    ['{"a":1,"a":2}', '"a" is repeated'],
    ['{"__proto__":1}', '"__proto__" is not allowed as a key'],
    ['{"a":', 'ends where a value is expected'],
    ['"text"', 'must be a JSON object'],
    ['[', 'standard input contains a list of rows'],
    ['{"metadata":[{"title":""}]}', 'stdin (metadata[0].title): must not be empty'],
  ])('rejects %s as a request on standard input, with the location', async (stdin, message) => {
    const argv = ['nft', 'mint', '-f', '-', '--base-url', 'http://127.0.0.1:9', ...TARGET]
    const { code, stderr } = await cli(argv, { env, stdin })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })
})

describe('on a public network', () => {
  /** Mints one NFT on a server that announces no embedded chain. */
  async function mint(blockchain: string, ...argv: string[]) {
    announce(null)
    const api = await fakeApi({
      '*': (body: MintBody, { path }) => (path.endsWith('/createnft') ? accepts(body) : refusal),
    })
    const target = ['-c', CONTRACT, '-b', blockchain, '--receiver', OWNER, '--base-url', api.url]
    const result = await cli(['nft', 'mint', ...target, '--title', 'x', '--no-wait', '--json', ...argv], { env })
    return { result, sent: api.bodies('createnft') }
  }
  const refusal: Reply = { status: 422, body: { error: { title: 'No', message: 'because' } } }
  const request = { contract_address: CONTRACT, receiver_wallet_address: OWNER, metadata: [{ title: 'x' }] }

  test('requires --yes off a terminal, and sends nothing without it', async () => {
    const { result, sent } = await mint('polygon')
    expect(result.code).toBe(3)
    expect(errorOf(result)).toMatchObject({ code: 'not_confirmed', hint: expect.stringContaining('--yes') })
    expect(sent).toEqual([])
  })

  test('sends the request with --yes', async () => {
    const { result, sent } = await mint('polygon', '--yes')
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(sent).toMatchObject([{ ...request, blockchain: 'polygon' }])
  })

  test('needs no confirmation for a testnet', async () => {
    const { result, sent } = await mint('polygon-mumbai')
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(sent).toMatchObject([{ ...request, blockchain: 'polygon-mumbai' }])
  })
})

describe('the rate limit', () => {
  test('is shared by all commands on a machine: the third request within a second waits', async () => {
    const home = await tempHome()
    const arrivals: number[] = []
    const api = await fakeApi({
      getnfts: (body: { nft_gdn_ids: string[] }) => {
        arrivals.push(performance.now())
        return knows(nft('id-0'))(body)
      },
    })
    const show = (stateDir: string) =>
      cli(['nft', 'show', 'id-0', '--base-url', api.url], {
        env: { ...env, ...home.env, GDN_STATE_DIR: join(home.dir, stateDir) },
      })
    const codes = (await Promise.all(['a', 'b', 'c'].map(show))).map(({ code }) => code)
    expect(codes).toEqual([0, 0, 0])
    expect((arrivals[2] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(1000)
  })

  test('is not shared if its folder is unusable, which only --debug reports', async () => {
    const home = await tempHome()
    const api = await fakeApi({ getnfts: knows(nft('id-0')) })
    const file = join(home.dir, 'file')
    await writeFile(file, '')
    const show = (...flags: string[]) =>
      cli(['nft', 'show', 'id-0', '--base-url', api.url, ...flags], {
        env: { ...env, ...home.env, GDN_PACE_DIR: file },
      })
    const quiet = await show()
    expect(quiet.code).toBe(0)
    expect(quiet.stderr).toBe('')
    expect((await show('--debug')).stderr).toContain('the rate limit is not shared')
  })
})

describe('nft show', () => {
  test('shows the ENS name of the owner under the address, cleaned for the terminal', async () => {
    const receiver_name = 'alice\u001b]0;evil\u0007.eth'
    const { url } = await fakeApi({ getnfts: knows(nft('a', { receiver_name })) })
    const { stdout } = await cli(['nft', 'show', 'a', '--base-url', url], { env, tty: true })
    expect(stdout).toMatch(new RegExp(`^OWNER +${OWNER}\\nOWNER NAME +alice`, 'm'))
    expect(stdout).not.toContain('\u001b]0')
    const json = await cli(['nft', 'show', 'a', '--json', '--base-url', url], { env })
    expect(JSON.parse(json.stdout)).toMatchObject({ receiver_wallet_address: OWNER, receiver_name })
  })

  test('names IDs that the server does not know, prints the other NFTs, and exits with 5', async () => {
    const api = await fakeApi({ getnfts: knows(nft('a')) })
    const result = await cli(['nft', 'show', 'a', 'nope', '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(5)
    expect(JSON.parse(result.stdout)).toEqual([nft('a')])
    expect(errorOf(result)).toMatchObject({ code: 'not_found', details: { nft_gdn_ids: ['nope'] } })
  })

  test('requests an ID once even if it is given twice', async () => {
    const api = await fakeApi({ getnfts: knows(nft('a')) })
    await cli(['nft', 'show', 'a', '--nft-gdn-id', 'a', '--base-url', api.url], { env })
    expect(api.bodies('getnfts')).toEqual([{ nft_gdn_ids: ['a'] }])
  })
})

describe('nft list', () => {
  test('requests details in chunks, and keeps the order of the IDs', async () => {
    const ids = Array.from({ length: 450 }, (_, i) => `id-${i}`)
    const api = await fakeApi({
      getnftgdnids: () => ({
        body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ids },
      }),
      getnfts: knows(...ids.toReversed().map((id) => nft(id))),
    })
    const { stdout, code } = await cli(['nft', 'list', ...TARGET, '--json', '--base-url', api.url], { env })
    expect(code).toBe(0)
    expect(JSON.parse(stdout).map(({ nft_gdn_id }: { nft_gdn_id: string }) => nft_gdn_id)).toEqual(ids)
    expect(api.bodies('getnfts').map((body) => (body as { nft_gdn_ids: string[] }).nft_gdn_ids.length)).toEqual([
      200, 200, 50,
    ])
    expect(api.bodies('getnftgdnids')).toEqual([{ contract_addresses: CONTRACT, blockchain: 'polygon' }])
  })

  test('prints only the first NFTs with --limit', async () => {
    const body = { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ['a', 'b', 'c'] }
    const api = await fakeApi({ getnftgdnids: () => ({ body }) })
    const { stdout } = await cli(['nft', 'list', ...TARGET, '--limit', '2', '-o', 'ids', '--base-url', api.url], {
      env,
    })
    expect(stdout).toBe('a\nb\n')
  })

  const TITLE = 'Tidal Hours 05: Turning Tide'
  const collectionOf = (ids: readonly string[], ...nfts: ReturnType<typeof nft>[]) =>
    fakeApi({
      getnftgdnids: () => ({
        body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [...ids] },
      }),
      ...(nfts.length === 0 ? {} : { getnfts: knows(...nfts) }),
    })
  const titled = (id: string, more: object = {}) => nft(id, { request_metadata: { title: TITLE }, ...more })
  const LONG_ID = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'

  test('shows token, title, status and owner on a terminal, and the ID if whole titles leave room', async () => {
    const api = await collectionOf([LONG_ID], titled(LONG_ID))
    const list = (columns: number) =>
      cli(['nft', 'list', ...TARGET, '--base-url', api.url], { env, tty: true, stderrTty: true, columns })
    const narrow = await list(80)
    expect(narrow.stdout).toMatch(
      /^TOKEN +TITLE +STATUS +OWNER\n1 +Tidal Hours 05: Turning Tide +deployed +0x\w{4}…\w{4}\n$/,
    )
    expect(narrow.stderr).toContain('--fields token_id,nft_gdn_id')
    const wide = await list(120)
    expect(wide.stdout).toContain(`${TITLE}  deployed`)
    expect(wide.stdout).toContain(LONG_ID)
    expect(wide.stderr).not.toContain('--fields')
  })

  test('omits a status that all NFTs share before it omits their IDs', async () => {
    const ids = [1, 2].map((n) => `${LONG_ID.slice(0, -1)}${n}`)
    const short = (id: string) => titled(id, { request_metadata: { title: 'Tidal Hours 05' } })
    const api = await collectionOf(ids, ...ids.map(short))
    const argv = ['nft', 'list', ...TARGET, '--base-url', api.url]
    const { stdout, stderr } = await cli(argv, { env, tty: true, stderrTty: true, columns: 80 })
    expect(stdout).toMatch(/^TOKEN +TITLE +OWNER +ID\n1 +Tidal Hours 05 +0x\w{4}…\w{4} +0197a1f2-/)
    expect(stderr).toContain('All 2 NFTs have the status deployed.')
  })

  test('shows no owner of a burned NFT, whose owner in the API is the zero address', async () => {
    const zero = `0x${'0'.repeat(40)}`
    const api = await collectionOf(['a'], titled('a', { burned: true, receiver_wallet_address: zero }))
    const run = async (...argv: string[]) =>
      (await cli([...argv, '--base-url', api.url], { env, tty: true, columns: 120 })).stdout
    expect(await run('nft', 'list', ...TARGET)).toMatch(/ burned +a\n$/)
    expect(await run('nft', 'show', 'a')).not.toContain('OWNER')
    const sheet = await cli(['nft', 'list', ...TARGET, '-o', 'csv', '--for-spreadsheet', '--base-url', api.url], {
      env,
    })
    expect(sheet.stdout).not.toContain(zero)
    expect(sheet.stdout).toMatch(/,burned,a,/)
    for (const command of [
      ['list', ...TARGET],
      ['show', 'a'],
    ]) {
      const csv = [...command, '-o', 'csv', '--for-spreadsheet', '--fields', 'status,receiver_wallet_address']
      const { stdout } = await cli(['nft', ...csv, '--base-url', api.url], { env })
      expect(stdout).toBe('\ufeffstatus,receiver_wallet_address\r\nburned,\r\n')
    }
    const plain = await cli(['nft', 'show', 'a', '-o', 'csv', '--fields', 'status', '--base-url', api.url], { env })
    expect(plain.stdout).toBe('status\r\ndeployed\r\n')
    const json = await cli(['nft', 'list', ...TARGET, '--json', '--base-url', api.url], { env })
    expect(JSON.parse(json.stdout)).toMatchObject([{ receiver_wallet_address: zero }])
  })

  test('prints every NFT with its ID to a pipe, and the API fields as JSON', async () => {
    const ids = Array.from({ length: 201 }, (_, i) => `id-${i}`)
    const api = await collectionOf(ids, ...ids.map((id) => titled(id)))
    const { stdout } = await cli(['nft', 'list', ...TARGET, '--base-url', api.url], { env })
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(201)
    expect(lines[0]).toBe(['1', TITLE, 'deployed', OWNER, 'id-0'].join('\t'))
    const json = JSON.parse((await cli(['nft', 'list', ...TARGET, '--json', '--base-url', api.url], { env })).stdout)
    expect(json[0]).toEqual({ ...titled('id-0'), blockchain: 'polygon' })
  })

  test('shows the first 200 NFTs on a terminal, and names the command that shows the rest', async () => {
    const ids = Array.from({ length: 201 }, (_, i) => `id-${i}`)
    const api = await collectionOf(ids, ...ids.map((id) => titled(id)))
    const list = (...more: string[]) =>
      cli(['nft', 'list', ...TARGET, ...more, '--base-url', api.url], { env, tty: true, columns: 120 })
    const cut = await list('-q')
    expect(cut.stdout).not.toContain('id-200')
    expect(cut.stderr).toContain('Showing the first 200 of 201 NFTs. Add `--limit 201` to show all')
    expect(api.bodies('getnfts')).toHaveLength(1)
    const whole = await list('--limit', '201')
    expect(whole.stdout).toContain('id-200')
    expect(whole.stderr).not.toContain('Showing the first')
    const narrow = ['nft', 'list', ...TARGET, '--base-url', api.url]
    const { stderr } = await cli(narrow, { env, tty: true, stderrTty: true, columns: 60 })
    expect(stderr).toContain('All 200 NFTs shown have the status deployed.')
  })

  test('requests no details for -o ids or --fields nft_gdn_id', async () => {
    const api = await collectionOf(['a', 'b'])
    const list = (...more: string[]) => cli(['nft', 'list', ...TARGET, ...more, '--base-url', api.url], { env })
    expect((await list('-o', 'ids')).stdout).toBe('a\nb\n')
    expect(JSON.parse((await list('--json', '--fields', 'nft_gdn_id')).stdout)).toEqual([
      { nft_gdn_id: 'a' },
      { nft_gdn_id: 'b' },
    ])
    expect(api.bodies('getnfts')).toEqual([])
  })
})

test('nft show marks files that the server does not store', async () => {
  const file_fields = [
    { key: 'image', url: `ar://${'a'.repeat(43)}` },
    { key: 'video', url: 'https://a.test/x.mp4' },
  ]
  const shown = nft('a', { request_metadata: { title: 'x', file_fields }, files_not_stored: ['image'] })
  const { url } = await fakeApi({ getnfts: knows(shown) })
  const { stdout } = await cli(['nft', 'show', 'a', '--base-url', url], { env, tty: true })
  expect(stdout).toMatch(/image +ar:\/\/a+ \(not stored\s+here\)$/m)
  expect(stdout).toMatch(/video +https:\/\/a\.test\/x\.mp4$/m)
  const json = await cli(['nft', 'show', 'a', '--json', '--base-url', url], { env })
  expect(JSON.parse(json.stdout)).toEqual(shown)
})

describe('nft wait', () => {
  test('waits for all NFTs, and polls only those still pending', async () => {
    let requestCount = 0
    const api = await fakeApi({
      getnfts: (body: { nft_gdn_ids: string[] }) => {
        requestCount += 1
        return knows(nft('a'), nft('b', { status: requestCount < 3 ? 'initiated' : 'deployed' }))(body)
      },
    })
    const { code } = await cli(['nft', 'wait', 'a', 'b', '--base-url', api.url], { env })
    expect(code).toBe(0)
    expect(api.bodies('getnfts').at(-1)).toEqual({ nft_gdn_ids: ['b'] })
  })

  const REASON = 'https://a.test/x.png: no answer within 30 s (attempt 2 of 8)\u001b]0;evil\u0007'
  const SHOWN = /https:\/\/a\.test\/x\.png: no answer within 30 s \(attempt 2 of 8\)/
  const waits = (id: string) => nft(id, { status: 'initiated', token_id: null, pending_reason: REASON })

  test('names the most common pending reason in the timeout error', async () => {
    const other = nft('c', { status: 'initiated', pending_reason: 'its files are being fetched' })
    const api = await fakeApi({ getnfts: knows(waits('a'), waits('b'), other) })
    const result = await cli(['nft', 'wait', 'a', 'b', 'c', '--base-url', api.url], { env, ...timeUpWhileWaiting() })
    expect(result.code).toBe(8)
    expect(result.stderr).toMatch(/3 NFTs are still pending after 300 s: 2 NFTs: https:\/\/a\.test\/x\.png: no answer/)
    const json = await cli(['nft', 'wait', 'a', '--json', '--base-url', api.url], { env, ...timeUpWhileWaiting() })
    expect(JSON.parse(json.stdout)).toMatchObject({ pending_reason: REASON })
    expect(errorOf(json).message).toMatch(SHOWN)
  })

  test('names the most common pending reason in the progress', async () => {
    const shown: string[] = []
    const progress = async () => ({ update: (text: string) => void shown.push(text), stop() {} })
    const { signal } = new AbortController()
    const deps = { io: { progress }, signals: { signal }, sleep: async () => {} } as unknown as Deps
    const client = {
      supports: () => false,
      call: async () => ({ nfts: [waits('a')] }),
    } as unknown as Connection['client']
    await showWaitForNfts(deps, { client, server: { isLoopback: false } as Server }, ['a'], 0)
    expect(shown).toEqual([expect.stringMatching(/0 done, 1 to go: https:\/\/a\.test\/x\.png: no answer/)])
  })

  test('omits the reason for a server that returns none', async () => {
    const api = await fakeApi({ getnfts: knows(nft('a', { status: 'initiated' })) })
    const result = await cli(['nft', 'wait', 'a', '--json', '--base-url', api.url], { env, ...timeUpWhileWaiting() })
    expect(errorOf(result).message).toBe('1 NFT is still pending after 300 s')
  })
})

describe('exit codes of server responses', () => {
  const form = (title: string) => ({ error: { title, message: 'because' } })
  test.each([
    [400, form('Bad Request'), 5, 'refused'],
    [401, form('Unauthorized'), 4, 'unauthorized'],
    [403, form('Forbidden'), 4, 'forbidden'],
    [500, form('Internal Server Error'), 6, 'bad_answer'],
    [200, { hello: 'world' }, 6, 'bad_answer'],
  ])('maps %i %j to exit code %i', async (status, body, code, name) => {
    const api = await fakeApi({ getnfts: () => ({ status, body }) })
    const result = await cli(['nft', 'show', 'a', '--base-url', api.url, '--json'], { env })
    expect(result).toMatchObject({ code, stdout: '' })
    expect(errorOf(result).code).toBe(name)
  })

  test('redacts the API key in the debug log', async () => {
    const api = await fakeApi({ getnfts: knows(nft('a')) })
    const { stderr } = await cli(['nft', 'show', 'a', '--base-url', api.url, '--debug'], {
      env: { GDN_API_KEY: 'hush-hush' },
    })
    expect(stderr).toContain('/api/v1/getnfts')
    expect(stderr).not.toContain('hush-hush')
  })

  test('rejects an API key with a line break, and does not send it', async () => {
    const { code, stderr } = await cli(['nft', 'show', 'a', '--base-url', 'http://127.0.0.1:9'], {
      env: { GDN_API_KEY: 'key\r\nx-evil: 1' },
    })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('has invalid characters') })
    expect(stderr).not.toContain('x-evil')
  })
})

test('nft list into a pipe shows no spinner, whose line the rows of the next program would follow', async () => {
  const ids = Array.from({ length: 250 }, (_, n) => `id-${n}`)
  const api = await fakeApi({
    getnftgdnids: () => ({
      body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ids },
    }),
    getnfts: ({ nft_gdn_ids }: { nft_gdn_ids: string[] }) => ({
      body: { requests: { nft_gdn_ids }, nfts: nft_gdn_ids.map((id) => nft(id)) },
    }),
  })
  const { env } = await tempHome()
  const argv = ['nft', 'list', '-c', CONTRACT, '-b', 'polygon', '--base-url', api.url]
  const { stdout, stderr } = await cli(argv, { env: { ...env, GDN_API_KEY: 'a-key' }, stderrTty: true })
  expect([stderr, stdout.trimEnd().split('\n').length]).toEqual(['', 250])
})
