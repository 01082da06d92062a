import { describe, expect, test } from 'vitest'
import { HEADERS, RUN_ERRORS } from '../../src/api/headers.ts'
import { toAttemptResult } from '../../src/batch/send/attempts.ts'
import { UNKNOWN_OUTCOME } from '../../src/client/outcome.ts'
import { GdnError } from '../../src/core/errors.ts'

/** Classifies a response to a request with two rows. Text is a body that isn't JSON. */
const verdict = (status: number, headers: Record<string, string>, body: unknown, rows = 2) =>
  toAttemptResult(
    {
      kind: 'answered',
      status,
      headers,
      ...(typeof body === 'string' ? { json: undefined, text: body } : { json: body }),
    },
    rows,
  )

const ERROR = { error: { title: 'x', message: 'y' } }

describe('a success', () => {
  const created = (...ids: unknown[]) => verdict(200, {}, { nfts: ids.map((id) => ({ nft_gdn_ids: id })) })

  test('with one ID for each row accepts the rows', async () => {
    expect(await created('a', 'b')).toEqual({ outcome: 'accepted', status: 200, created: ['a', 'b'] })
  })

  test('with the list in `response`, as in v1.2 of the hosted service, accepts the rows', async () => {
    const ids = ['a', 'b']
    const body = { response: ids.map((id) => ({ nft_gdn_ids: id })) }
    expect(await verdict(200, {}, body)).toEqual({ outcome: 'accepted', status: 200, created: ids })
  })

  test.each<[string, unknown]>([
    ['no JSON', 'fine'],
    ['no list', {}],
    ['another list', { nfts: 'ab' }],
    ['a transaction', { response: { transaction_gdn_id: 'a' } }],
    ['transactions without NFTs', { response: [{ transaction_gdn_id: 'a' }, { transaction_gdn_id: 'b' }] }],
    ['rows without IDs', { nfts: [{}, {}] }],
    ['empty IDs', { nfts: [{ nft_gdn_ids: 'a' }, { nft_gdn_ids: '' }] }],
    ['IDs that are no text', { nfts: [{ nft_gdn_ids: 1 }, { nft_gdn_ids: 2 }] }],
    ['too few IDs', { nfts: [{ nft_gdn_ids: 'a' }] }],
    ['too many IDs', { nfts: [{ nft_gdn_ids: 'a' }, { nft_gdn_ids: 'b' }, { nft_gdn_ids: 'c' }] }],
    ['one ID for two rows', { nfts: [{ nft_gdn_ids: 'a' }, { nft_gdn_ids: 'a' }] }],
  ])('with %s leaves the outcome unknown', async (_what, body) => {
    expect(await verdict(200, {}, body)).toEqual({
      ...{ ...UNKNOWN_OUTCOME, status: 200 },
      message: expect.stringContaining('the server returned'),
    })
  })

  test('with one row and no ID leaves the outcome unknown', async () => {
    expect(await verdict(200, {}, { nfts: [{}] }, 1)).toMatchObject({ outcome: 'unknown' })
  })
})

describe('a request', () => {
  test('a request that was not sent had no effect, and may be retried', async () => {
    const result = { kind: 'not_sent', reason: 'refused by the host' } as const
    const expected = {
      ...{ outcome: 'no_effect', cause: 'not_sent', status: null, message: 'refused by the host', retryAfterMs: null },
    }
    expect(await toAttemptResult(result, 2)).toStrictEqual(expected)
    const stop = new GdnError('unreachable', 'another backend')
    expect(await toAttemptResult({ ...result, stop }, 2)).toStrictEqual({ ...expected, stop })
  })

  test('a request whose connection was cut has an unknown outcome', async () => {
    expect(await toAttemptResult({ kind: 'cut', reason: 'cut' }, 2)).toStrictEqual({
      ...{ ...UNKNOWN_OUTCOME, message: 'cut' },
    })
  })
})

describe('an error of the API', () => {
  test.each([400, 404, 415, 422])('%i refuses the rows, with its message', async (status) => {
    expect(await verdict(status, {}, ERROR)).toStrictEqual({ outcome: 'refused', status, message: 'y' })
  })

  test.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
  ])('%i had no effect, and refuses no row', async (status, cause) => {
    const expected = { outcome: 'no_effect', cause, status, message: 'y', retryAfterMs: null }
    expect(await verdict(status, {}, ERROR)).toStrictEqual(expected)
    expect(await verdict(status, {}, ERROR, 1)).toStrictEqual(expected)
  })

  test('429 had no effect, and says when to retry', async () => {
    expect(await verdict(429, { 'retry-after': '7' }, ERROR)).toStrictEqual({
      ...{ outcome: 'no_effect', cause: 'rate_limited', status: 429, message: 'y', retryAfterMs: 7000 },
    })
  })

  test('409 for the limit of the run had no effect, and says when more of it may be left', async () => {
    expect(await verdict(409, { 'retry-after': '7', [HEADERS.errorCode]: RUN_ERRORS.maxCost }, ERROR)).toStrictEqual({
      ...{ outcome: 'no_effect', cause: 'max_cost', status: 409, message: 'y', retryAfterMs: 7000 },
    })
  })

  test('413 had no effect for several rows, and refuses a single one', async () => {
    const message = 'the server returned 413'
    expect(await verdict(413, {}, 'too large')).toStrictEqual({
      outcome: 'no_effect',
      cause: 'too_large',
      status: 413,
      message,
      retryAfterMs: null,
    })
    expect(await verdict(413, {}, 'too large', 1)).toMatchObject({ outcome: 'refused', status: 413, message })
  })

  test('409 leaves the outcome unknown while an earlier attempt is in progress', async () => {
    expect(await verdict(409, {}, ERROR)).toStrictEqual({ ...UNKNOWN_OUTCOME, status: 409, message: 'y', busy: true })
    expect(await verdict(409, {}, 'a page')).toMatchObject({ outcome: 'unknown', busy: true, foreign: false })
  })
})

describe('an error response that is not from the API', () => {
  test.each([400, 401, 403, 404, 415, 422])(
    'proves nothing, because a proxy may return it after the effect: %i',
    async (status) => {
      const unknown = { outcome: 'unknown', status, busy: false, foreign: true }
      expect(await verdict(status, {}, '<html>')).toMatchObject(unknown)
      expect(await verdict(status, {}, { message: 'Forbidden' })).toMatchObject(unknown)
      expect((await verdict(status, {}, ERROR)).outcome).not.toBe('unknown')
    },
  )

  test.each([413, 429])(
    'proves that the request was not forwarded, if its size or rate was rejected: %i',
    async (status) => {
      expect(await verdict(status, {}, '<html>')).toMatchObject({ outcome: 'no_effect' })
    },
  )
})

test('a page with 500 leaves the outcome unknown, and may be of the API', async () => {
  expect(await verdict(500, {}, '<html>')).toStrictEqual({
    ...{ ...UNKNOWN_OUTCOME, status: 500, message: 'the server returned 500' },
  })
})

describe('an error about the Idempotency-Key', () => {
  test.each([
    [422, { 'error-code': 'idempotency_key_reused' }, { error: { title: 'x', message: 'y' } }],
    [422, {}, { error: { title: 'x', message: 'Idempotency-Key was used before with another body' } }],
    [409, {}, { detail: 'idempotency_key in use' }],
    [422, {}, 'Your request could not be processed by the gateway at this time, because its Idempotency-Key is in use'],
    [400, {}, { errors: [{ code: 'IDEMPOTENCY_KEY_REUSED' }] }],
    [400, {}, { error: { type: 'x', message: 'Keys for idempotent requests are used with the same parameters' } }],
  ])('leaves the outcome unknown: %i %j %j', async (status, headers, json) => {
    expect(await verdict(status, headers, json)).toMatchObject({ outcome: 'unknown', status })
  })

  test.each([
    [422, {}, { error: { title: 'x', message: 'metadata is required' } }],
    [400, { 'error-code': 'idempotency_key_invalid' }, { error: { title: 'x', message: 'Idempotency-Key is empty' } }],
  ])(
    'is distinguished from an error that proves that the request had no effect: %i %j %j',
    async (status, headers, json) => {
      expect((await verdict(status, headers, json)).outcome).toBe('refused')
    },
  )
})

test.each([
  ['status 500', 500, { 'request-accepted': 'no', 'idempotency-supported': 'yes' }],
  ['no Request-Accepted', 503, { 'idempotency-supported': 'yes' }],
  ['Request-Accepted: yes', 503, { 'request-accepted': 'yes', 'idempotency-supported': 'yes' }],
  ['no Idempotency-Supported', 503, { 'request-accepted': 'no' }],
])('a response with %s does not prove that nothing was accepted', async (_what, status, headers) => {
  expect(await verdict(status, headers, ERROR)).toMatchObject({ outcome: 'unknown', status })
})
