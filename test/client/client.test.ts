import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLightTransport } from '../../src/client/light-transport.ts'
import { findStatus } from '../../src/client/responses.ts'
import { type Exchange, watchTransport } from '../../src/client/watch-transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { type Reply, startHttpServer } from '../helpers/http-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { CREATED, client, formA, IDS, KEY, MINT, NFTS, rejection, serve, YES } from './http-client.ts'

describe('requests', () => {
  test('send the key, user agent and JSON, below the path of the base URL', async () => {
    const server = await serve([NFTS])
    await client(`${server.url}/prefix/`).call('getnfts', IDS)
    expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/prefix/api/v1/getnfts' })
    expect(server.seen[0]?.headers).toMatchObject({
      'x-api-key': KEY,
      'user-agent': 'gdn/test',
      'content-type': 'application/json',
    })
    expect(JSON.parse(String(server.seen[0]?.body))).toEqual(IDS)
  })

  test('ask the server to hold its response only if the caller waits', async () => {
    const server = await serve([NFTS, NFTS])
    const caller = client(server.url)
    await caller.call('getnfts', IDS)
    await caller.call('getnfts', IDS, { waitSeconds: 2 })
    expect(server.seen.map(({ headers }) => headers.prefer)).toEqual([undefined, 'wait=2'])
  })

  test('with a number in the metadata are not sent, and the error says how to write it', async () => {
    const server = await serve([])
    const attribute = [{ tag: 'level', value: 7 }]
    const metadata = { title: 'x', description: 'x', file_fields: [], attribute } as unknown as typeof MINT.metadata
    expect(await rejection(client(server.url).call('createnft', { ...MINT, metadata }))).toMatchObject({
      ...{ code: 'invalid_input', message: 'metadata.attribute[0].value must be a string, not a number' },
      hint: "Write the number as a string, such as '7'.",
    })
    expect(server.seen).toEqual([])
  })

  test('are not sent if they break the contract, and every error is reported', async () => {
    const server = await serve([CREATED])
    const metadata = [{ title: '', description: 'x', file_fields: [{ key: 'image', url: 'ftp://x' }] }]
    const error = await rejection(client(server.url).call('createnft', { ...MINT, metadata }))
    expect(error).toMatchObject({ code: 'invalid_input', place: { field: 'metadata[0].title' } })
    expect(error.message).toBe('metadata[0].title must not be empty (and 1 more)')
    expect(error.details).toEqual([
      { field: 'metadata[0].title', message: 'must not be empty' },
      { field: 'metadata[0].file_fields[0].url', message: 'must be an http(s), ipfs or ar URL' },
    ])
    const single = await rejection(client(server.url).call('createnft', { ...MINT, metadata: metadata[0] as never }))
    expect(single).toMatchObject({
      place: { field: 'metadata.title' },
      details: [{}, { field: 'metadata.file_fields[0].url' }],
    })
    expect(server.seen).toHaveLength(0)
  })

  test.each([
    ['http://example.com', /clear text/],
    ['ftp://example.com', /not the URL of a server/],
    ['example.com', /not the URL of a server/],
    ['https://me:secret@example.com', /user name or password/],
    ['https://example.com/?a=1', /query or a fragment/],
  ])('are rejected with the base URL %s', (baseUrl, message) => {
    expect(() => client(baseUrl)).toThrow(
      expect.objectContaining({ code: 'invalid_config', message: expect.stringMatching(message) }),
    )
  })

  test('use HTTP with a key only to loopback or if that is allowed, and without a key to any host', () => {
    for (const host of ['localhost', '127.0.0.1:4680', '[::1]:4680', 'gdn.localhost']) client(`http://${host}`)
    client('http://backend:4680', { allowHttp: true })
    client('http://backend:4680', { apiKey: null })
  })

  test.each(['', 'a\r\nb', 'a b', 'ü', 'x'.repeat(5000)])(
    'are rejected with a key that no header can carry, without repeating it',
    (key) => {
      const attempt = () => client('http://127.0.0.1', { apiKey: new Secret(key) })
      expect(attempt).toThrow(expect.objectContaining({ code: 'invalid_config' }))
      if (key.length > 1) expect(attempt).not.toThrow(key)
    },
  )
})

describe('responses', () => {
  test.each<[string, Reply, Partial<GdnError>]>([
    ['401', formA(401, 'Unauthorized', 'no'), { code: 'unauthorized', exitCode: 4 }],
    ['401 of a gateway', { status: 401, text: 'no' }, { code: 'unauthorized' }],
    ['403', formA(403, 'Forbidden', 'nft:read is missing'), { code: 'forbidden', exitCode: 4 }],
    ['403 of a gateway', { status: 403, json: { message: 'Forbidden' } }, { code: 'forbidden' }],
    [
      '422',
      formA(422, 'Request Validation Error', 'bad'),
      { code: 'refused', message: 'Request Validation Error: bad', exitCode: 5 },
    ],
    ['hostile text, unchanged', formA(400, 'T', '\u001b[2J'), { code: 'refused', message: 'T: \u001b[2J' }],
    ['500 with form A', formA(500, 'Internal Server Error', 'x'), { code: 'bad_answer', exitCode: 6 }],
    ['HTML', { status: 404, text: '<html>Not here</html>' }, { code: 'bad_answer', exitCode: 6 }],
    ['a redirect', { status: 302, headers: { location: 'https://login.example' } }, { code: 'bad_answer' }],
    ['200 and HTML', { text: '<html>' }, { code: 'bad_answer' }],
    ["200 that does not match the API's schema", { json: { nfts: {} } }, { code: 'bad_answer' }],
  ])('reports %s as an error', async (_name, reply, expected) => {
    const server = await serve([reply])
    expect(await rejection(client(server.url).call('getnfts', IDS))).toMatchObject(expected)
    expect(server.seen).toHaveLength(1)
  })

  test.each<[string, Reply]>([
    ['form A', formA(400, 'T', 'm'.repeat(5_000_000))],
    [
      'form B',
      {
        status: 400,
        json: {
          errorCode: 'X',
          message: 'm',
          detail: Array.from({ length: 50_000 }, (_, i) => ({
            loc: ['body', `f${i}`],
            msg: 'm'.repeat(99),
            type: 't',
          })),
        },
      },
    ],
  ])('limits the message for megabytes in error %s', async (_form, reply) => {
    const server = await serve([reply])
    const { message, details } = await rejection(client(server.url).call('getnfts', IDS))
    expect(message.length).toBeLessThan(20_000)
    expect(JSON.stringify(details).length).toBeLessThan(50_000)
  })

  test('reports every error of form B', async () => {
    const detail = [{ loc: ['body', 'timeout'], msg: 'too much', type: 'value_error' }]
    const server = await serve([{ status: 400, json: { errorCode: 'VALIDATION_ERROR', message: 'wrong', detail } }])
    const error = await rejection(client(server.url).call('getpresignedurl', { email: 'a@example.com' }))
    expect(error).toMatchObject({ code: 'refused', message: 'VALIDATION_ERROR: wrong; timeout too much' })
    expect(error.details).toMatchObject({ status: 400, faults: [{ field: 'timeout', message: 'too much' }] })
  })

  test.each([
    [501, 'Check the base URL: another server may be listening there.'],
    [404, 'Check the base URL: another server may be listening there.'],
    [500, 'The server returned an error. Try again later.'],
  ])('suggests a fix for a page with status %i', async (status, hint) => {
    const server = await serve([{ status, text: '<html>Unsupported method</html>' }])
    expect(await rejection(client(server.url).call('getnfts', IDS))).toMatchObject({ code: 'bad_answer', hint })
  })

  test('shows an invalid response: status, content type and the first 80 characters', async () => {
    const server = await serve([{ status: 500, text: `<h1>${'x'.repeat(200)}</h1>` }])
    const error = await rejection(client(server.url).call('getnfts', IDS))
    expect(error.message).toBe(
      `${server.url}/api/v1/getnfts returned a response that is not from the API: 500 text/html "<h1>${'x'.repeat(76)}…"`,
    )
    expect(findStatus(error)).toBe(500)
  })
})

describe('reads', () => {
  test.each([429, 502, 503, 504])('are retried after %i with growing waits', async (status) => {
    const server = await serve([{ status, json: {} }, { status, json: {} }, { status, json: {} }, NFTS])
    const it = client(server.url)
    expect((await it.call('getnfts', IDS)).nfts).toHaveLength(1)
    expect(it.waits).toEqual([250, 500, 1000])
  })

  test('are retried after a cut connection', async () => {
    const server = await serve(['drop', NFTS])
    await client(server.url).call('getnfts', IDS)
    expect(server.seen).toHaveLength(2)
  })

  test('wait for the time in Retry-After', async () => {
    const server = await serve([{ status: 429, headers: { 'retry-after': '3' }, json: {} }, NFTS])
    const it = client(server.url)
    await it.call('getnfts', IDS)
    expect(it.waits).toEqual([3050])
  })

  test('do not wait for longer than 30 s', async () => {
    const server = await serve([formA(429, 'Too Many Requests', 'slow down', { 'retry-after': '60' })])
    expect(await rejection(client(server.url).call('getnfts', IDS))).toMatchObject({ code: 'rate_limited' })
    expect(server.seen).toHaveLength(1)
  })

  test('stop after four attempts', async () => {
    const server = await serve([formA(503, 'Service Unavailable', 'later')])
    expect(await rejection(client(server.url).call('getnfts', IDS))).toMatchObject({ code: 'bad_answer' })
    expect(server.seen).toHaveLength(4)
  })

  test('name a server that does not exist, and what to check', async () => {
    const server = await startHttpServer([{}])
    await server.close()
    const error = await rejection(client(server.url).call('getnfts', IDS))
    expect(error).toMatchObject({ code: 'unreachable', message: `nothing listens at ${server.url}`, exitCode: 6 })
    expect(error.hint).toContain('gdn local start')
  })

  test('name a host that cannot be resolved', async () => {
    const error = await rejection(client('https://nowhere.invalid').call('getnfts', IDS))
    expect(error.message).toBe("can't resolve the host name nowhere.invalid")
  })

  test('end when the signal is aborted', async () => {
    const server = await serve([{ status: 503, json: {} }])
    const abort = new AbortController()
    const onExchange = () => abort.abort(new Error('stopped'))
    const it = client(server.url, { transport: watchTransport(createLightTransport(), onExchange) })
    await expect(it.call('getnfts', IDS, { signal: abort.signal })).rejects.toThrow('stopped')
    expect(server.seen).toHaveLength(1)
  })

  test('send no key with get', async () => {
    const server = await serve([{ json: { ok: true } }])
    expect(await client(server.url).get('/healthz')).toMatchObject({ status: 200, json: { ok: true } })
    expect(server.seen[0]).toMatchObject({ method: 'GET', path: '/healthz' })
    expect(server.seen[0]?.headers['x-api-key']).toBeUndefined()
  })
})

describe('send', () => {
  const body = Buffer.from('{"exact": "bytes"}')

  test('sends these bytes and this key once, and returns the response regardless of its status', async () => {
    const server = await serve([{ status: 503, headers: YES, json: { a: 1 } }])
    const result = await client(server.url).send('createnft', body, { idempotencyKey: 'k1' })
    expect(result).toMatchObject({ kind: 'answered', status: 503, json: { a: 1 }, headers: YES })
    expect(server.seen).toHaveLength(1)
    expect(server.seen[0]?.headers['idempotency-key']).toBe('k1')
    expect(String(server.seen[0]?.body)).toBe('{"exact": "bytes"}')
  })

  test('sends the ID of its run if there is one', async () => {
    const server = await serve([{ json: {} }, { json: {} }])
    await client(server.url).send('createnft', body, { idempotencyKey: 'k', run: '0123456789abcdef' })
    await client(server.url).send('createnft', body, { idempotencyKey: 'k' })
    expect(server.seen.map(({ headers }) => headers['gdn-run'])).toEqual(['0123456789abcdef', undefined])
  })

  test('returns the text of a response that is not JSON', async () => {
    const server = await serve([{ status: 502, text: '<html>' }])
    const result = await client(server.url).send('createnft', body, { idempotencyKey: 'k' })
    expect(result).toMatchObject({ kind: 'answered', json: undefined, text: '<html>', seen: '502 text/html "<html>"' })
  })

  test('distinguishes a cut connection from a refused one, which sent nothing', async () => {
    const server = await serve(['drop'])
    const it = client(server.url)
    expect(await it.send('createnft', body, { idempotencyKey: 'k' })).toMatchObject({ kind: 'cut' })
    await server.close()
    expect(await it.send('createnft', body, { idempotencyKey: 'k' })).toMatchObject({ kind: 'not_sent' })
  })

  test('keeps the outcome if an observer throws', async () => {
    const server = await serve([CREATED])
    const onExchange = () => {
      throw new Error('stderr is closed')
    }
    const it = client(server.url, { transport: watchTransport(createLightTransport(), onExchange) })
    expect(await it.send('createnft', body, { idempotencyKey: 'k' })).toMatchObject({ kind: 'answered', status: 200 })
    expect((await it.call('createnft', MINT)).nfts).toHaveLength(1)
  })

  test('does not report an unexpected error as "not sent"', async () => {
    const transport = { request: () => Promise.reject(new Error('odd')), close: async () => {} }
    const result = await client('http://localhost', { transport }).send('createnft', body, { idempotencyKey: 'k' })
    expect(result).toEqual({ kind: 'cut', reason: 'odd', error: new Error('odd') })
  })

  test('sends nothing if it is aborted before sending', async () => {
    const server = await serve([CREATED])
    const signal = AbortSignal.abort(new Error('stopped'))
    const result = await client(server.url).send('createnft', body, { idempotencyKey: 'k', signal })
    expect(result).toEqual({ kind: 'not_sent', reason: 'stopped', error: signal.reason })
    expect(server.seen).toHaveLength(0)
  })
})

describe('a creating request made with call', () => {
  test('is sent once with its own key, whether the server honors keys or not', async () => {
    const server = await serve([CREATED, { status: 503, headers: YES, json: {} }])
    const it = client(server.url)
    expect((await it.call('createnft', MINT)).nfts).toHaveLength(1)
    const error = await rejection(it.call('createnft', MINT))
    expect(error).toMatchObject({ code: 'unknown_outcome', hint: expect.stringContaining('gdn nft list') })
    expect(new Set(server.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(2)
  })

  test.each<[string, Reply, string]>([
    ['reports a rejection unchanged', formA(403, 'Forbidden', 'no'), 'forbidden'],
    ['reports a success in another form as an unknown outcome', { text: 'odd' }, 'unknown_outcome'],
    ['reports a cut connection as an unknown outcome', 'drop', 'unknown_outcome'],
  ])('%s', async (_what, reply, code) => {
    const server = await serve([reply])
    expect(await rejection(client(server.url).call('createnft', MINT))).toMatchObject({ code })
  })
})

describe('what the server announces', () => {
  test('keeps Idempotency-Key support, unknown at first, after the response of a proxy', async () => {
    const server = await serve([
      { ...NFTS, headers: YES },
      { status: 404, text: 'proxy' },
    ])
    const it = client(server.url)
    expect(it.supports('idempotency')).toBeNull()
    await it.call('getnfts', IDS)
    expect(it.supports('idempotency')).toBe(true)
    await rejection(it.call('getnfts', IDS))
    expect(it.supports('idempotency')).toBe(true)
  })

  test.each([
    ['a page', { status: 404, text: '<html>Not here</html>' }, 'bad_answer'],
    ['a page of a server that accepts any request', { text: '<html>Welcome</html>' }, 'bad_answer'],
    ['a page of a server without POST', { status: 501, text: '<html>Unsupported method</html>' }, 'bad_answer'],
    ['a key that a proxy rejects', { status: 401, json: { message: 'Unauthorized' } }, 'unauthorized'],
  ])('%s stops the request before it is sent', async (_what, answer, code) => {
    const server = await serve([answer])
    expect(await rejection(client(server.url).learnCapabilities())).toMatchObject({ code })
  })

  test('checks Idempotency-Key support again before a retry, and treats a missing response as unknown', async () => {
    const server = await serve([
      { ...NFTS, headers: YES },
      { status: 404, text: '<html>' },
      { status: 502, text: '<html>' },
      NFTS,
    ])
    const it = client(server.url)
    const learned: (boolean | null)[] = []
    const reasons: string[] = []
    const onSilence = (reason: string) => void reasons.push(reason)
    for (const refresh of [false, true, true, true]) learned.push(await it.learnCapabilities({ refresh, onSilence }))
    expect(learned).toEqual([true, null, null, false])
    expect(reasons).toEqual(['it returned 404 text/html "<html>"', 'it returned 502 text/html "<html>"'])
  })

  test('treats a server that announces nothing as one without support', async () => {
    const server = await serve([NFTS])
    const it = client(server.url)
    await it.call('getnfts', IDS)
    expect(it.supports('idempotency')).toBe(false)
  })

  test.each<[string, string | undefined, readonly (boolean | null)[]]>([
    ['nothing', undefined, [false, false, false]],
    ['one blockchain', 'base', [false, true, false]],
    ['several', 'base,polygon', [true, true, false]],
    ['all', '*', [true, true, true]],
    ['an empty list', '', [false, false, false]],
  ])('believes that coins have value unless the server says otherwise: %s', async (_what, names, expected) => {
    const headers: Record<string, string> = names === undefined ? {} : { 'blockchains-without-value': names }
    const server = await serve([{ ...NFTS, headers }])
    const it = client(server.url)
    const known = () => [it.hasNoValue('polygon'), it.hasNoValue('base'), it.hasNoValue(null)]
    expect(known()).toEqual([null, null, null])
    await it.learnCapabilities()
    expect(known()).toEqual(expected)
  })

  test('relies on what the last response said about coins, not on an earlier one', async () => {
    const server = await serve([
      { ...NFTS, headers: { 'blockchains-without-value': '*' } },
      { status: 404, text: 'proxy' },
      NFTS,
    ])
    const it = client(server.url)
    await it.call('getnfts', IDS)
    await rejection(it.call('getnfts', IDS))
    expect(it.hasNoValue('polygon')).toBe(true)
    await it.call('getnfts', IDS)
    expect(it.hasNoValue('polygon')).toBe(false)
  })

  test('lets the server reject requests for a blockchain whose coins have value by now, without an effect', async () => {
    const changed = formA(412, 'Precondition Failed', 'has value', { 'error-code': 'blockchain_has_value' })
    const server = await serve([CREATED, changed, changed, changed])
    const it = client(server.url)
    const send = () => it.send('createnft', Buffer.from(JSON.stringify(MINT)), { idempotencyKey: 'key' })
    await it.call('createnft', MINT)
    it.onlyWithoutValue(true)
    expect(await send()).toMatchObject({ kind: 'not_sent', stop: { code: 'not_confirmed' } })
    expect(await rejection(it.call('createnft', MINT))).toMatchObject({ code: 'not_confirmed' })
    it.onlyWithoutValue(false)
    // A server that was not asked has no reason to respond so.
    expect(await send()).toMatchObject({ kind: 'answered', status: 412 })
    const asked = server.seen.map(({ headers }) => headers['gdn-only-without-value'])
    expect(asked).toEqual([undefined, 'yes', 'yes', undefined])
  })

  test.each([
    ['has', { 'updates-supported': 'yes' }, true],
    ['lacks', {}, false],
  ])('learns that a server %s updates of NFTs', async (_what, headers, expected) => {
    const server = await serve([{ ...NFTS, headers }])
    const it = client(server.url)
    expect(it.supports('updates')).toBeNull()
    await it.call('getnfts', IDS)
    expect(it.supports('updates')).toBe(expected)
  })

  test.each([
    ['"getnfts";q=2;w=1', 2],
    ['"getnfts";q=10;w=5', 2],
    ['"other";q=1;w=1, "getnfts";q=4;w=1', 4],
    ['"default";q=5;w=1, "burst";q=30;w=10', 3],
    ['getnfts; q=2; w=1', 2],
    ['"off"', null],
  ])('reads the rate limit %s', async (policy, perSecond) => {
    const server = await serve([{ ...NFTS, headers: { 'ratelimit-policy': policy } }])
    const it = client(server.url)
    expect(it.observedRateLimit('getnfts')).toBeNull()
    await it.call('getnfts', IDS)
    expect(it.observedRateLimit('getnfts')).toEqual({ perSecond })
    expect(it.observedRateLimit('createnft')).toBeNull()
  })

  test.each(['', 'q=2', '"x";q=2', '"x";q=2;w=0', ';;;'])(
    'ignores an unusable rate limit policy "%s"',
    async (policy) => {
      const server = await serve([{ ...NFTS, headers: { 'ratelimit-policy': policy } }])
      const it = client(server.url)
      await it.call('getnfts', IDS)
      expect(it.observedRateLimit('getnfts')).toBeNull()
    },
  )
})

describe('upload', () => {
  const answer = { json: { url: 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4' } }

  test('sends a file or bytes as a multipart form, and retries after a temporary failure', async () => {
    const folder = await temporaryFolder('gdn-upload-')
    await writeFile(join(folder, 'a.png'), 'content of the file')
    const server = await serve(['drop', answer])
    const it = client(server.url)
    expect(await it.upload(join(folder, 'a.png'), 'a "quoted"\r\nname.png')).toEqual(answer.json)
    await it.upload(Buffer.from('content of the file'), 'b.png')
    for (const { headers, body } of server.seen) {
      expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
      const form = await new Response(new Uint8Array(body), {
        headers: { 'content-type': headers['content-type'] ?? '' },
      }).formData()
      const file = form.get('file')
      expect(file instanceof File ? await file.text() : null).toBe('content of the file')
    }
    expect(String(server.seen[1]?.body)).toContain('filename="a %22quoted%22%0D%0Aname.png"')
    expect(server.seen).toHaveLength(3)
  })

  test('fails with a hint if the server has no such endpoint', async () => {
    const server = await serve([formA(404, 'Not Found', 'no such path')])
    const error = await rejection(client(server.url).upload(Buffer.from('x'), 'a.png'))
    expect(error.message).toBe(`${server.url} accepts no uploads, so a.png can't be used as a file of an NFT`)
    expect(error.hint).toContain('http(s) or ipfs URL')
  })

  test('rejects a path that is not a file before it sends anything', async () => {
    const server = await serve([answer])
    const it = client(server.url)
    expect(await rejection(it.upload(tmpdir(), 'x'))).toMatchObject({ code: 'invalid_input' })
    expect(await rejection(it.upload(join(tmpdir(), 'gdn-no-such-file'), 'x'))).toMatchObject({ code: 'invalid_input' })
    expect(server.seen).toHaveLength(0)
  })
})

test('shows no key, signature or private key to --debug', async () => {
  const seen: Exchange[] = []
  const server = await serve([
    {
      json: {
        request: { email: 'a@example.com' },
        response: { url: 'https://wallet.example.com/v1/wallet/create?expiry=1&signature=c0ffee&action=x' },
        wallet: { private_key: '0xdeadbeef' },
        echo: KEY,
      },
    },
  ])
  const transport = watchTransport(createLightTransport(), (exchange) => seen.push(exchange))
  await client(server.url, { transport }).call('getpresignedurl', {
    email: 'a@example.com',
  })
  expect(seen).toHaveLength(1)
  expect(seen[0]).toMatchObject({ method: 'POST', status: 200, requestBody: '{"email":"a@example.com"}' })
  const text = JSON.stringify(seen)
  for (const secret of [KEY, 'c0ffee', 'deadbeef']) expect(text).not.toContain(secret)
  expect(text).toContain('expiry=1&signature=[redacted]&action=x')
})

describe('the pacer', () => {
  /** A pacer that records its calls. Each slot that it gives is valid or not, as listed. */
  function recordingPacer(valid: boolean[] = []) {
    const log: string[] = []
    const enter = async (endpoint: string) => {
      const isValid = valid.shift() ?? true
      log.push(`enter ${endpoint}`)
      return { isValid: () => isValid, connectionLost: () => log.push('cut'), done: () => log.push('done') }
    }
    const hold = (endpoint: string, ms: number) => log.push(`hold ${endpoint} ${ms}`)
    return { log, pacer: { enter, hold, take: enter } }
  }

  test('takes a slot for every attempt of a request, and releases it afterwards', async () => {
    const server = await serve([{ status: 502 }, { json: { requests: { nft_gdn_ids: ['a'] }, nfts: [] } }])
    const { log, pacer } = recordingPacer()
    await client(server.url, { pacer }).call('getnfts', { nft_gdn_ids: ['a'] })
    expect(log).toEqual(['enter getnfts', 'done', 'enter getnfts', 'done'])
  })

  test('records the announced limit before it releases the slot, which informs other processes', async () => {
    const server = await serve([
      { json: { requests: { nft_gdn_ids: ['a'] }, nfts: [] }, headers: { 'ratelimit-policy': '"getnfts"' } },
    ])
    const known: unknown[] = []
    const enter = async () => ({
      isValid: () => true,
      connectionLost: () => {},
      done: () => void known.push(asking.observedRateLimit('getnfts')),
    })
    const asking = client(server.url, { pacer: { enter, take: enter, hold: () => {} } })
    await asking.call('getnfts', { nft_gdn_ids: ['a'] })
    expect(known).toEqual([{ perSecond: null }])
  })

  test.each<[Reply, string[]]>([
    [{ status: 429, headers: { 'retry-after': '7' } }, ['hold createnft 7000']],
    [{ status: 429 }, ['hold createnft 1000']],
    [{ status: 503, headers: { 'retry-after': '2' } }, ['hold createnft 2000']],
    [{ status: 503 }, []],
  ])('holds the endpoint for the time that %o announces', async (reply, held) => {
    const server = await serve([reply])
    const { log, pacer } = recordingPacer()
    await client(server.url, { pacer }).send('createnft', new Uint8Array([123, 125]), { idempotencyKey: 'k' })
    expect(log).toEqual(['enter createnft', ...held, 'done'])
  })

  test('replaces a slot that expires before the first byte, and sends the request once', async () => {
    const server = await serve([{ json: {} }])
    const { log, pacer } = recordingPacer([false, false])
    const { kind } = await client(server.url, { pacer }).send('createnft', new Uint8Array([123, 125]), {
      idempotencyKey: 'k',
    })
    expect(kind).toBe('answered')
    expect(log.filter((line) => line === 'enter createnft')).toHaveLength(3)
    expect(server.seen).toHaveLength(1)
  })

  test('reports a request as not sent if its slot expires and there is no other', async () => {
    const server = await serve([{ json: {} }])
    const { log, pacer } = recordingPacer([false])
    const busy = new GdnError('run_busy', 'another process holds the lock')
    const enter = async (endpoint: string) => {
      if (log.length > 0) throw busy
      return await pacer.enter(endpoint)
    }
    const sent = await client(server.url, { pacer: { ...pacer, enter } }).send(
      'createnft',
      new Uint8Array([123, 125]),
      {
        idempotencyKey: 'k',
      },
    )
    expect(sent).toMatchObject({ kind: 'not_sent', error: busy })
    expect(server.seen).toHaveLength(0)
  })

  test('reports a cut request as still in flight', async () => {
    const server = await serve(['drop'])
    const { log, pacer } = recordingPacer()
    await client(server.url, { pacer }).send('createnft', new Uint8Array([123, 125]), { idempotencyKey: 'k' })
    expect(log).toEqual(['enter createnft', 'cut', 'done'])
  })
})
