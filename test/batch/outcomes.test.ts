import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BatchClient, BatchEvent } from '../../src/batch/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import { FakeHostedApi, type Fault, type FaultOf } from '../helpers/fake-hosted-api.ts'
import { gate } from '../helpers/gate.ts'
import { Machine } from './simulation.ts'
import { RECEIVERS, row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

// Three receivers with two rows each make three requests. The second one meets the fault.
const ROWS = rowsUpTo(6)
const SECOND = [3, 6] // Lines of the rows #2 and #5.

const onSecond = (fault: Fault, status?: number): FaultOf => {
  let met = false
  return (_attempt, body) => {
    if (met || body.receiver_wallet_address !== RECEIVERS[2]) return null
    met = true
    return { fault, ...(status === undefined ? {} : { status }) }
  }
}

const always =
  (fault: Fault, status?: number): FaultOf =>
  (_attempt, body) =>
    body.receiver_wallet_address === RECEIVERS[2] ? { fault, ...(status === undefined ? {} : { status }) } : null

const once = (server: FakeHostedApi) => [...server.countsByTitle().values()].every((count) => count === 1)

describe('on a server without idempotency', () => {
  test.each<[string, Fault, number | undefined]>([
    ['that was cut before it was accepted', 'cut_before', undefined],
    ['that gets 500', 'status_before', 500],
    ['that gets 408', 'status_before', 408],
    ['that gets 409', 'status_before', 409],
    ['that gets 425', 'status_before', 425],
    ['that gets a redirect', 'status_before', 307],
    ['that was cut after it was accepted', 'cut_after', undefined],
    ['that gets 502 after it was accepted', 'status_after', 502],
    ['that gets 503 from something that is not the backend', 'status_before', 503],
    ['that gets 200 with too few IDs', 'fewer_ids', undefined],
    ['that gets 200 with more IDs than rows', 'more_ids', undefined],
  ])('does not resend a request %s, leaves its rows unknown, and sends the rest', async (_what, fault, status) => {
    const server = new FakeHostedApi({ idempotency: false, faultOf: onSecond(fault, status) })
    const first = await machine.run(server, ROWS, { wait: false })
    expect(first.counts).toMatchObject({ total: 6, unknown: 2, accepted: 4 })
    expect(first.unknownRows.map(({ line }) => line)).toEqual(SECOND)
    expect(first.exitCode).toBe(9)
    const attempts = server.attempts
    const secondResult = await machine.run(server, ROWS, { wait: false })
    expect(secondResult.counts).toEqual(first.counts)
    expect(secondResult.exitCode).toBe(9)
    expect(server.attempts).toBe(attempts)
    expect(once(server)).toBe(true)
  })

  test.each([400, 404, 415, 422])(
    "fails the rows of a request rejected with %i, with the server's message",
    async (status) => {
      const server = new FakeHostedApi({ idempotency: false, faultOf: onSecond('refused', status) })
      const summary = await machine.run(server, ROWS)
      expect(summary.counts).toMatchObject({ failed: 2, deployed: 4, unknown: 0 })
      expect(summary.exitCode).toBe(7)
      expect(summary.failedRows).toEqual([
        { key: expect.any(String), line: 3, error: 'the receiver is on a list' },
        { key: expect.any(String), line: 6, error: 'the receiver is on a list' },
      ])
      await expect(machine.run(server, ROWS)).rejects.toMatchObject({ code: 'run_finished' })
      const retried = await machine.run(server, ROWS, { retryFailed: true })
      expect(retried.counts).toMatchObject({ deployed: 6, failed: 0 })
      expect(retried.exitCode).toBe(0)
      expect(once(server)).toBe(true)
    },
  )

  test.each<[string, Fault]>([
    ['that was not sent', 'not_sent'],
    ['that gets 429', 'rate_limited'],
    ['that gets a 503 of the backend, which accepted nothing', 'not_now'],
  ])('retries a request %s', async (_what, fault) => {
    const server = new FakeHostedApi({ idempotency: false, faultOf: onSecond(fault) })
    const summary = await machine.run(server, ROWS)
    expect(summary.counts.deployed).toBe(6)
    expect(summary.attempts).toBe(4)
    expect(once(server)).toBe(true)
  })

  test('holds the endpoint after 429 for the time in Retry-After', async () => {
    const held: [string, number][] = []
    const server = new FakeHostedApi({ idempotency: false, faultOf: onSecond('rate_limited') })
    const pacer = { take: async () => ({ done: () => {} }), hold: (name: string, ms: number) => held.push([name, ms]) }
    await machine.run(server, ROWS, {}, { pacer })
    expect(held).toEqual([['createnft', 1000]])
  })

  test('treats a request as unknown if any attempt may have had an effect', async () => {
    const faults: Fault[] = ['rate_limited', 'not_sent', 'cut_after']
    const server = new FakeHostedApi({
      idempotency: false,
      faultOf: (_attempt, body) => {
        const fault = body.receiver_wallet_address === RECEIVERS[2] ? faults.shift() : undefined
        return fault === undefined ? null : { fault }
      },
    })
    const summary = await machine.run(server, ROWS, { wait: false })
    expect(summary.counts).toMatchObject({ unknown: 2, accepted: 4 })
    expect(once(server)).toBe(true)
  })

  test.each([
    [401, 'unauthorized', 4],
    [403, 'forbidden', 4],
  ])('stops the run after %i, and can resume it', async (status, code, exitCode) => {
    const server = new FakeHostedApi({ idempotency: false, faultOf: () => ({ fault: 'refused', status }) })
    const summary = await machine.run(server, ROWS, { inFlight: 1 })
    expect(summary).toMatchObject({ stopped: { code }, exitCode })
    expect(summary.counts.pending).toBe(6)
    expect(server.attempts).toBe(1)
    const better = new FakeHostedApi({ idempotency: false })
    expect((await machine.run(better, ROWS)).counts.deployed).toBe(6)
  })

  test('retries an unreachable server for a time, then stops the run, which can be resumed', async () => {
    const server = new FakeHostedApi({ idempotency: false, faultOf: () => ({ fault: 'not_sent' }) })
    const summary = await machine.run(server, ROWS, { unreachableMs: 10_000 })
    expect(summary).toMatchObject({ stopped: { code: 'unreachable' }, exitCode: 6, counts: { pending: 6 } })
    expect(server.attempts).toBeGreaterThan(3)
    expect((await machine.run(new FakeHostedApi({ idempotency: false }), ROWS)).counts.deployed).toBe(6)
  })

  test('pauses after three unknown outcomes in a row until the server responds again', async () => {
    let outage = false
    const server = new FakeHostedApi({
      idempotency: false,
      faultOf: (attempt) => {
        if (attempt === 3) outage = true
        return outage ? { fault: 'status_before', status: 502 } : null
      },
      onRead: (endpoint) => {
        if (!outage || endpoint !== 'getnfts') return
        // The load balancer returns 502 to everything for half a minute.
        if (machine.time.now() < 30_000) throw new GdnError('bad_answer', '502')
        outage = false
      },
    })
    const summary = await machine.run(server, rowsUpTo(60), { chunkSize: 5, inFlight: 1, wait: false })
    expect(summary.counts).toMatchObject({ unknown: 15, pending: 0 })
    expect(server.minted.size).toBe(45)
    // A single row goes first, to check whether it is accepted.
    expect(server.bodies.map(({ metadata }) => metadata.length)).toEqual([5, 5, 1, ...[4, 5, 5, 5, 5, 5, 5]])
    expect(machine.events).toContainEqual(expect.objectContaining({ type: 'holding', reason: 'unknown' }))
  })

  test('stops the run if the server no longer responds, and keeps the remaining rows unsent', async () => {
    const server = new FakeHostedApi({
      idempotency: false,
      faultOf: () => ({ fault: 'status_before', status: 502 }),
      onRead: (endpoint) => {
        if (endpoint === 'getnfts') throw new GdnError('unreachable', 'no line')
      },
    })
    const summary = await machine.run(server, rowsUpTo(60), { chunkSize: 5, inFlight: 1, unreachableMs: 20_000 })
    expect(summary).toMatchObject({ stopped: { code: 'unreachable' }, exitCode: 9 })
    expect(summary.counts).toMatchObject({ unknown: 15, pending: 45 })
  })

  test('sends one row at a time to a server that rejects rows but answers reads, and stops at ten', async () => {
    const server = new FakeHostedApi({ idempotency: false, faultOf: () => ({ fault: 'status_before', status: 502 }) })
    const summary = await machine.run(server, rowsUpTo(60), { chunkSize: 5, inFlight: 4 })
    expect(summary).toMatchObject({ stopped: { code: 'bad_answer' }, exitCode: 9 })
    // Three more were in flight when the third became unknown.
    expect(summary.counts.unknown).toBeLessThanOrEqual(6 * 5 + 4)
    expect(summary.counts.pending).toBe(60 - summary.counts.unknown)
  })

  test('does not pause after isolated unknown outcomes', async () => {
    const server = new FakeHostedApi({
      idempotency: false,
      faultOf: (attempt) => (attempt % 3 === 0 ? { fault: 'cut_before' } : null),
    })
    const summary = await machine.run(server, rowsUpTo(60), { chunkSize: 5, inFlight: 1, wait: false })
    expect(summary.counts).toMatchObject({ unknown: 20, accepted: 40 })
    expect(machine.events.filter(({ type }) => type === 'holding')).toEqual([])
  })
})

describe('a request that is too large for the server', () => {
  const ten = Array.from({ length: 10 }, (_, index) => row(3 * (index + 1)))
  const sizes = (server: FakeHostedApi) => server.bodies.map(({ metadata }) => metadata.length)

  test('is split in halves, and later requests are no larger', async () => {
    const server = new FakeHostedApi({ idempotency: false, maxRows: 3 })
    const rows = [...ten, ...Array.from({ length: 8 }, (_, index) => row(3 * index + 1))]
    const summary = await machine.run(server, rows, { chunkSize: 10, inFlight: 1 })
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 18 } })
    expect(sizes(server)).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2])
    expect(server.attempts).toBe(9 + 2)
    expect(machine.events.filter(({ type }) => type === 'resized')).toEqual([
      { type: 'resized', chunkSize: 5, message: 'too large' },
      { type: 'resized', chunkSize: 2, message: 'too large' },
    ])
    expect(once(server)).toBe(true)
  })

  test('keeps the order of rows if that is requested', async () => {
    const server = new FakeHostedApi({ idempotency: false, maxRows: 3 })
    await machine.run(server, ten, { chunkSize: 10, inOrder: true, inFlight: 4 })
    expect(server.bodies.flatMap(({ metadata }) => metadata.map(({ title }) => title))).toEqual(
      ten.map(({ metadata }) => metadata.title),
    )
  })

  test('is not tried again when the run resumes', async () => {
    const stop = new AbortController()
    const server = new FakeHostedApi({ idempotency: false, maxRows: 3 })
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'resized') stop.abort()
    }
    const first = await machine.run(server, ten, { chunkSize: 6, inFlight: 1, signal: stop.signal }, { onEvent })
    expect(first.counts).toMatchObject({ pending: 10, unknown: 0 })
    await machine.run(server, ten, { chunkSize: 6, inFlight: 1 })
    expect(sizes(server)).toEqual([3, 3, 3, 1])
    expect(server.attempts).toBe(5)
  })

  test('fails if it has a single row', async () => {
    const server = new FakeHostedApi({ idempotency: false, maxRows: 0 })
    const summary = await machine.run(server, ten.slice(0, 3), { chunkSize: 4, inFlight: 1 })
    expect(summary).toMatchObject({ exitCode: 7, counts: { failed: 3 } })
    expect(summary.failedRows[0]?.error).toBe('too large')
  })

  test('stays unknown if it was unknown before', async () => {
    const faults: [Fault, number][] = [
      ['cut_before', 0],
      ['refused', 413],
    ]
    const server = new FakeHostedApi({
      idempotency: true,
      faultOf: () => {
        const [fault, status] = faults.shift() ?? []
        return fault === undefined || status === undefined ? null : { fault, status }
      },
    })
    const summary = await machine.run(server, ten.slice(0, 3), { chunkSize: 4, inFlight: 1 })
    expect(summary).toMatchObject({ counts: { unknown: 3, failed: 0 }, absentRows: [{}, {}, {}] })
    expect(sizes(server)).toEqual([])
  })
})

describe('an error response that is not from the API', () => {
  test('ends the run at once, and its rows are found when it resumes', async () => {
    const options = { idempotency: false, status: 403 as number | null }
    const server = new FakeHostedApi(options)
    const { send } = server
    const behindProxy = Object.assign(server, {
      async send(...request: Parameters<typeof send>) {
        const answer = await send.apply(server, request)
        if (options.status === null) return answer
        return { kind: 'answered' as const, status: options.status, headers: {}, json: undefined, text: '<html>' }
      },
    })
    const first = await machine.run(behindProxy, ROWS, { inFlight: 1 })
    expect(first).toMatchObject({ stopped: { code: 'forbidden' }, counts: { unknown: 2, pending: 4 } })
    expect(server.attempts).toBe(1)
    options.status = null
    expect((await machine.run(behindProxy, ROWS)).counts).toMatchObject({ deployed: 6 })
    expect(once(server)).toBe(true)
  })
})

test('never resends a request under a key that the server did not honor at the first attempt', async () => {
  const options = { idempotency: false, faultOf: onSecond('cut_after') }
  const server = new FakeHostedApi(options)
  expect(await machine.run(server, ROWS, { wait: false })).toMatchObject({ counts: { unknown: 2 } })
  const { attempts } = server
  options.idempotency = true
  expect(await machine.run(server, ROWS)).toMatchObject({ counts: { deployed: 6 }, reconciled: { adopted: 2 } })
  expect(server.attempts).toBe(attempts)
})

describe('an ID that the server returned before', () => {
  test('makes the later response unknown until reconciliation', async () => {
    const given: string[] = []
    const server = new FakeHostedApi({
      idempotency: false,
      answerIds: (ids) => {
        given.push(...ids)
        return given.length > 2 && given.length <= 4 ? ids.map((_, index) => given[index] ?? '') : ids
      },
    })
    const summary = await machine.run(server, ROWS, { inFlight: 1, wait: false })
    expect(summary.counts).toMatchObject({ accepted: 4, unknown: 2 })
    expect((await machine.run(server, ROWS)).counts).toMatchObject({ deployed: 6 })
    expect(once(server)).toBe(true)
  })

  test('counts if it was returned at an earlier start of the run', async () => {
    const away = new FakeHostedApi({
      idempotency: false,
      faultOf: (attempt) => (attempt > 1 ? { fault: 'not_sent' } : null),
    })
    await machine.run(away, ROWS, { inFlight: 1, unreachableMs: 100 })
    const summary = await machine.run(new FakeHostedApi({ idempotency: false }), ROWS, { inFlight: 1, wait: false })
    expect(summary.counts).toMatchObject({ accepted: 4, unknown: 2 })
  })

  test('does not belong to the run if the collection had it before, despite equal content', async () => {
    const early: string[] = []
    const server = new FakeHostedApi({
      idempotency: false,
      answerIds: (ids) => (early.length === 0 ? ids : ids.map((_, at) => early[at] ?? '')),
    })
    for (const { receiver, metadata } of ROWS.slice(0, 1)) early.push(server.mintByOther(receiver, metadata))
    const summary = await machine.run(server, ROWS.slice(0, 1), { lookup: false })
    expect(summary.counts).toMatchObject({ deployed: 1 })
    const [result] = await machine.results(summary)
    expect(early).not.toContain(result?.nft_gdn_id)
  })

  test('is accepted for a failed row whose reference ID is not free, which stays failed', async () => {
    const server = new FakeHostedApi({
      ...{ idempotency: true, references: true, now: machine.time.now },
      record: (record) =>
        ['nft-1', 'nft-2'].includes(String(record.nft_gdn_id)) ? { ...record, status: 'failed' } : record,
    })
    expect((await machine.run(server, ROWS)).counts).toMatchObject({ deployed: 4, failed: 2 })
    const attempts = server.attempts
    const retried = await machine.run(server, null, { retryFailed: true })
    expect(retried).toMatchObject({ exitCode: 7, counts: { deployed: 4, failed: 2, unknown: 0 } })
    expect([server.attempts - attempts, server.minted.size]).toEqual([retried.requests, 6])
  })

  test('is not accepted for a row with a reference ID if another row failed with it', async () => {
    let sent = 0
    const server = new FakeHostedApi({
      ...{ idempotency: true, references: true, now: machine.time.now },
      record: (record) => (record.nft_gdn_id === 'nft-1' ? { ...record, status: 'failed' } : record),
      answerIds: (ids) => (sent++ === 0 ? ids : ids.map(() => 'nft-1')),
    })
    const receiver = RECEIVERS[0] ?? ''
    await machine.run(server, [row(1, { receiver })])
    const rows = [row(1, { receiver }), row(2, { receiver })]
    const added = await machine.run(server, rows, { wait: false, unreachableMs: 1 })
    expect(added.counts).toMatchObject({ failed: 1, unknown: 1 })
  })

  test('counts if it was returned to another run', async () => {
    await machine.run(new FakeHostedApi({ idempotency: false }), ROWS.slice(0, 2))
    const server = new FakeHostedApi({ idempotency: false })
    const summary = await machine.run(server, ROWS.slice(2, 4), { runName: 'other', wait: false })
    expect(summary.counts).toMatchObject({ unknown: 2, accepted: 0 })
  })
})

describe('while rows are being sent', () => {
  // Each request takes three seconds.
  const pacer = () => ({
    take: async (endpoint: string) => {
      if (endpoint !== 'getnfts') await machine.time.sleep(3_000)
      return { done: () => {} }
    },
    hold: () => {},
  })

  test('checks every few seconds whether the oldest are deployed', async () => {
    const server = new FakeHostedApi({ idempotency: false })
    const deployed: number[] = []
    const onEvent = (event: BatchEvent) => {
      if (event.type === 'sending') deployed.push(server.reads.filter((name) => name === 'getnfts').length)
    }
    const rows = rowsUpTo(40)
    const summary = await machine.run(server, rows, { chunkSize: 2, inFlight: 1 }, { pacer: pacer(), onEvent })
    expect(summary.counts.deployed).toBe(40)
    const asked = deployed.at(-1) ?? 0
    expect(asked).toBeGreaterThanOrEqual(3)
    expect(asked).toBeLessThanOrEqual(12)
  })

  test('sends at most one check per request while the oldest are not deployed', async () => {
    const server = new FakeHostedApi({ idempotency: false, pollsToDeploy: 1_000 })
    const rows = Array.from({ length: 600 }, (_, index) => row(3 * (index + 1)))
    const asked = () => server.reads.filter((name) => name === 'getnfts').length
    const onEvent = (event: BatchEvent) => {
      if (event.type === 'sending') expect(asked()).toBeLessThanOrEqual(event.request)
    }
    await machine.run(server, rows, { chunkSize: 20, inFlight: 1, timeout: 1_000 }, { pacer: pacer(), onEvent })
  })

  test.each(['unreachable', 'unauthorized', 'bad_answer'] as const)(
    'continues sending if that check fails with %s',
    async (code) => {
      let failing = true
      const server = new FakeHostedApi({
        idempotency: false,
        onRead: (endpoint) => {
          if (failing && endpoint === 'getnfts') throw new GdnError(code, 'no')
        },
      })
      const summary = await machine.run(
        server,
        rowsUpTo(40),
        { chunkSize: 2, inFlight: 1, wait: false },
        { pacer: pacer() },
      )
      expect(summary).toMatchObject({ stopped: null, counts: { accepted: 40 } })
      expect(server.reads).toContain('getnfts')
      failing = false
    },
  )
})

describe('on a server that honors Idempotency-Key', () => {
  /** A server that doesn't respond to the first questions. */
  const silentAtFirst = (server: FakeHostedApi, questions: number): BatchClient => ({
    send: (...request) => server.send(...request),
    call: (endpoint, request) => server.call(endpoint, request),
    upload: (file) => server.upload(file),
    supports: (capability) => (capability === 'idempotency' && questions > 0 ? null : server.supports(capability)),
    learnCapabilities: async () => (questions-- > 0 ? null : await server.learnCapabilities()),
  })

  test('sends nothing before the server has said how it repeats requests', async () => {
    const server = new FakeHostedApi({ idempotency: true })
    const summary = await machine.run(server, ROWS, {}, { client: silentAtFirst(server, 3) })
    expect(summary.counts.deployed).toBe(6)
    const holding = { type: 'holding', reason: 'unreachable', message: 'the server does not respond' }
    expect(machine.events.filter(({ type }) => type === 'holding')).toMatchObject([holding, holding, holding])
  })

  test('sends nothing to a server that does not say it for a time, and stops the run', async () => {
    const server = new FakeHostedApi({ idempotency: true })
    const client = silentAtFirst(server, Number.POSITIVE_INFINITY)
    const summary = await machine.run(server, ROWS, { unreachableMs: 10_000 }, { client })
    expect(summary).toMatchObject({ stopped: { code: 'unreachable' }, exitCode: 6, counts: { pending: 6 } })
    expect([server.attempts, machine.events.length > 3]).toEqual([0, true])
  })

  test.each<[string, Fault, number | undefined]>([
    ['that was cut before it was accepted', 'cut_before', undefined],
    ['that was cut after it was accepted', 'cut_after', undefined],
    ['that gets 500', 'status_before', 500],
    ['that gets 503 after it was accepted', 'status_after', 503],
    ['that gets 409 because it is still in progress', 'status_before', 409],
  ])('retries a request %s with the same bytes and key until its outcome is known', async (_what, fault, status) => {
    const sent: [string, string][] = []
    const server = new FakeHostedApi({ idempotency: true, faultOf: onSecond(fault, status) })
    const send = server.send.bind(server)
    server.send = (endpoint, body, options) => {
      sent.push([options.idempotencyKey, Buffer.from(body).toString()])
      return send(endpoint, body, options)
    }
    const summary = await machine.run(server, ROWS)
    expect(summary.counts).toMatchObject({ deployed: 6, unknown: 0 })
    expect(summary.exitCode).toBe(0)
    expect(once(server)).toBe(true)
    const [key, body] = sent.find(([, text]) => text.includes('"#2"')) ?? []
    expect(sent.filter(([, text]) => text.includes('"#2"'))).toEqual([
      [key, body],
      [key, body],
    ])
  })

  test('keeps rows unknown after a later rejection, until the collection shows them', async () => {
    const faults: [Fault, number][] = [
      ['cut_after', 0],
      ['refused', 400],
    ]
    const server = new FakeHostedApi({
      idempotency: true,
      faultOf: (_attempt, body) => {
        const [fault, status] = (body.receiver_wallet_address === RECEIVERS[2] ? faults.shift() : undefined) ?? []
        return fault === undefined || status === undefined ? null : { fault, status }
      },
    })
    const summary = await machine.run(server, ROWS, { wait: false })
    expect(summary.counts).toMatchObject({ unknown: 2, accepted: 4, failed: 0 })
    expect(summary.exitCode).toBe(9)
    // A later lookup in the collection resolves them.
    expect((await machine.run(server, ROWS)).counts).toMatchObject({ unknown: 0, deployed: 6 })
    expect(once(server)).toBe(true)
  })

  test('repeats a request until a response resolves it, without a lookup in the collection', async () => {
    const faults: [Fault, number][] = [
      ['cut_before', 0],
      ['status_before', 503],
      ['rate_limited', 429],
      ['status_before', 409],
      ['status_after', 502],
    ]
    const server = new FakeHostedApi({
      idempotency: true,
      faultOf(_attempt, body) {
        const [fault, status] = (body.receiver_wallet_address === RECEIVERS[2] ? faults.shift() : undefined) ?? []
        return fault === undefined || status === undefined ? null : { fault, status }
      },
    })
    const summary = await machine.run(server, ROWS)
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 6 }, reconciled: null })
    expect([server.attempts, server.minted.size]).toEqual([3 + 5, 6])
  })

  test('does not repeat a request of which a row was sent again in another', async () => {
    const rows = ['a', 'b'].map((id, index) => row(3 * index + 1, { id }))
    let isAway = true
    const server = new FakeHostedApi({
      idempotency: true,
      faultOf: () => (isAway ? { fault: 'cut_before' } : null),
    })
    const undecided = { wait: false, unreachableMs: 1000, listingWait: 1e9 }
    const settle = [{ key: 'a', nftGdnId: null }]
    expect((await machine.run(server, rows, undecided)).counts).toMatchObject({ unknown: 2 })
    await machine.run(server, null, { ...undecided, reconcileOnly: true, settle })
    isAway = false
    await machine.run(server, null, { ...undecided, retryAbsent: true })
    await machine.run(server, rows, undecided)
    expect([...server.countsByTitle()]).toEqual([['#1', 1]])
  })

  test('leaves the rows unknown and ends the run if the server does not recover', async () => {
    const server = new FakeHostedApi({ idempotency: true, faultOf: always('status_after', 503) })
    const summary = await machine.run(server, ROWS, { unreachableMs: 20_000 })
    expect(summary.counts).toMatchObject({ unknown: 2, deployed: 4 })
    expect(summary.exitCode).toBe(9)
    expect(once(server)).toBe(true)
  })

  test('repeats nothing while the server does not say again that it honors keys', async () => {
    const server = new FakeHostedApi({ idempotency: true, faultOf: onSecond('cut_before') })
    const silent = Object.assign(server, {
      learnCapabilities: async ({ refresh }: { refresh?: boolean }) => (refresh === true ? null : true),
    })
    const summary = await machine.run(silent, ROWS, { unreachableMs: 20_000 })
    expect(summary.counts).toMatchObject({ unknown: 2, deployed: 4 })
    expect(server.attempts).toBe(3)
  })

  test('fails the rows of a request that is rejected at the first attempt', async () => {
    const server = new FakeHostedApi({ idempotency: true, faultOf: onSecond('refused', 400) })
    expect((await machine.run(server, ROWS)).counts).toMatchObject({ failed: 2, deployed: 4 })
  })
})

describe("the server's record of an accepted row is compared with what was sent", () => {
  test('assigns IDs in another order to their rows by content', async () => {
    const server = new FakeHostedApi({ idempotency: false, answerIds: (ids) => ids.slice().reverse() })
    const summary = await machine.run(server, ROWS, { chunkSize: 6 })
    expect(summary.exitCode).toBe(0)
    for (const { line, nft_gdn_id } of await machine.results(summary)) {
      expect(server.minted.get(nft_gdn_id ?? '')?.metadata).toMatchObject({ title: `#${line - 1}` })
    }
  })

  test('assigns IDs to the right rows if a later request is answered first', async () => {
    const second = gate()
    const answered: string[] = []
    const server = new FakeHostedApi({
      idempotency: false,
      async beforeResponse(attempt) {
        if (attempt === 1) await second.pass()
        if (attempt === 2) second.open()
        answered.push(`attempt ${attempt}`)
      },
    })
    const summary = await machine.run(server, ROWS, { inFlight: 2 })
    expect(answered).toEqual(['attempt 2', 'attempt 1', 'attempt 3'])
    expect(summary.counts.deployed).toBe(6)
    for (const { line, nft_gdn_id } of await machine.results(summary))
      expect(server.idsOf(`#${line - 1}`)).toEqual([nft_gdn_id])
  })

  test('treats equal rows as interchangeable', async () => {
    const first = row(1)
    const rows = [first, { ...first, line: 3 }, { ...first, line: 4 }]
    const server = new FakeHostedApi({ idempotency: false, answerIds: (ids) => ids.slice().reverse() })
    const summary = await machine.run(server, rows)
    expect(summary.counts.deployed).toBe(3)
    const ids = (await machine.results(summary)).map(({ nft_gdn_id }) => nft_gdn_id)
    expect(new Set(ids).size).toBe(3)
    expect((await machine.results(summary)).map(({ key }) => key.replace(/^[0-9a-f]+/, ''))).toEqual(['', '#2', '#3'])
  })

  test('leaves a row unknown if no record matches, and reports the other rows', async () => {
    const server = new FakeHostedApi({
      idempotency: true,
      record: (record) => {
        const metadata = record.request_metadata as { title: string }
        return metadata.title === '#3' ? { ...record, request_metadata: { ...metadata, title: 'another' } } : record
      },
    })
    const summary = await machine.run(server, ROWS)
    expect(summary.counts).toMatchObject({ unknown: 1, deployed: 5 })
    expect(summary.unknownRows.map(({ line }) => line)).toEqual([4])
    expect(summary.exitCode).toBe(9)
    const secondResult = await machine.run(server, ROWS)
    expect(secondResult.counts).toEqual(summary.counts)
    expect(once(server)).toBe(true)
  })

  test('assigns an NFT that another machine updated meanwhile to its row', async () => {
    const server = new FakeHostedApi({
      idempotency: true,
      record: (record) => {
        const metadata = record.request_metadata as { title: string }
        return metadata.title === '#3'
          ? { ...record, revision: 1, request_metadata: { ...metadata, title: 'edited' } }
          : record
      },
    })
    const summary = await machine.run(server, ROWS)
    expect(summary).toMatchObject({ exitCode: 0, counts: { unknown: 0, deployed: 6 } })
  })

  test('waits for a missing record', async () => {
    let requestCount = 0
    const server = new FakeHostedApi({
      idempotency: false,
      record: (record) => (record.nft_gdn_id === 'nft-1' && ++requestCount < 3 ? null : record),
    })
    const summary = await machine.run(server, ROWS)
    expect(summary.exitCode).toBe(0)
    expect(requestCount).toBe(3)
  })
})

describe('the exit code', () => {
  test('is 8 if rows are pending after the timeout, and the same command continues to wait', async () => {
    const server = new FakeHostedApi({ idempotency: false, pollsToDeploy: 8 })
    const summary = await machine.run(server, ROWS, { timeout: 2_000 })
    expect(summary.counts.accepted).toBe(6)
    expect(summary.exitCode).toBe(8)
    expect(summary).toMatchObject({ pendingRows: [], acceptedRows: Array(6).fill(expect.anything()) })
    const attempts = server.attempts
    const secondResult = await machine.run(server, ROWS, { timeout: 60_000 })
    expect(secondResult).toMatchObject({ exitCode: 0, counts: { deployed: 6 } })
    expect(server.attempts).toBe(attempts)
  })

  test('is 0 once rows are accepted, with --no-wait', async () => {
    const server = new FakeHostedApi({ idempotency: false, pollsToDeploy: 1000 })
    const summary = await machine.run(server, ROWS, { wait: false })
    expect(summary).toMatchObject({ exitCode: 0, counts: { accepted: 6 } })
  })

  test('is 7 if NFTs failed, which are reported with their reason and retried only on request', async () => {
    const server = new FakeHostedApi({
      idempotency: true,
      record: (record) =>
        record.nft_gdn_id === 'nft-2' ? { ...record, status: 'failed', error: 'the image answers 404' } : record,
    })
    const summary = await machine.run(server, ROWS)
    expect(summary).toMatchObject({ exitCode: 7, counts: { failed: 1, deployed: 5 } })
    expect(summary.failedRows).toEqual([expect.objectContaining({ error: 'the image answers 404' })])
    await expect(machine.run(server, ROWS)).rejects.toMatchObject({ code: 'run_finished' })
    expect(once(server)).toBe(true)
    const retried = await machine.run(server, ROWS, { retryFailed: true })
    expect(retried).toMatchObject({ exitCode: 0, requests: 1, counts: { failed: 0, deployed: 6 } })
    expect([...server.countsByTitle().values()].filter((count) => count === 2)).toHaveLength(1)
    const sent = (await machine.results(retried)).map(({ nft_gdn_id }) => nft_gdn_id)
    expect(sent).not.toContain('nft-2')
    expect(new Set(sent).size).toBe(6)
  })

  test('prefers 9 to 8, and 8 to 7', async () => {
    const status = (record: Record<string, unknown>) =>
      String(record.nft_gdn_id).endsWith('-1') ? { ...record, status: 'failed' } : { ...record, status: 'initiated' }
    const unknown = new FakeHostedApi({ idempotency: false, faultOf: onSecond('cut_after'), record: status })
    // One at a time, so that the order in which requests arrive is certain.
    const first = await machine.run(unknown, ROWS, { timeout: 1000, inFlight: 1 })
    expect(first.counts).toMatchObject({ unknown: 2, failed: 1, accepted: 3 })
    expect(first.exitCode).toBe(9)
    const known = new FakeHostedApi({ idempotency: false, record: status, idPrefix: 'other' })
    const second = await machine.run(known, ROWS, { timeout: 1000, runName: 'other', again: true })
    expect(second.counts).toMatchObject({ unknown: 0, failed: 1, accepted: 5 })
    expect(second.exitCode).toBe(8)
  })
})
