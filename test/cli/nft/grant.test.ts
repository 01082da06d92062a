/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { CONTRACT, DATE, fakeApi, knows, nft, OWNER, type Reply } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const env = { GDN_API_KEY: 'key' }
const SENDER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const TARGET = ['-c', CONTRACT, '-b', 'polygon']
const GRANT = ['nft', 'grant', ...TARGET, '--sender', SENDER, '--receiver', OWNER]

const REFUSED = { status: 400, body: { error: { title: 'Bad Request', message: 'enable_transfer is off' } } }

interface GrantBody {
  metadata: object[]
}

const accepts = ({ metadata, ...requests }: GrantBody): Reply => ({
  body: {
    message: 'accepted',
    requests: { ...requests, metadata },
    nfts: metadata.map((_, i) => ({ nft_gdn_ids: `id-${i}`, accepted_date: DATE })),
  },
})

describe('nft grant', () => {
  test('sends one request, and waits until the NFT is deployed and its owner has changed', async () => {
    const seen = [
      nft('id-0', { status: 'initiated', token_id: null, receiver_wallet_address: SENDER }),
      nft('id-0', { receiver_wallet_address: SENDER }),
      nft('id-0'),
    ]
    let requestCount = 0
    const api = await fakeApi({
      createnfttrans: accepts,
      getnfts: (body: { nft_gdn_ids: string[] }) => knows(seen[Math.min(requestCount++, 2)] ?? nft('id-0'))(body),
    })
    const result = await cli([...GRANT, '--title', 'Dawn', '--base-url', api.url, '--json'], { env })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(result.stdout)).toMatchObject({
      nft_gdn_id: 'id-0',
      status: 'deployed',
      sender_wallet_address: SENDER,
      receiver_wallet_address: OWNER,
      blockchain: 'polygon',
    })
    expect(api.bodies('createnfttrans')).toEqual([
      {
        contract_address: CONTRACT,
        blockchain: 'polygon',
        sender_wallet_address: SENDER,
        receiver_wallet_address: OWNER,
        metadata: [{ title: 'Dawn', description: '', file_fields: [] }],
      },
    ])
    expect(requestCount).toBe(3)
  })

  test('succeeds if the receiver has already transferred the NFT', async () => {
    const passedOn = nft('id-0', { receiver_wallet_address: '0x1111111111111111111111111111111111111111' })
    const api = await fakeApi({ createnfttrans: accepts, getnfts: knows(passedOn) })
    expect((await cli([...GRANT, '--title', 'Dawn', '--base-url', api.url], { env })).code).toBe(0)
  })

  test('explains after a rejection how a collection permits transfers by the API', async () => {
    const refused = { ...REFUSED, headers: { 'idempotency-supported': 'yes' } }
    const api = await fakeApi({ createnfttrans: () => refused })
    const { code, stderr } = await cli([...GRANT, '--title', 'Dawn', '--base-url', api.url], { env })
    expect(code).toBe(5)
    expect(stderr).toContain(`gdn collection set ${CONTRACT} -b polygon --enable-transfer --wallet <owner>`)
    expect(stderr).toContain('gdn collection create --enable-transfer')
  })

  test('accepts the API names of flags', async () => {
    const api = await fakeApi({ createnfttrans: accepts })
    const argv = ['nft', 'grant', `--contract-address=${CONTRACT}`, '-b', 'polygon', '--title', 'x', '--no-wait']
    const names = ['--sender-wallet-address', SENDER, '--receiver-wallet-address', OWNER]
    expect((await cli([...argv, ...names, '--base-url', api.url], { env })).code).toBe(0)
    expect(api.bodies('createnfttrans')).toMatchObject([
      { sender_wallet_address: SENDER, receiver_wallet_address: OWNER },
    ])
  })

  test('uses the wallet of the profile as sender if no flag names one', async () => {
    const api = await fakeApi({ createnfttrans: accepts })
    const home = { ...(await tempHome()).env, ...env }
    const set = ['config', 'set', 'wallet', SENDER, '--profile', 'main']
    expect((await cli(set, { env: home })).code).toBe(0)
    const argv = ['nft', 'grant', ...TARGET, '--receiver', OWNER, '--title', 'x', '--no-wait', '--profile', 'main']
    expect((await cli([...argv, '--base-url', api.url], { env: home })).code).toBe(0)
    expect(api.bodies('createnfttrans')).toMatchObject([{ sender_wallet_address: SENDER }])
  })

  test('sends a JSON request from standard input unchanged; flags override it', async () => {
    const request = {
      contract_address: CONTRACT,
      blockchain: 'polygon',
      sender_wallet_address: SENDER,
      receiver_wallet_address: SENDER,
      metadata: [1, 2].map((n) => ({ title: `T${n}`, description: 'd', file_fields: [] })),
    }
    const api = await fakeApi({ createnfttrans: accepts })
    const argv = ['nft', 'grant', '-f', '-', '--receiver', OWNER, '--no-wait', '--json', '--base-url', api.url]
    const { stdout } = await cli(argv, { env, stdin: JSON.stringify(request) })
    expect(JSON.parse(stdout)).toHaveLength(2)
    expect(api.bodies('createnfttrans')).toEqual([{ ...request, receiver_wallet_address: OWNER }])
  })

  test('--dry-run prints the request and sends nothing', async () => {
    const { code, stdout } = await cli([
      ...GRANT,
      '--title',
      'x',
      '--dry-run',
      '--json',
      '--base-url',
      'https://a.test',
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      url: 'https://a.test/api/v1/createnfttrans',
      body: { sender_wallet_address: SENDER, metadata: [{ title: 'x' }] },
    })
  })

  test('requires --yes on a public network off a terminal', async () => {
    const result = await cli([...GRANT, '--title', 'x', '--base-url', 'https://api.example.invalid', '--json'], { env })
    expect(result.code).toBe(3)
    expect(errorOf(result).message).toContain('Grant 1 NFT')
  })

  test.each(['failed', 'error'])('exits with 5 and the reason if the status of the grant is %s', async (status) => {
    const failed = nft('id-0', { status, error: 'the collection does not let the API transfer' })
    const api = await fakeApi({ createnfttrans: accepts, getnfts: knows(failed) })
    const result = await cli([...GRANT, '--title', 'x', '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(5)
    expect(errorOf(result)).toMatchObject({
      code: 'nft_failed',
      message: expect.stringContaining('let the API transfer'),
    })
  })

  test.each([
    ['no title', GRANT, '--title: is required without --file'],
    ['no sender', ['nft', 'grant', ...TARGET, '--receiver', OWNER, '--title', 'x'], '--sender: is required'],
    ['two senders', [...GRANT, '--title', 'x', '--sender', '0x12'], '--sender: is specified twice'],
    [
      'an invalid sender',
      ['nft', 'grant', ...TARGET, '--sender', '0x12', '--receiver', OWNER, '--title', 'x'],
      '--sender: "0x12" must have 40 hex digits',
    ],
    [
      'Solana',
      ['nft', 'grant', '-c', '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T', '-b', 'solana', '--title', 'x'],
      '--blockchain: transfers are unsupported on Solana',
    ],
    ['a manifest', ['nft', 'grant', '-f', 'drop.csv'], 'drop.csv is a manifest'],
  ])('rejects %s with its location, and sends nothing', async (_what, argv, message) => {
    const { code, stderr } = await cli([...argv, '--base-url', 'http://127.0.0.1:9'], { env })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    expect(stderr).not.toMatch(/did you mean/i)
  })
})
