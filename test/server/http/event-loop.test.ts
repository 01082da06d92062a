/** @module-tag slow */
import { beforeAll, expect, test } from 'vitest'
import { backendForFile, createTestCollection, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { cpuMs, longestTurn } from '../../helpers/longest-turn.ts'

let backend: TestBackend
let target: { contract_address: string; blockchain: string; receiver_wallet_address: string }

beforeAll(async () => {
  backend = await backendForFile()
  const { address } = await createTestCollection(backend)
  target = { contract_address: address, blockchain: 'polygon', receiver_wallet_address: WALLETS[1] ?? '' }
})

const times = <Item>(count: number, make: (n: number) => Item) => Array.from({ length: count }, (_, n) => make(n))
const nft = (n: number) => ({ title: `#${n}`, description: '', file_fields: [] })
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const fields = (count: number) => Object.fromEntries(times(count, (n) => [`f${n}`, 1]))

/** Without limits, each blocks the event loop for 0.3 to 2.3 s. The last ones are just below the limits. */
const EXPENSIVE: [name: string, path: string, body: () => unknown, status: number][] = [
  ['60,000 NFTs', '/api/v1/createnft', () => ({ ...target, metadata: times(60_000, nft) }), 413],
  ['30,000 NFTs', '/api/v1/createnft', () => ({ ...target, metadata: times(30_000, nft) }), 413],
  [
    '200,000 unknown fields of an NFT',
    '/api/v1/createnft',
    () => ({ ...target, metadata: [{ ...nft(1), ...fields(200_000) }] }),
    413,
  ],
  ['300,000 unknown fields', '/api/v1/createnft', () => ({ ...target, ...fields(300_000) }), 413],
  ['500,000 IDs', '/api/v1/getnfts', () => ({ nft_gdn_ids: times(500_000, () => 'ab') }), 413],
  ['2,000,000 nested lists', '/api/v1/createnft', () => nested(2_000_000), 400],
  ['250,000 nested lists without a key', '/rpc/polygon', () => nested(250_000), 400],
  ['10,000 calls to an embedded chain', '/rpc/polygon', () => times(10_000, () => ({ jsonrpc: '2.0' })), 200],
  ['1,000 NFTs', '/api/v1/createnft', () => ({ ...target, metadata: times(1000, nft) }), 200],
  ['99,000 unknown fields', '/api/v1/createnft', () => ({ ...target, ...fields(99_000) }), 400],
  ['99,000 IDs', '/api/v1/getnfts', () => ({ nft_gdn_ids: times(99_000, () => 'ab') }), 422],
]

/** Milliseconds to serialize and parse 60,000 NFTs, as a measure of the machine's speed. */
function roundTrip(): number {
  const began = process.cpuUsage()
  JSON.parse(JSON.stringify(times(60_000, nft)))
  return cpuMs(began)
}

async function send(path: string, body: Buffer): Promise<{ status: number; delay: number }> {
  const { result: status, longest: delay } = await longestTurn(async () => {
    const response = await fetch(`${backend.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey.reveal() },
      body,
    })
    await response.arrayBuffer()
    return response.status
  })
  return { status, delay }
}

test.each(EXPENSIVE)('%s in one request delay other requests by less than 400 ms', async (_, path, body, status) => {
  const content = body()
  const bytes = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
  const most = Math.max(400, 12 * roundTrip())
  // The cost of a request repeats each time. A garbage collection doesn't occur three times in a row.
  const delays: number[] = []
  do {
    const response = await send(path, bytes)
    expect(response.status).toBe(status)
    delays.push(response.delay)
  } while (Math.min(...delays) >= most && delays.length < 3)
  expect(Math.min(...delays)).toBeLessThan(most)
})
