import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { nftCreation } from '../../src/api/creation.ts'
import { unknownOutcomeError } from '../../src/client/outcome.ts'
import { createPacer } from '../../src/client/pacer.ts'
import { GdnError } from '../../src/core/errors.ts'
import { timeUpError } from '../../src/core/time-up.ts'
import { sendOperation } from '../../src/operations/send.ts'
import { CREATED, client, formA, isProbe, MINT, NFTS, rejection, serve, YES } from '../client/http-client.ts'
import { type HttpServer, type Reply, startHttpServer } from '../helpers/http-server.ts'

const SILENT = { sending: async () => {}, noEffect: async () => {}, unknown: async (_reason: string) => {} }

interface MintOptions {
  doubt?: string | null
  key?: string
  record?: typeof SILENT
  signal?: AbortSignal
  request?: object
  onWait?: (reason: string) => void
}

/** Creates MINT with a new key. */
async function mint(it: ReturnType<typeof client>, options: MintOptions = {}) {
  const { doubt: doubtReason = null, key = randomUUID(), record = SILENT, onWait = () => {} } = options
  const { signal = new AbortController().signal } = options
  const attempt = await sendOperation({
    ...{
      client: it,
      clock: it.clock,
      signal,
      endpoint: 'createnft',
      creates: nftCreation,
      doubtReason,
      record,
      onWait,
    },
    request: { body: JSON.stringify(options.request ?? MINT), key, honorsKey: true },
  })
  if (attempt.outcome === 'accepted') return attempt.created
  throw attempt.outcome === 'unknown' ? unknownOutcomeError('createnft', attempt.message) : attempt.error
}

describe('sending an operation', () => {
  const keys = (server: HttpServer) =>
    server.seen.filter(({ path }) => path.endsWith('createnft')).map(({ headers }) => headers['idempotency-key'])
  const bodies = (server: HttpServer) =>
    new Set(server.seen.filter(({ path }) => path.endsWith('createnft')).map(({ body }) => String(body)))

  test('sends once, with the given Idempotency-Key', async () => {
    const server = await serve([CREATED])
    const it = client(server.url)
    expect((await mint(it)).nfts).toHaveLength(1)
    await mint(it)
    expect(new Set(keys(server)).size).toBe(2)
  })

  test.each<Reply>([
    'drop',
    { status: 500, json: {} },
    { status: 409, headers: YES, json: {} },
    { text: 'odd' },
    { status: 502, text: '<html>' },
  ])('retries an unknown outcome with the same bytes and key if the server honors the key', async (reply) => {
    const server = await serve((request, index) =>
      isProbe(request) ? { headers: YES, json: NFTS.json } : index === 0 ? reply : { ...CREATED, headers: YES },
    )
    expect((await mint(client(server.url))).nfts).toHaveLength(1)
    expect(keys(server)).toHaveLength(2)
    expect(new Set(keys(server)).size).toBe(1)
    expect(bodies(server).size).toBe(1)
  })

  test('does not retry on a server that does not honor the key, and the outcome is unknown', async () => {
    const server = await serve((request) => (isProbe(request) ? NFTS : 'drop'))
    const error = await rejection(mint(client(server.url)))
    expect(error).toMatchObject({ code: 'unknown_outcome', exitCode: 9 })
    expect(error.message).toContain('createnft was sent, but its outcome is unknown')
    expect(keys(server)).toHaveLength(1)
  })

  test.each(['3600', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'reports an unknown outcome at once if the server asks for a long wait: %s',
    async (wait) => {
      const server = await serve((request) =>
        isProbe(request)
          ? { headers: YES, json: NFTS.json }
          : { status: 503, headers: { ...YES, 'retry-after': wait }, json: {} },
      )
      const it = client(server.url)
      expect(await rejection(mint(it))).toMatchObject({ code: 'unknown_outcome' })
      expect(keys(server)).toHaveLength(1)
    },
  )

  test('keeps an outcome unknown after a later rejection', async () => {
    const server = await serve((request, index) =>
      isProbe(request)
        ? NFTS
        : index === 0
          ? { status: 500, headers: YES, json: {} }
          : formA(400, 'Bad Request', 'x', YES),
    )
    expect(await rejection(mint(client(server.url)))).toMatchObject({ code: 'unknown_outcome' })
  })

  test('stops after a few attempts while the outcome is unknown', async () => {
    const server = await serve([{ status: 503, headers: YES, json: {} }])
    expect(await rejection(mint(client(server.url)))).toMatchObject({ code: 'unknown_outcome' })
    expect(keys(server)).toHaveLength(6)
  })

  test('says why it waits, and ends with that reason when the time of the command is over', async () => {
    const server = await serve([formA(429, 'Too Many Requests', 'slow down', { ...YES, 'retry-after': '20' })])
    const it = client(server.url)
    const reasons: string[] = []
    const sleep = () => Promise.reject(timeUpError(5000))
    const timed = Object.assign(it, { clock: { ...it.clock, sleep } })
    const error = await rejection(mint(timed, { onWait: (reason) => reasons.push(reason) }))
    expect(error).toMatchObject({ code: 'rate_limited', message: expect.stringContaining('slow down') })
    expect(reasons).toEqual([error.message])
    expect(keys(server)).toHaveLength(1)
  })

  test('reports at once what the operator of the backend has to do, and holds no later request', async () => {
    const headers = { ...YES, 'request-accepted': 'no', 'error-code': 'blockchain_not_ready', 'retry-after': '10' }
    const missing = 'the signer 0x12 has 0 ETH on base and needs 0.003: send 0.003 ETH'
    const server = await serve([formA(503, 'Service Unavailable', missing, headers), { ...CREATED, headers: YES }])
    const clock = client(server.url).clock
    const it = client(server.url, { clock, pacer: createPacer({ ...clock, rate: null, observed: () => null }) })
    expect(await rejection(mint(it))).toMatchObject({ code: 'not_ready', exitCode: 6, message: missing })
    expect(keys(server)).toHaveLength(1)
    expect((await mint(it)).nfts).toHaveLength(1)
    expect(clock.now()).toBe(0)
  })

  test.each([400, 401, 403, 404, 413, 415, 422])(
    'treats %i as without effect, and reports it unchanged',
    async (status) => {
      const server = await serve([formA(status, 'No', 'no')])
      const error = await rejection(mint(client(server.url)))
      expect(error.code).not.toBe('unknown_outcome')
      expect(server.seen).toHaveLength(1)
    },
  )

  test.each<[string, Reply]>([
    [
      '422 with the code of our backend',
      { status: 422, headers: { 'error-code': 'idempotency_key_reused' }, json: {} },
    ],
    ['422 that names the key', formA(422, 'Request Validation Error', 'Idempotency-Key was used before')],
    ['422 in another form', { status: 422, json: { type: 'about:blank', detail: 'idempotency key in use' } }],
    ['422 in plain text', { status: 422, text: 'Idempotency-Key was used before' }],
    ['400 with a code of another service', { status: 400, json: { code: 'IDEMPOTENCY_KEY_REUSED' } }],
    ['409 that names the key', formA(409, 'Conflict', 'a request with this Idempotency-Key is in progress')],
  ])('leaves the outcome unknown after %s', async (_what, reply) => {
    const server = await serve(() => reply)
    await expect(mint(client(server.url))).rejects.toMatchObject({ code: 'unknown_outcome' })
  })

  test('treats 400 of our backend for an invalid key as without effect', async () => {
    const json = { error: { title: 'Bad Request', message: 'Idempotency-Key must have 1 to 255 characters' } }
    const server = await serve([{ status: 400, headers: { 'error-code': 'idempotency_key_invalid' }, json }])
    await expect(mint(client(server.url))).rejects.toMatchObject({ code: 'refused' })
  })

  test('treats 429 as without effect, and retries after a wait', async () => {
    const server = await serve([{ status: 429, headers: { 'retry-after': '2' }, json: {} }, CREATED])
    const it = client(server.url)
    await mint(it)
    expect(it.waits).toEqual([2000])
  })

  test('sends a request at most six times that is rejected each time', async () => {
    const server = await serve([{ status: 429, headers: { 'retry-after': '1' }, json: {} }])
    const it = client(server.url)
    expect(await rejection(mint(it))).toMatchObject({ code: 'rate_limited' })
    expect(keys(server)).toHaveLength(6)
    expect(it.waits).toEqual(Array(5).fill(1000))
  })

  test('does not wait longer than a minute in all', async () => {
    const server = await serve([{ status: 429, headers: { 'retry-after': '25' }, json: {} }])
    const it = client(server.url)
    expect(await rejection(mint(it))).toMatchObject({ code: 'rate_limited' })
    expect(it.waits).toEqual([25_000, 25_000])
  })

  test('treats 503 of a backend that accepted nothing as without effect, and retries after a wait', async () => {
    const later = formA(503, 'Service Unavailable', 'no funds', {
      ...YES,
      'request-accepted': 'no',
      'retry-after': '30',
    })
    const server = await serve([later, CREATED])
    const it = client(server.url)
    await mint(it)
    expect(it.waits).toEqual([30_000])
    const poor = await serve([later])
    const error = await rejection(mint(client(poor.url)))
    expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining('no funds') })
  })

  test('reports unreachable, not unknown, if no byte was sent', async () => {
    const server = await startHttpServer([{}])
    await server.close()
    expect(await rejection(mint(client(server.url)))).toMatchObject({ code: 'unreachable' })
  })

  test('reports the unknown outcome after an interruption', async () => {
    const abort = new AbortController()
    const server = await serve((request) => {
      if (!request.path.endsWith('createnft')) return NFTS
      // The whole request has arrived.
      abort.abort(new Error('stopped'))
      return new Promise<Reply>(() => {})
    })
    const error = await rejection(mint(client(server.url), { signal: abort.signal }))
    expect(error).toMatchObject({ code: 'unknown_outcome' })
    expect(keys(server)).toHaveLength(1)
  })

  describe('the record', () => {
    function recorder() {
      const told: string[] = []
      return {
        told,
        record: {
          sending: async () => void told.push('sending'),
          noEffect: async () => void told.push('no effect'),
          unknown: async (reason: string) => void told.push(`unknown: ${reason}`),
        },
      }
    }

    test('is written before each sending, and with its outcome', async () => {
      const { told, record } = recorder()
      const replies: Reply[] = [{ status: 429, json: {} }, { status: 503, headers: YES, json: {} }, CREATED]
      const server = await serve((request) =>
        isProbe(request) ? { ...NFTS, headers: YES } : (replies.shift() ?? CREATED),
      )
      await mint(client(server.url), { record })
      expect(told).toEqual(['sending', 'no effect', 'sending', expect.stringMatching(/^unknown: 503/), 'sending'])
    })

    test('prevents sending if it fails before the first attempt', async () => {
      const { record } = recorder()
      const full = new GdnError('data_dir', 'no space left')
      const server = await serve([CREATED])
      const sending = () => Promise.reject(full)
      expect(await rejection(mint(client(server.url), { record: { ...record, sending } }))).toBe(full)
      expect(server.seen).toHaveLength(0)
    })

    test('shows no effect for a rejection and for an interruption before the first byte', async () => {
      const refused = recorder()
      const server = await serve([formA(400, 'No', 'no')])
      await rejection(mint(client(server.url), { record: refused.record }))
      const stopped = recorder()
      const signal = AbortSignal.abort(new GdnError('interrupted', 'interrupted'))
      expect(await rejection(mint(client(server.url), { record: stopped.record, signal }))).toMatchObject({
        code: 'interrupted',
      })
      expect([refused.told, stopped.told]).toEqual([
        ['sending', 'no effect'],
        ['sending', 'no effect'],
      ])
    })

    test('shows nothing as sent or unknown without permission to send', async () => {
      const { told, record } = recorder()
      const limited = new GdnError('rate_limited', 'the server is busy')
      const pacer = { enter: () => Promise.reject(limited), take: () => Promise.reject(limited), hold: () => {} }
      expect(await rejection(mint(client('http://localhost', { pacer }), { record }))).toBe(limited)
      expect(told).toEqual(['no effect'])
    })

    test('does not show an unexpected error as "no effect"', async () => {
      const { told, record } = recorder()
      const transport = { request: () => Promise.reject(new Error('odd')), close: async () => {} }
      await mint(client('http://localhost', { transport }), { record }).catch(() => undefined)
      expect(told.slice(0, 2)).toEqual(['sending', 'unknown: odd'])
    })
  })

  describe('with an unknown outcome from the start', () => {
    const doubt = 'gdn was killed'

    test('retries at once with the same key if the server honors it', async () => {
      const server = await serve((request) => ({
        ...(isProbe(request) ? NFTS : CREATED),
        headers: YES,
      }))
      const it = client(server.url)
      expect((await mint(it, { doubt, key: 'kept' })).nfts).toHaveLength(1)
      expect(keys(server)).toEqual(['kept'])
      expect(it.waits).toEqual([0])
    })

    test('sends nothing to a server that does not honor the key', async () => {
      const server = await serve((request) => (isProbe(request) ? NFTS : CREATED))
      const error = await rejection(mint(client(server.url), { doubt }))
      expect(error).toMatchObject({ code: 'unknown_outcome', message: expect.stringContaining(doubt) })
      expect(keys(server)).toEqual([])
    })

    test.each([
      ['nothing as long as the server does not say whether it honors the key', Number.POSITIVE_INFINITY, []],
      ['once after the server has said that it honors the key', 2, ['kept']],
    ])('sends %s', async (_what, silentFor, sent) => {
      let requestCount = 0
      const server = await serve((request) => {
        if (!isProbe(request)) return { ...CREATED, headers: YES }
        return ++requestCount > silentFor ? { ...NFTS, headers: YES } : 'drop'
      })
      const it = client(server.url)
      const minted = mint(it, { doubt, key: 'kept' })
      if (sent.length > 0) expect((await minted).nfts).toHaveLength(1)
      else expect(await rejection(minted)).toMatchObject({ code: 'unknown_outcome' })
      expect(keys(server)).toEqual(sent)
      // Only the first question follows at once.
      expect(it.waits.map((wait) => wait > 0)).toEqual([false, ...it.waits.slice(1).map(() => true)])
      expect(it.waits.length).toBeGreaterThan(1)
    })

    test('waits for a rate limit, and repeats the request afterwards', async () => {
      const limited = formA(429, 'Too Many Requests', 'slow down', { ...YES, 'retry-after': '7' })
      const replies = [limited, { ...CREATED, headers: YES }]
      const server = await serve((request) =>
        isProbe(request) ? { ...NFTS, headers: YES } : (replies.shift() ?? 'drop'),
      )
      const it = client(server.url)
      expect((await mint(it, { doubt, key: 'kept' })).nfts).toHaveLength(1)
      expect(keys(server)).toEqual(['kept', 'kept'])
      expect(it.waits).toEqual([0, 7000])
    })

    test('reports an error of its own, such as a full disk', async () => {
      const server = await serve((request) => ({ ...(isProbe(request) ? NFTS : CREATED), headers: YES }))
      const sending = async () => {
        throw new Error('the disk is full')
      }
      const minted = mint(client(server.url), { doubt, record: { ...SILENT, sending } })
      await expect(minted).rejects.toThrow('the disk is full')
      expect(keys(server)).toEqual([])
    })

    test('reports a rejection, which resolves nothing, and stops', async () => {
      const server = await serve((request) =>
        isProbe(request) ? { ...NFTS, headers: YES } : formA(404, 'Not Found', 'x', YES),
      )
      const error = await rejection(mint(client(server.url), { doubt }))
      expect(error.message).toMatch(/gdn was killed; repeated: .*Not Found/)
      expect(keys(server)).toHaveLength(1)
      expect(error).toMatchObject({ code: 'unknown_outcome' })
    })
  })

  test('leaves the outcome unknown if the response fails its check', async () => {
    const server = await serve((request) => (isProbe(request) ? NFTS : CREATED))
    const error = await rejection(mint(client(server.url), { request: { ...MINT, metadata: [] } }))
    expect(error).toMatchObject({ code: 'unknown_outcome', message: expect.stringContaining('does not match') })
  })
})

test('a rejection of reference IDs has no effect', async () => {
  const headers = { ...YES, 'error-code': 'reference_id_conflict' }
  const server = await serve([formA(409, 'Conflict', 'belongs to another operation; see Idempotency-Key', headers)])
  await expect(mint(client(server.url))).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('belongs to another operation'),
    hint: expect.stringContaining('Nothing was created'),
  })
  expect(server.seen).toHaveLength(1)
})
