import { describe, expect, test } from 'vitest'
import type { Transport, TransportRequest } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { createChainReader } from '../../src/verify/chain-reader.ts'
import { createStorageReader } from '../../src/verify/storage-reader.ts'
import { verifyNfts } from '../../src/verify/verify.ts'

interface Call {
  id: number
  method: string
  params: { to: string; data: string }[]
}

const clock = { now: () => 0, sleep: async () => {}, random: () => 0 }

/** A node whose responses the test determines. `asked` has the request bodies. */
function node(answer: (body: Call | Call[]) => unknown, status = 200, batchStatus = status) {
  const requests: (Call | Call[])[] = []
  const transport: Transport = {
    async request({ body }: TransportRequest) {
      const parsed = JSON.parse(Buffer.from(body ?? []).toString()) as Call | Call[]
      requests.push(parsed)
      return {
        status: Array.isArray(parsed) ? batchStatus : status,
        headers: {},
        body: Buffer.from(JSON.stringify(answer(parsed)) ?? ''),
      }
    },
    close: async () => {},
  }
  const reader = createChainReader({ url: 'https://node.example/v1/secret', transport, clock, userAgent: 'gdn/0' })
  return { reader, asked: requests }
}

const ok = ({ id, params }: Call) => ({ jsonrpc: '2.0', id, result: params[0]?.data })
const calls = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ to: '0x1', data: `0x${String(i).padStart(4, '0')}` }))

test('sends many calls in batches of a hundred, and matches results by ID instead of order', async () => {
  const { reader, asked } = node((body) => (body as Call[]).map(ok).reverse())
  const results = await reader.call(calls(250))
  expect(asked.map((batch) => (batch as Call[]).length)).toEqual([100, 100, 50])
  expect(results.map((result) => 'data' in result && result.data)).toEqual(calls(250).map(({ data }) => data))
})

test('sends single calls to a node without batches', async () => {
  const refusal = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no batches here' } }
  const { reader, asked } = node((body) => (Array.isArray(body) ? refusal : ok(body)))
  expect(await reader.call(calls(3))).toEqual(calls(3).map(({ data }) => ({ kind: 'value', data })))
  expect(asked).toHaveLength(4)
})

test.each([
  ['HTTP 400', 400, { jsonrpc: '2.0', id: null, error: { code: 31, message: 'Batch of more than 3 requests' } }],
  ['HTTP 500', 500, 'no'],
  ['a batch with one error', 200, [{ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batch too large' } }]],
])('sends single calls to a node that rejects a batch with %s', async (_what, status, refusal) => {
  const { reader, asked } = node((body) => (Array.isArray(body) ? refusal : ok(body)), 200, status)
  expect(await reader.call(calls(5))).toEqual(calls(5).map(({ data }) => ({ kind: 'value', data })))
  expect(asked).toHaveLength(6)
})

test('does not repeat a batch as single calls if the provider limits the rate', async () => {
  const { reader, asked } = node(() => 'slow', 429)
  await expect(reader.call(calls(5))).rejects.toMatchObject({ details: { status: 429 } })
  expect(asked.every((body) => Array.isArray(body))).toBe(true)
})

test('repeats calls without a result, and reverted ones once in case the node lags', async () => {
  let left = 2
  const { reader, asked } = node((body) => {
    const batch = body as Call[]
    if (left-- === 2) {
      const [first, second] = batch.map(({ id }) => ({ jsonrpc: '2.0', id }))
      const limit = { code: -32005, message: 'limit exceeded' }
      // The last of four is missing.
      return [
        { ...first, error: limit },
        { ...second, error: { code: 3, message: 'no such token' } },
        ok(batch[2] as Call),
      ]
    }
    return batch.map(ok)
  })
  expect(await reader.call(calls(4))).toEqual(calls(4).map(({ data }) => ({ kind: 'value', data })))
  expect(asked.map((batch) => (batch as Call[]).map(({ params }) => params[0]?.data))).toEqual([
    calls(4).map(({ data }) => data),
    [0, 1, 3].map((index) => calls(4)[index]?.data),
  ])
})

test('keeps the results received so far if the node becomes unreachable', async () => {
  let isAway = false
  const { reader } = node((body) => {
    if (isAway) throw new GdnError('unreachable', 'away')
    isAway = true
    return (body as Call[]).slice(1).map(ok)
  })
  expect(await reader.call(calls(2))).toMatchObject([{ kind: 'failed' }, { kind: 'value' }])
})

test.each([
  ['a revert', { error: { code: 3, message: 'execution reverted' } }, 'reverted'],
  ['a revert of an old node', { error: { code: -32000, message: 'VM Exception: revert' } }, 'reverted'],
  ['an error', { error: { code: -32005, message: 'limit exceeded' } }, 'failed'],
  ['a result that is not hex', { result: 'x' }, 'failed'],
  ['half a byte', { result: '0x1' }, 'failed'],
  ['neither result nor error', {}, 'failed'],
])('reports %s as %j', async (_, answer, kind) => {
  const { reader } = node((body) => (body as Call[]).map(({ id }) => ({ jsonrpc: '2.0', id, ...answer })))
  expect(await reader.call(calls(1))).toMatchObject([{ kind }])
})

test.each([
  ['an unrelated response', 200, { hello: 'world' }],
  ['an HTTP error', 404, { error: { title: 'Not Found', message: 'no' } }],
])('reports that no chain responds for %s, without the path, which may have a key', async (_, status, answer) => {
  const { reader } = node(() => answer, status)
  await expect(reader.chainId()).rejects.toMatchObject({
    code: 'bad_answer',
    message: expect.stringMatching(/^no chain responds at https:\/\/node\.example: (?!.*secret)/),
  })
})

describe('metadata', () => {
  const CID = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'

  async function read(url: string, gateway = 'https://gateway.example', status = 200, body = '{"a":1}') {
    const urls: string[] = []
    const transport: Transport = {
      async request(request) {
        urls.push(request.url)
        return { status, headers: {}, body: Buffer.from(body) }
      },
      close: async () => {},
    }
    const stored = await createStorageReader({ gateway, transport, clock, userAgent: 'gdn/0' }).readJson(url)
    return { stored, urls }
  }

  test.each(['https://gateway.example', 'https://gateway.example/', 'https://gateway.example/ipfs/'])(
    'is read from the gateway %s',
    async (gateway) => {
      const { stored, urls } = await read(`ipfs://${CID}/a b?.json`.replace('?', ''), gateway)
      expect(stored).toEqual({ kind: 'json', value: { a: 1 } })
      expect(urls).toEqual([`https://gateway.example/ipfs/${CID}/a%20b.json`])
    },
  )

  test.each([
    'http://169.254.169.254/latest',
    'https://example.com/0.json',
    'data:application/json,{}',
    'ipfs://x',
    '',
  ])('is never read from %j, because a token may name any URL', async (url) => {
    expect(await read(url)).toEqual({
      stored: { kind: 'failed', message: 'the token URI is not an ipfs URL' },
      urls: [],
    })
  })

  test.each([
    [404, '', 'missing'],
    [410, '', 'missing'],
    [403, '', 'failed'],
    [200, '<html>', 'missing'],
  ])('counts after HTTP %i with %j as %s', async (status, body, kind) => {
    expect((await read(`ipfs://${CID}`, undefined, status, body)).stored.kind).toBe(kind)
  })
})

test('reports what could not be read as unverified instead of wrong', async () => {
  const { reader } = node(() => ({}), 500)
  const claim = { contractAddress: '0x1', tokenId: '1', owner: '0x2', metadataUrl: null, requested: null }
  const storage = { readJson: async () => ({ kind: 'failed', message: 'x' }) as const }
  expect(await verifyNfts(reader, storage, [claim, { ...claim, tokenId: 'Mint111' }])).toEqual([
    { verified: null, reason: 'no chain responds at https://node.example: HTTP 500' },
    { verified: null, reason: 'the token ID is not a number' },
  ])
})
