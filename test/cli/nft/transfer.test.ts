/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import type { Connection, Deps } from '../../../src/cli/deps.ts'
import { showWaitForTransfer } from '../../../src/cli/request/waiting.ts'
import type { Server } from '../../../src/config/server.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { CONTRACT, DATE, fakeApi, knows, nft, OWNER, type Reply } from '../fake-api.ts'
import { type CliOptions, cli, errorOf, tempHome, timeUpWhileWaiting } from '../harness.ts'

const env = { GDN_API_KEY: 'key' }
const RECEIVER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const TRANSFER = ['nft', 'transfer', 'id-0', '--receiver', RECEIVER]
const REQUEST = {
  contract_address: CONTRACT,
  token_id: '1',
  blockchain: 'polygon',
  nft_gdn_id: 'id-0',
  sender_wallet_address: OWNER,
  receiver_wallet_address: RECEIVER,
}

const accepts = (requests: object): Reply => ({
  body: { requests, response: { transaction_gdn_id: 'tx', accepted_date: DATE } },
})

const transactions =
  (...states: object[]) =>
  (): Reply => {
    const state = states.length > 1 ? states.shift() : states[0]
    const record = { transaction_gdn_id: 'tx', transaction_hash: null, gas_used: null, error: null, ...state }
    return { body: { requests: { transaction_gdn_ids: ['tx'] }, transactions: [record] } }
  }

/** A getnfts that returns the new owner after n requests. */
const movesAfter = (n: number) => {
  let requestCount = 0
  return (body: { nft_gdn_ids: string[] }) =>
    knows(nft('id-0', { receiver_wallet_address: requestCount++ < n ? OWNER : RECEIVER }))(body)
}

/** A header in every response of a gdn backend. */
const IDEMPOTENT = { 'idempotency-supported': 'yes' }

describe('nft transfer', () => {
  test('shows the IDs of the NFT and of the transaction under two names', async () => {
    const api = await fakeApi({ getnfts: movesAfter(9), transfernft: accepts })
    const argv = [...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--no-wait']
    const { stdout } = await cli(argv, { env, tty: true })
    expect(stdout).toMatch(/^ID {2,}id-0$/m)
    expect(stdout).toMatch(/^TRANSACTION GDN ID {2,}tx$/m)
  })

  test('says that an NFT is burned instead of rejecting its owner, the zero address', async () => {
    const burned = nft('id-0', { burned: true, receiver_wallet_address: `0x${'0'.repeat(40)}` })
    const api = await fakeApi({ getnfts: knows(burned) })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    expect(errorOf(result)).toMatchObject({ code: 'refused', message: "id-0 is burned, so it can't be transferred" })
  })

  test('looks up token, contract and owner, and waits for the transaction and the new owner', async () => {
    const api = await fakeApi({
      getnfts: movesAfter(2),
      transfernft: accepts,
      gettransactions: transactions(
        { status: 'initiated' },
        { status: 'deployed', transaction_hash: '0xabc', gas_used: '55786' },
      ),
    })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(result.stdout)).toEqual({
      ...REQUEST,
      status: 'deployed',
      transaction_gdn_id: 'tx',
      accepted_date: DATE,
      transaction_hash: '0xabc',
      gas_used: '55786',
      error: null,
    })
    expect(api.bodies('transfernft')).toEqual([REQUEST])
    expect(api.bodies('gettransactions')).toHaveLength(2)
    expect(api.bodies('getnfts')).toHaveLength(3)
  })

  test('waits only for the new owner on a server without gettransactions', async () => {
    const api = await fakeApi({ getnfts: movesAfter(3), transfernft: accepts })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(0)
    expect(JSON.parse(result.stdout)).toMatchObject({ status: 'deployed', receiver_wallet_address: RECEIVER })
    expect(api.bodies('gettransactions')).toHaveLength(1)
    expect(api.bodies('getnfts')).toHaveLength(4)
  })

  test('looks up nothing that flags provide, and accepts the API names of flags', async () => {
    const api = await fakeApi({ transfernft: accepts })
    const argv = ['nft', 'transfer', '--nft-gdn-id', 'id-0', '--receiver-wallet-address', RECEIVER, '--tokenid', '1']
    const more = ['--sender-wallet-address', OWNER, '--contract-address', CONTRACT, '-b', 'polygon', '--no-wait']
    const result = await cli([...argv, ...more, '--base-url', api.url, '-o', 'ids'], { env })
    expect(result).toMatchObject({ code: 0, stdout: 'id-0\n' })
    expect(api.bodies('transfernft')).toEqual([REQUEST])
    // The reference ID must be decided before the request body is written.
    expect(api.calls.map(({ path }) => path)).toEqual(['/healthz', '/api/v1/getisgdnnft', '/api/v1/transfernft'])
  })

  test('accepts --to for the receiver', async () => {
    const flags = ['--to', RECEIVER, '--token-id', '1', '--sender', OWNER, '-c', CONTRACT, '-b', 'polygon', '--dry-run']
    const { stdout } = await cli(['nft', 'transfer', 'id-0', ...flags, '--base-url', 'http://127.0.0.1:9'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ body: { receiver_wallet_address: RECEIVER } })
  })

  test('prefers a flag over the value that was looked up', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0')), transfernft: accepts })
    const other = '0x1111111111111111111111111111111111111111'
    const argv = [...TRANSFER, '-b', 'polygon', '--sender', other, '--no-wait', '--base-url', api.url]
    expect((await cli(argv, { env })).code).toBe(0)
    expect(api.bodies('transfernft')).toEqual([{ ...REQUEST, sender_wallet_address: other }])
  })

  describe('a token of a collection', () => {
    const listed = (ids: readonly string[]) => () => ({
      body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ids },
    })
    const collection = () => {
      const tokens = [
        nft('id-0'),
        nft('id-1', { token_id: null, status: 'initiated' }),
        nft('id-2', { token_id: '12' }),
      ]
      return fakeApi({
        getnftgdnids: listed(['id-0', 'id-1', 'id-2']),
        getnfts: knows(...tokens),
        transfernft: accepts,
      })
    }
    const flags = ['--receiver', RECEIVER, '-b', 'polygon', '--no-wait']

    test.each([
      [['12', '-c', CONTRACT]],
      [['012', '-c', CONTRACT]],
      [[`${CONTRACT}/12`]],
      [[`${CONTRACT}/12`, '-c', CONTRACT, '--token-id', '12']],
    ])('is found: %j', async (token) => {
      const api = await collection()
      const result = await cli(['nft', 'transfer', ...token, ...flags, '--base-url', api.url], { env })
      expect(result.code, result.stderr).toBe(0)
      expect(api.bodies('transfernft')).toEqual([{ ...REQUEST, nft_gdn_id: 'id-2', token_id: '12' }])
    })

    test('is not looked up if the server has an NFT with this ID', async () => {
      const api = await fakeApi({ getnfts: knows(nft('12', { token_id: '7' })), transfernft: accepts })
      const result = await cli(['nft', 'transfer', '12', '-c', CONTRACT, ...flags, '--base-url', api.url], { env })
      expect(result.code, result.stderr).toBe(0)
      expect(api.bodies('transfernft')).toEqual([{ ...REQUEST, nft_gdn_id: '12', token_id: '7' }])
    })

    const other = '0x1111111111111111111111111111111111111111'
    test.each<[string, string[], number, string]>([
      ['the collection lacks', ['13', '-c', CONTRACT], 5, `the server has no token 13 of ${CONTRACT}`],
      ['has no collection', ['12'], 5, 'For a token ID, use `<contract>/12`.'],
      ['is of two contracts', [`${CONTRACT}/12`, '-c', other], 2, '--contract: differs from the contract of'],
      ['has two IDs', [`${CONTRACT}/12`, '--token-id', '7'], 2, '--token-id: differs from the token ID of'],
      ['is of another contract', ['id-2', '-c', other], 2, `--contract: id-2 is token 12 of ${CONTRACT}`],
      ['has another ID', ['id-2', '--token-id', '7'], 2, `--token-id: id-2 is token 12 of ${CONTRACT}`],
    ])('that %s is rejected, and nothing is sent', async (_what, token, code, message) => {
      const sent: string[] = []
      const api = await fakeApi({
        '*': (request, { path }) => {
          const endpoint = path.split('/').at(-1) ?? ''
          if (endpoint === 'getnftgdnids') return listed(['id-2'])()
          if (endpoint === 'getnfts') return knows(nft('id-2', { token_id: '12' }))(request as never)
          if (endpoint === 'transfernft') sent.push(endpoint)
          return { status: 404, body: {} }
        },
      })
      const result = await cli(['nft', 'transfer', ...token, ...flags, '--base-url', api.url], { env })
      expect(result).toMatchObject({ code, stderr: expect.stringContaining(message) })
      expect(sent).toEqual([])
    })
  })

  test('reads a JSON request from standard input, with either spelling of the token ID; flags override it', async () => {
    const { token_id, ...rest } = REQUEST
    const api = await fakeApi({ transfernft: accepts })
    const stdin = JSON.stringify({ ...rest, tokenid: token_id, receiver_wallet_address: OWNER })
    const argv = ['nft', 'transfer', '-f', '-', '--receiver', RECEIVER, '--no-wait', '--base-url', api.url]
    expect((await cli(argv, { env, stdin })).code).toBe(0)
    expect(api.bodies('transfernft')).toEqual([REQUEST])
  })

  test('takes the blockchain from a collection created here, or from the server', async () => {
    const home = { ...(await tempHome()).env, ...env }
    const api = await fakeApi({
      createcollection: (request: object) => ({
        body: { request, response: { transaction_gdn_id: 'c', accepted_date: DATE } },
      }),
      getcollections: () => ({
        body: {
          requests: { transaction_gdn_ids: ['c'] },
          collections: [
            {
              transaction_gdn_ids: 'c',
              contract_address: CONTRACT,
              name: 'Dawn',
              blockchain: 'astar',
              wallet_address: OWNER,
              status: 'deployed',
            },
          ],
        },
      }),
      getnfts: knows(nft('id-0'), nft('id-1', { blockchain: 'fantom' })),
      transfernft: accepts,
    })
    const gdn = (...argv: string[]) => cli([...argv, '--no-wait', '--base-url', api.url], { env: home })
    await cli(['collection', 'create', '--name', 'Dawn', '-b', 'astar', '--wallet', OWNER, '--base-url', api.url], {
      env: home,
    })
    expect((await gdn(...TRANSFER)).code).toBe(0)
    expect((await gdn('nft', 'transfer', 'id-1', '--receiver', RECEIVER)).code).toBe(0)
    expect(api.bodies('transfernft')).toMatchObject([{ blockchain: 'astar' }, { blockchain: 'fantom' }])
  })

  test.each([403, 429, 502])(
    'is sent although the server answers a look-up of its collection with %i',
    async (status) => {
      const home = { ...(await tempHome()).env, ...env }
      const refusal = { status, body: { error: { title: 'Refused', message: 'not now' } } }
      const known = { transaction_gdn_ids: 'c', contract_address: CONTRACT, name: 'Dawn', blockchain: 'polygon' }
      const collections = [{ ...known, wallet_address: OWNER, status: 'deployed' }]
      let isCreated = false
      const api = await fakeApi({
        createcollection: (request: object) => ({
          body: { request, response: { transaction_gdn_id: 'c', accepted_date: DATE } },
        }),
        getcollections: () =>
          isCreated ? refusal : { body: { requests: { transaction_gdn_ids: ['c'] }, collections } },
        getnfts: knows(nft('id-0')),
        transfernft: accepts,
      })
      const gdn = (...argv: string[]) => cli([...argv, '--base-url', api.url], { env: home })
      await gdn('collection', 'create', '--name', 'Dawn', '-b', 'polygon', '--wallet', OWNER)
      isCreated = true
      expect((await gdn(...TRANSFER, '-b', 'polygon', '--no-wait')).code).toBe(0)
      expect(api.bodies('getcollections').length).toBeGreaterThan(1)
      expect(api.bodies('transfernft')).toHaveLength(1)
    },
  )

  test('looks up, prints the request and sends nothing with --dry-run', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0')) })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--dry-run', '--json', '--base-url', api.url], { env })
    expect(JSON.parse(result.stdout)).toMatchObject({ url: `${api.url}/api/v1/transfernft`, body: REQUEST })
    expect(api.bodies('transfernft')).toEqual([])
  })

  test.each(['failed', 'error'])(
    'exits with 5 and the reason if its status is %s, and the same command sends a new transfer',
    async (status) => {
      const api = await fakeApi({
        getnfts: knows(nft('id-0')),
        transfernft: accepts,
        gettransactions: transactions({ status, error: 'the owner took the right away' }),
      })
      const home = { ...(await tempHome()).env, ...env }
      for (const times of [1, 2]) {
        const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env: home })
        expect(result.code).toBe(5)
        expect(JSON.parse(result.stdout)).toMatchObject({ status, transaction_gdn_id: 'tx' })
        expect(errorOf(result).message).toContain('the owner took the right away')
        expect(api.bodies('transfernft')).toHaveLength(times)
      }
    },
  )

  test('exits with 8 while pending, and the same command resumes, even if the owner has changed', async () => {
    const state = { status: 'initiated', pending_reason: '0.003 POL is missing' }
    let owner = OWNER
    const api = await fakeApi({
      getnfts: (body: { nft_gdn_ids: string[] }) => knows(nft('id-0', { receiver_wallet_address: owner }))(body),
      transfernft: accepts,
      gettransactions: transactions(state),
    })
    const home = { ...(await tempHome()).env, ...env }
    const argv = [...TRANSFER, '-b', 'polygon', '--base-url', api.url]
    const first = await cli(argv, { env: home, ...timeUpWhileWaiting() })
    expect(first.code).toBe(8)
    expect(first.stderr).toContain('still pending after 300 s: 0.003 POL is missing')
    expect(first.stderr).toContain('gdn nft show id-0')
    state.status = 'deployed'
    owner = RECEIVER
    const second = await cli([...argv, '--json'], { env: home })
    expect(second.code).toBe(0)
    expect(JSON.parse(second.stdout)).toMatchObject({ status: 'deployed', sender_wallet_address: OWNER })
    expect(api.bodies('transfernft')).toHaveLength(1)
  })

  test.each([
    ['transfer', 'transfernft', ['--receiver', RECEIVER], 'Run `gdn nft show id-0'],
    ['burn', 'burnnft', ['--yes'], 'The request was accepted. Run the same command again to keep waiting.'],
  ])(
    'nft %s prints what was accepted and how to go on after Ctrl-C during the wait',
    async (verb, endpoint, more, hint) => {
      const stop = new AbortController()
      const pending = transactions({ status: 'initiated', pending_reason: '0.003 POL is missing' })
      const api = await fakeApi({
        getnfts: knows(nft('id-0', { enable_burn: true })),
        [endpoint]: accepts,
        gettransactions: () => {
          setImmediate(() => stop.abort(new GdnError('interrupted', 'interrupted')))
          return pending()
        },
      })
      const argv = ['nft', verb, 'id-0', ...more, '-b', 'polygon', '--base-url', api.url]
      const result = await cli(argv, { env, signal: stop.signal })
      expect(result).toMatchObject({ code: 130, stdout: expect.stringContaining('id-0') })
      expect(result.stderr).toContain(hint)
    },
  )

  test('shows in the progress why a transfer is pending', async () => {
    const shown: string[] = []
    const progress = async () => ({ update: (text: string) => void shown.push(text), stop() {} })
    const { signal } = new AbortController()
    const deps = { io: { progress }, signals: { signal }, sleep: async () => {} } as unknown as Deps
    const { body } = transactions({ status: 'initiated', pending_reason: '0.003 POL is missing' })()
    const client = { supports: () => false, call: async () => body } as unknown as Connection['client']
    const transfer = { nftGdnId: 'id-0', sender: OWNER, receiver: RECEIVER, transactionId: 'tx' }
    await showWaitForTransfer(deps, { client, server: { isLoopback: false } as Server }, transfer, 0)
    expect(shown).toEqual(['Waiting for the transfer: 0.003 POL is missing'])
  })

  test('succeeds and sends nothing if the receiver already owns the NFT', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0', { receiver_wallet_address: RECEIVER })) })
    const argv = [...TRANSFER, '-b', 'polygon', '--base-url', api.url]
    const { code, stderr } = await cli(argv, { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'The receiver already owns the NFT. Nothing was sent.\n' })
    const { stdout } = await cli([...argv, '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ nft_gdn_id: 'id-0', receiver_wallet_address: RECEIVER })
    expect(await cli([...argv, '--json', '--dry-run'], { env })).toMatchObject({ code: 0, stdout: '[]\n' })
    expect(api.bodies('transfernft')).toEqual([])
  })

  test('exits with 8 for an NFT that is not deployed yet, and names gdn nft wait', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0', { status: 'initiated', token_id: null })) })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(8)
    expect(errorOf(result)).toMatchObject({ hint: expect.stringContaining('gdn nft wait id-0') })
  })

  test.each(['failed', 'error'])(
    'exits with 5 for an NFT with the status %s, which was never minted',
    async (status) => {
      const api = await fakeApi({ getnfts: knows(nft('id-0', { status, token_id: null, error: 'no gas' })) })
      const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
      expect(result.code).toBe(5)
      expect(errorOf(result).message).toBe('id-0 failed and was never minted: no gas')
    },
  )

  test('prints the command that permits transfers by a gdn backend', async () => {
    const message = 'enable_transfer is off for this collection'
    const api = await fakeApi({
      getnfts: (body: { nft_gdn_ids: string[] }) => ({ ...knows(nft('id-0'))(body), headers: IDEMPOTENT }),
      transfernft: () => ({ status: 400, headers: IDEMPOTENT, body: { error: { title: 'Bad Request', message } } }),
    })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    const { hint } = errorOf(result)
    const call = `gdn collection set ${CONTRACT} -b polygon --enable-transfer --wallet <owner> --base-url ${api.url}`
    expect(hint?.split('\n')).toContain(call)
    expect(hint).not.toContain('gdn nft show')
  })

  test('refers to the service for a collection on another server', async () => {
    const message = 'enable_transfer is off for this collection'
    const api = await fakeApi({
      getnfts: knows(nft('id-0')),
      transfernft: () => ({ status: 400, body: { error: { title: 'Bad Request', message } } }),
    })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    expect(errorOf(result).hint).toMatch(/^If the collection does not let the API transfer NFTs, ask the service/)
    expect(errorOf(result).hint).not.toContain('gdn collection set')
  })

  test('prints the API error for a sender who does not own the NFT, and where to look', async () => {
    const message = 'sender_wallet_address does not own the NFT'
    const api = await fakeApi({
      getnfts: knows(nft('id-0')),
      transfernft: () => ({ status: 400, body: { error: { title: 'Bad Request', message } } }),
    })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(5)
    expect(errorOf(result)).toMatchObject({
      message: expect.stringContaining(message),
      hint: expect.stringMatching(/gdn nft show id-0.*\n.*--enable-transfer/),
    })
  })

  test('exits with 5 and names an ID that the server does not know', async () => {
    const api = await fakeApi({ getnfts: knows() })
    const result = await cli([...TRANSFER, '-b', 'polygon', '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(5)
    expect(errorOf(result)).toMatchObject({ code: 'not_found', message: expect.stringContaining('id-0') })
  })

  test('requires --blockchain if nothing else provides the blockchain', async () => {
    const api = await fakeApi({ getnfts: knows(nft('id-0')) })
    const { code, stderr } = await cli([...TRANSFER, '--base-url', api.url], { env })
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--blockchain: the blockchain of'),
    })
  })

  test('requires --yes on a public network off a terminal, and sends nothing without it', async () => {
    const whole = ['--sender', OWNER, '--token-id', '1', '-c', CONTRACT, '-b', 'polygon']
    const argv = [...TRANSFER, ...whole, '--base-url', 'https://api.example.invalid', '--json']
    const result = await cli(argv, { env })
    expect(result.code).toBe(3)
    const [contract, owner] = [CONTRACT, OWNER].map((address) => `${address.slice(0, 6)}…${address.slice(-4)}`)
    const question = `Transfer token 1 of ${contract} from ${owner} to ${RECEIVER}`
    expect(errorOf(result).message).toContain(question)
  })

  test.each<[string, string[], string, CliOptions?]>([
    ['no NFT', ['nft', 'transfer', '--receiver', RECEIVER], 'no NFT is specified'],
    ['two NFTs', [...TRANSFER, '--nft-gdn-id', 'id-1'], 'two NFTs are specified'],
    ['no receiver', ['nft', 'transfer', 'id-0'], '--receiver: is required'],
    [
      'an invalid receiver',
      ['nft', 'transfer', 'id-0', '--receiver', '0x12'],
      '--receiver: "0x12" must have 40 hex digits',
    ],
    [
      'a Solana address',
      ['nft', 'transfer', 'id-0', '--receiver', '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'],
      'is a Solana address, but the API does not transfer NFTs on Solana',
    ],
    ['Solana', [...TRANSFER, '-b', 'solana'], '--blockchain: the API does not transfer NFTs on solana'],
    [
      'Solana in a request',
      ['nft', 'transfer', '-f', '-'],
      'the API does not transfer NFTs on solana-testnet',
      { stdin: JSON.stringify({ ...REQUEST, blockchain: 'solana-testnet' }) },
    ],
    [
      'a token ID that is a number',
      ['nft', 'transfer', '-f', '-'],
      'stdin (token_id): must be a string',
      { stdin: JSON.stringify({ ...REQUEST, token_id: 1 }) },
    ],
    [
      'an unknown field',
      ['nft', 'transfer', '-f', '-'],
      'stdin (amount): is not a known field',
      { stdin: JSON.stringify({ ...REQUEST, amount: 1 }) },
    ],
    [
      'a receiver that is not a string',
      ['nft', 'transfer', '-f', '-'],
      'stdin (receiver_wallet_address): must be an address',
      { stdin: JSON.stringify({ ...REQUEST, receiver_wallet_address: 1 }) },
    ],
  ])('rejects %s with its location, and sends nothing', async (_what, argv, message, options = {}) => {
    const { code, stderr } = await cli([...argv, '--base-url', 'http://127.0.0.1:9'], { env, ...options })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })
})
