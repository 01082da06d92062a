import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { removeRun } from '../../src/batch/runs/remove-run.ts'
import { openRun } from '../../src/batch/runs/runs.ts'
import type { BatchOptions, BatchSummary } from '../../src/batch/types.ts'
import type { ResponseOf } from '../../src/client/api-client.ts'
import { GdnError } from '../../src/core/errors.ts'
import { FakeHostedApi, type FakeOptions, type Fault } from '../helpers/fake-hosted-api.ts'
import { gate } from '../helpers/gate.ts'
import { Machine } from './simulation.ts'
import { RECEIVERS, row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await machine.stop()
})

const [A = '', B = '', C = ''] = RECEIVERS
const ELSEWHERE = '0x2222222222222222222222222222222222222222'

/** A server without idempotency whose requests meet these faults, one after the other. */
function serverWith(faults: (Fault | null)[], options: Partial<FakeOptions> = {}): FakeHostedApi {
  return new FakeHostedApi({
    idempotency: false,
    now: machine.time.now,
    faultOf: () => {
      const fault = faults.shift() ?? null
      return fault === null ? null : { fault, status: 502 }
    },
    ...options,
  })
}

/** Sends one request at a time, so that it is certain which one meets a fault. */
const run = (server: FakeHostedApi, rows = rowsUpTo(6), options: Partial<BatchOptions> = {}) =>
  machine.run(server, rows, { inFlight: 1, ...options })

const statuses = async (summary: BatchSummary) =>
  (await machine.results(summary)).map(({ line, status }) => [line, status])

/** The first two rows go in one request, the others in two more. */
const PAIR = [row(3), row(6), row(1), row(2)]

test('rows that the server knows by their reference IDs are adopted without a list of earlier NFTs', async () => {
  const server = serverWith(['cut_after', null, null], { idempotency: true, references: true })
  const stop = new AbortController()
  const learning = vi.spyOn(server, 'learnCapabilities').mockImplementation(() => {
    stop.abort(new GdnError('interrupted', 'interrupted'))
    return Promise.resolve(true)
  })
  await run(server, PAIR.slice(0, 2), { signal: stop.signal })
  learning.mockRestore()
  await machine.state((sql) => sql.run('UPDATE drops SET listed_at = NULL'))
  const began = machine.time.now()
  const summary = await machine.run(server, null, { reconcileOnly: true })
  expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 2, unknown: 0 }, reconciled: { adopted: 2 } })
  expect(machine.time.now() - began).toBeLessThan(5_000)
})

describe('rows whose outcome is unknown', () => {
  test.each<Fault>(['cut_after', 'status_after', 'fewer_ids', 'more_ids'])(
    'are adopted if the server accepted them: %s',
    async (fault) => {
      const server = serverWith([fault])
      const summary = await run(server, PAIR)
      expect(summary).toMatchObject({ exitCode: 0, reconciled: { adopted: 2, basis: null }, counts: { deployed: 4 } })
      for (const { line, nft_gdn_id } of await machine.results(summary)) {
        expect(server.idsOf(`#${line - 1}`)).toEqual([nft_gdn_id])
      }
    },
  )

  test('are adopted if the server returns the metadata of their NFTs later than their IDs', async () => {
    const server = serverWith(['cut_after'])
    const call = server.call.bind(server)
    server.call = async (endpoint, request) => {
      const answer = await call(endpoint, request)
      if (endpoint !== 'getnfts' || machine.time.now() > 20_000) return answer
      const { nfts, ...rest } = answer as ResponseOf<'getnfts'>
      const lost = new Set(PAIR.slice(0, 2).map(({ metadata }) => metadata.title))
      const withoutMetadata = nfts.map((nft) => {
        const { title } = nft.request_metadata as { title: string }
        return lost.has(title) ? { ...nft, request_metadata: null } : nft
      })
      return { ...rest, nfts: withoutMetadata } as never
    }
    expect(await run(server, PAIR)).toMatchObject({ exitCode: 0, counts: { deployed: 4 } })
    expect(server.minted.size).toBe(4)
  })

  test('are absent if it did not, as rows that were sent later prove', async () => {
    const summary = await run(serverWith(['cut_before']), PAIR)
    expect(summary).toMatchObject({ exitCode: 9, counts: { unknown: 2, deployed: 2 } })
    expect(summary.reconciled).toEqual({ adopted: 0, basis: 'later_rows' })
    expect(summary.absentRows.map(({ line }) => line)).toEqual([4, 7])
    expect(summary.undecidedRows).toEqual([])
    for (const { line, error } of await machine.results(summary)) {
      expect(error ?? '').toMatch(line === 4 || line === 7 ? /^absent: .*rows that were sent later are$/ : /^$/)
    }
  })

  test('are absent by time alone if no row was sent later, which the reason says', async () => {
    const summary = await run(serverWith([null, null, 'cut_before']), PAIR)
    expect(summary.reconciled).toEqual({ adopted: 0, basis: 'time_alone' })
    expect(summary.absentRows).toEqual([
      expect.objectContaining({ reason: expect.stringContaining('did not appear in the collection in time') }),
    ])
  })

  test('are absent by time alone if the accepted rows were sent while their own request was in flight', async () => {
    // The requests of #1 and #2 are lost. That of #1 stays in flight until #3 is accepted.
    const server = new FakeHostedApi({
      idempotency: false,
      faultOf: (_attempt, { metadata }) => (metadata[0]?.title === '#3' ? null : { fault: 'cut_before' }),
    })
    const accepted = gate()
    const send = server.send.bind(server)
    server.send = async (endpoint, bytes, options) => {
      const title = JSON.parse(Buffer.from(bytes).toString()).metadata[0].title
      if (title === '#1') await accepted.pass()
      const result = await send(endpoint, bytes, options)
      if (title === '#3') accepted.open()
      return result
    }
    const summary = await run(server, rowsUpTo(3), { inFlight: 2 })
    expect(summary.absentRows).toEqual([
      expect.objectContaining({ line: 2, reason: expect.stringContaining('did not appear in the collection in time') }),
      expect.objectContaining({ line: 3, reason: expect.stringContaining('rows that were sent later') }),
    ])
    // The weaker of the two.
    expect(summary.reconciled).toEqual({ adopted: 0, basis: 'time_alone' })
  })

  test('are looked up by the next call, and only by that one with --no-wait', async () => {
    const server = serverWith(['cut_after'])
    const first = await run(server, PAIR, { wait: false })
    expect(first).toMatchObject({ exitCode: 9, reconciled: null, counts: { unknown: 2 } })
    expect(server.reads.filter((name) => name === 'getnftgdnids')).toHaveLength(1)
    const second = await run(server, PAIR)
    expect(second).toMatchObject({ exitCode: 0, counts: { deployed: 4 }, requests: 0 })
  })

  test('are found after a crash, even if the clock has stepped back by ten minutes', async () => {
    const server = serverWith([null, 'cut_after'], { listingLagMs: 20_000 })
    const wall = vi.spyOn(Date, 'now')
    const began = 1_800_000_000_000
    wall.mockImplementation(() => began + machine.time.now())
    await run(server, PAIR, { wait: false })
    wall.mockImplementation(() => began + machine.time.now() - 600_000)
    const before = machine.time.now()
    const summary = await run(server, PAIR)
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 4 } })
    expect(machine.time.now() - before).toBeGreaterThanOrEqual(30_000)
  })

  test('are looked up for at least 30 s after the last attempt, regardless of the wall clock', async () => {
    for (const step of [-600_000, 3_600_000]) {
      await machine.stop()
      machine = await Machine.start()
      const server = serverWith(['cut_before'])
      await run(server, PAIR, { wait: false })
      const now = Date.now()
      vi.spyOn(Date, 'now').mockReturnValue(now + step)
      const before = machine.time.now()
      expect((await run(server, PAIR)).absentRows).toHaveLength(2)
      expect(machine.time.now() - before).toBeGreaterThanOrEqual(30_000)
    }
  })

  test("are looked up for 20 times as long as the run's other rows were missing", async () => {
    const server = serverWith(['cut_before'], { listingLagMs: 4_000 })
    const summary = await run(server, PAIR)
    expect(summary.absentRows).toHaveLength(2)
    const waits = machine.events.flatMap((event) =>
      event.type === 'reconciling' && event.phase === 'waiting' ? [event.ms] : [],
    )
    expect(Math.max(...waits)).toBeGreaterThanOrEqual(29_000)
    const slow = serverWith(['cut_before'], { listingLagMs: 40_000, idPrefix: 'slow' })
    const before = machine.time.now()
    const late = await run(slow, PAIR, { runName: 'slow', again: true, timeout: 3_600_000 })
    expect(late.absentRows).toHaveLength(2)
    // First seen missing half a minute after they were accepted: 20 times that.
    expect(machine.time.now() - before).toBeGreaterThanOrEqual(20 * 30_000)
  })

  test('stay undecided with a hint if the listing lags longer than the wait may take', async () => {
    for (const fault of ['cut_before', 'cut_after'] as const) {
      await machine.stop()
      machine = await Machine.start()
      const server = serverWith([fault], { listingLagMs: 3_600_000 })
      const summary = await run(server, PAIR, { timeout: 120_000 })
      expect(summary).toMatchObject({ exitCode: 9, counts: { unknown: 2 }, absentRows: [] })
      expect(summary.undecidedRows).toHaveLength(2)
      expect(summary.undecidedRows[0]?.reason).toContain('--timeout')
      // Hours later the listing shows everything.
      await machine.time.sleep(4_000_000)
      const later = await run(server, null as never, { reconcileOnly: true })
      expect(later.counts).toMatchObject(fault === 'cut_after' ? { deployed: 4 } : { deployed: 2, unknown: 2 })
      expect(later.absentRows).toHaveLength(fault === 'cut_after' ? 0 : 2)
    }
  })

  test('are not looked up if the time is too short for a reliable result', async () => {
    const before = machine.time.now()
    const summary = await run(serverWith(['cut_before']), PAIR, { timeout: 2_000 })
    expect(summary.undecidedRows).toHaveLength(2)
    expect(machine.time.now() - before).toBeLessThan(5_000)
  })

  test('are adopted once address and owner of a pending NFT are known', async () => {
    const server = serverWith(['cut_after'], { nullUntilDeployed: true, pollsToDeploy: 6 })
    const summary = await run(server, PAIR)
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 4 } })
  })

  test('are left to the server if it honors Idempotency-Key', async () => {
    const server = serverWith(['cut_after'], { idempotency: true })
    const summary = await run(server, PAIR)
    expect(summary).toMatchObject({ exitCode: 0, reconciled: null, counts: { deployed: 4 } })
    expect(server.reads.filter((name) => name === 'getnftgdnids')).toHaveLength(1)
  })

  test.each<[string, (Fault | null)[]]>([
    ['later rows', ['cut_before']],
    ['time alone', [null, null, 'cut_before']],
  ])('are not written again if they are still absent by %s', async (_basis, faults) => {
    const server = serverWith(faults)
    await run(server, PAIR)
    const outcomes = () =>
      machine.state((sql) => sql.all('SELECT state, reason, accepted_at FROM operations ORDER BY id'))
    const before = await outcomes()
    await run(server, PAIR, { reconcileOnly: true })
    expect(await outcomes()).toEqual(before)
  })
})

describe('an NFT with the metadata of an unknown row', () => {
  test('an NFT with the metadata of an unknown row that another wallet owns leaves the row undecided, because it may have been transferred', async () => {
    const server = serverWith(['cut_after'])
    await run(server, PAIR, { wait: false })
    const [id = ''] = server.idsOf('#3')
    server.move(id, ELSEWHERE)
    const summary = await run(server, PAIR)
    expect(summary).toMatchObject({ exitCode: 9, counts: { unknown: 1, deployed: 3 }, absentRows: [] })
    expect(summary.undecidedRows).toEqual([
      { key: expect.any(String), line: 4, reason: expect.stringContaining('another wallet') },
    ])
  })

  test('matches a row with a sender if the sender or the receiver owns it', async () => {
    const rows = [row(3, { sender: B }), row(6, { sender: B }), row(1)]
    const server = serverWith(['cut_after'])
    await run(server, rows, { wait: false })
    const [id = ''] = server.idsOf('#3')
    server.move(id, B)
    expect(await run(server, rows)).toMatchObject({ exitCode: 0, counts: { deployed: 3 } })
  })

  test('an NFT with the metadata of an unknown row that another client minted too leaves the row undecided, because two NFTs match', async () => {
    const server = serverWith(['cut_after'])
    server.mintByOther(A, { title: 'before', description: '', file_fields: [] })
    await run(server, PAIR, { wait: false })
    server.mintByOther(A, PAIR[0]?.metadata ?? {})
    const summary = await run(server, PAIR)
    expect(summary).toMatchObject({ counts: { unknown: 1, deployed: 3 }, absentRows: [] })
    expect(summary.undecidedRows[0]?.reason).toContain('2 NFTs')
  })

  test('is found however much others mint in the same collection in the meantime', async () => {
    const server = serverWith(['cut_after', 'cut_before'])
    let others = 0
    const onEvent = (event: { type: string }) => {
      if (event.type === 'reconciling') server.mintByOther(B, { title: `other ${++others}` })
    }
    const summary = await machine.run(server, PAIR, { inFlight: 1 }, { onEvent })
    expect(summary.counts).toMatchObject({ deployed: 3, unknown: 1 })
    expect(summary.absentRows).toHaveLength(1)
    expect(others).toBeGreaterThan(5)
  })

  test('an NFT with the metadata of an unknown row that is older than the run does not belong to it', async () => {
    const server = serverWith(['cut_before'])
    server.mintByOther(A, PAIR[0]?.metadata ?? {})
    const summary = await run(server, PAIR, { lookup: false })
    expect(summary.absentRows.map(({ line }) => line)).toEqual([4, 7])
  })

  test('leaves the row undecided if the earlier content of the collection is unknown', async () => {
    const server = serverWith(['cut_after'])
    let listings = 0
    const call = server.call.bind(server)
    server.call = async (endpoint, request) => {
      if (endpoint === 'getnftgdnids' && ++listings === 1) throw new GdnError('refused', 'no listing today')
      return call(endpoint, request)
    }
    const summary = await run(server, PAIR)
    expect(summary).toMatchObject({ exitCode: 9, absentRows: [], counts: { unknown: 2 } })
    expect(summary.undecidedRows[0]?.reason).toContain('before the run')
  })

  test('is not assigned if another run has an unknown row with the same content', async () => {
    const server = serverWith(['cut_before', 'cut_after'])
    await run(server, [row(3)], { wait: false })
    await run(server, [row(3)], { wait: false, runName: 'other', again: true })
    const summary = await run(server, [row(3)])
    expect(summary).toMatchObject({ counts: { unknown: 1 }, absentRows: [] })
    expect(summary.undecidedRows[0]?.reason).toContain('another command on this machine')
  })

  test('an NFT with the metadata of an unknown row that belongs to another run or command is not reassigned', async () => {
    const server = serverWith(['cut_before'])
    await run(server, [row(3), row(1)], { wait: false })
    await run(server, [row(3)], { runName: 'other', again: true })
    const [first = ''] = server.idsOf('#3')
    expect((await run(server, [row(3), row(1)])).absentRows).toHaveLength(1)
    const ordered = server.mintByOther(A, row(3).metadata)
    await machine.ordered([ordered])
    const summary = await machine.run(server, null, { reconcileOnly: true })
    expect(summary).toMatchObject({ counts: { unknown: 1 }, absentRows: [{ line: 4 }] })
    expect(first).not.toBe(ordered)
  })
})

test('an NFT of a removed run is not assigned to an earlier row, and is found by a new run of the manifest', async () => {
  const server = serverWith(['cut_before'])
  await run(server, [row(1)], { wait: false })
  const other = { manifestPath: '/drops/other.csv' }
  const second = await run(server, [row(1)], { ...other, again: true })
  expect(second.counts).toMatchObject({ deployed: 1 })
  await removeRun(await openRun(machine.stateDir, second.run.id))
  const found = await run(server, [row(1)], { reconcileOnly: true })
  expect(found).toMatchObject({ counts: { unknown: 1 }, reconciled: { adopted: 0 } })
  await removeRun(await openRun(machine.stateDir, found.run.id))
  await expect(run(server, [row(1)], other)).rejects.toMatchObject({ code: 'seems_minted' })
})

describe('changes during the lookup', () => {
  test('do not reassign an NFT that another command received in the meantime', async () => {
    const server = serverWith(['cut_before'])
    await run(server, PAIR, { wait: false })
    const ordered = server.mintByOther(A, PAIR[0]?.metadata ?? {})
    const call = server.call.bind(server)
    let given: Promise<void> | null = null
    server.call = async (endpoint, request) => {
      const answer = await call(endpoint, request)
      if (endpoint === 'getnfts') given ??= machine.ordered([ordered])
      await given
      return answer
    }
    const summary = await machine.run(server, PAIR, { inFlight: 1 })
    expect(summary.absentRows).toHaveLength(2)
    expect((await machine.results(summary)).map(({ nft_gdn_id }) => nft_gdn_id)).not.toContain(ordered)
  })

  test('delay the result until two lookups in a row agree', async () => {
    const server = serverWith(['cut_after'])
    let waits = 0
    const onEvent = (event: { type: string; phase?: string; ms?: number }) => {
      const isBetween = event.type === 'reconciling' && event.phase === 'waiting' && machine.time.now() >= 30_000
      if (isBetween && waits++ === 0) server.mintByOther(A, row(3).metadata)
    }
    const summary = await machine.run(server, [row(3), row(1)], { inFlight: 1 }, { onEvent })
    expect(waits).toBeGreaterThan(0)
    expect(summary).toMatchObject({ counts: { unknown: 1, deployed: 1 }, absentRows: [] })
    expect(summary.undecidedRows[0]?.reason).toContain('2 NFTs')
  })
})

describe('equal rows', () => {
  const equalRows = (count: number) => Array.from({ length: count }, (_, index) => row(3, { line: index + 2 }))

  test('are interchangeable: as many as were accepted are adopted, the others are absent', async () => {
    const server = serverWith(['cut_before', 'cut_after'])
    const summary = await run(server, [...equalRows(2), row(1)], { chunkSize: 1 })
    expect(summary.counts).toMatchObject({ deployed: 2, unknown: 1 })
    expect(summary.absentRows).toHaveLength(1)
    expect(server.minted.size).toBe(2)
  })

  test('equal rows of which some were accepted leave those alone', async () => {
    const server = serverWith([null, 'cut_after', null])
    const summary = await run(server, equalRows(3), { chunkSize: 1 })
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 3 } })
    expect(new Set((await machine.results(summary)).map(({ nft_gdn_id }) => nft_gdn_id)).size).toBe(3)
  })

  test('for different owners are matched by owner, and missing ones are undecided because owners change', async () => {
    const edition = (receiver: string, line: number) => row(3, { receiver, line })
    const rows = [edition(A, 2), edition(B, 3), edition(C, 4), row(1)]
    const all = await run(serverWith(['cut_after', 'cut_after', null]), rows)
    expect(all).toMatchObject({ exitCode: 0, counts: { deployed: 4 } })
    await machine.stop()
    machine = await Machine.start()
    const server = serverWith(['cut_after', 'cut_before', null])
    const one = await run(server, rows)
    expect(await statuses(one)).toEqual([
      [2, 'deployed'],
      [3, 'unknown'],
      [4, 'deployed'],
      [2, 'unknown'],
    ])
    expect(one.absentRows.map(({ line }) => line)).toEqual([2])
    expect(one.undecidedRows).toHaveLength(1)
    const secondResult = await run(server, rows, { reconcileOnly: true })
    expect(secondResult.undecidedRows).toHaveLength(1)
  })
})

describe('a server that rewrites metadata', () => {
  test('leaves rows undecided, because an absent row cannot be told from a rewritten one', async () => {
    for (const fault of ['cut_before', 'cut_after'] as const) {
      await machine.stop()
      machine = await Machine.start()
      const rewrite = (metadata: Record<string, unknown>) => ({ ...metadata, description: 'rewritten' })
      const server = serverWith([fault], { rewrite })
      const summary = await run(server, PAIR)
      expect(summary).toMatchObject({ exitCode: 9, counts: { unknown: 4, deployed: 0 }, absentRows: [] })
      expect(summary.undecidedRows).toHaveLength(4)
    }
  })

  test('for one accepted row leaves no other row absent', async () => {
    const rewrite = (metadata: Record<string, unknown>) =>
      metadata.title === '#1' ? { ...metadata, title: 'One' } : metadata
    const summary = await run(serverWith(['cut_before'], { rewrite }), PAIR)
    expect(summary).toMatchObject({ counts: { unknown: 3, deployed: 1 }, absentRows: [] })
    expect(summary.undecidedRows).toHaveLength(3)
  })

  test('is detected by a new NFT that matches no row, if no row of the run was accepted', async () => {
    const rewrite = (metadata: Record<string, unknown>) => ({ ...metadata, title: 'another' })
    const summary = await run(serverWith(['cut_after'], { rewrite }), [row(3)])
    expect(summary).toMatchObject({ counts: { unknown: 1 }, absentRows: [] })
    expect(summary.undecidedRows[0]?.reason).toContain('different metadata')
  })

  test('in some rows only is detected by an NFT with nearly the same content', async () => {
    const rewrite = (metadata: Record<string, unknown>) =>
      metadata.title === ' #3' ? { ...metadata, title: '#3' } : metadata
    const odd = row(3, { metadata: { title: ' #3', description: '', file_fields: [] } })
    const summary = await run(serverWith(['cut_after'], { rewrite }), [odd, row(1)])
    expect(summary).toMatchObject({ counts: { unknown: 1, deployed: 1 }, absentRows: [] })
    expect(summary.undecidedRows[0]?.reason).toContain('nearly')
  })

  test('does no harm if rows have a marker that it keeps', async () => {
    const rewrite = (metadata: Record<string, unknown>) => ({ ...metadata, description: 'rewritten' })
    const server = serverWith(['cut_after', 'cut_before'], { rewrite })
    const summary = await run(server, PAIR, { markerKey: 'gdn' })
    expect((await machine.results(summary)).find(({ line }) => line === 4)).toMatchObject({ status: 'deployed' })
    expect((await machine.results(summary)).find(({ line }) => line === 7)).toMatchObject({ status: 'deployed' })
    expect(summary.absentRows.map(({ line }) => line)).toEqual([2])
  })
})

describe('during reconciliation', () => {
  test('a rotated key stops it without a decision, and the next call continues', async () => {
    const server = serverWith(['cut_after', 'cut_before'])
    let rotated = false
    const call = server.call.bind(server)
    server.call = async (endpoint, request) => {
      if (rotated && endpoint === 'getnfts') throw new GdnError('unauthorized', 'the key was rotated')
      return call(endpoint, request)
    }
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'reconciling') rotated = true
    }
    const summary = await machine.run(server, PAIR, { inFlight: 1 }, { onEvent })
    expect(summary).toMatchObject({ exitCode: 9, stopped: { code: 'unauthorized' }, counts: { unknown: 3 } })
    expect(
      await machine.state((sql) => sql.all("SELECT 1 FROM operations WHERE state = 'absent' OR accepted_by = 'found'")),
    ).toEqual([])
    rotated = false
    expect((await run(server, PAIR)).counts).toMatchObject({ deployed: 3, unknown: 1 })
  })

  test('a listing that fails for a while is retried', async () => {
    const server = serverWith(['cut_after'])
    let failures = 0
    const call = server.call.bind(server)
    server.call = async (endpoint, request) => {
      const isLater = server.reads.length > 2
      if (endpoint === 'getnftgdnids' && isLater && failures++ < 3) throw new GdnError('unreachable', 'no line')
      return call(endpoint, request)
    }
    expect((await run(server, PAIR)).counts.deployed).toBe(4)
    expect(failures).toBeGreaterThan(3)
  })

  test('a record that the server does not have yet delays the result', async () => {
    let hidden = 12
    const server = serverWith(['cut_after'], {
      record: (record) =>
        (record.request_metadata as { title: string }).title === '#3' && hidden-- > 0 ? null : record,
    })
    expect((await run(server, PAIR)).counts.deployed).toBe(4)
    expect(hidden).toBeLessThan(0)
  })

  test('Ctrl-C ends it without writing anything', async () => {
    const stop = new AbortController()
    const onEvent = (event: { type: string; phase?: string }) => {
      if (event.type === 'reconciling' && event.phase === 'waiting') stop.abort()
    }
    const server = serverWith(['cut_after'])
    const summary = await machine.run(server, PAIR, { signal: stop.signal, inFlight: 1 }, { onEvent })
    expect(summary).toMatchObject({ exitCode: 130, reconciled: null })
    expect(
      await machine.state((sql) => sql.all("SELECT 1 FROM operations WHERE state = 'absent' OR accepted_by = 'found'")),
    ).toEqual([])
  })
})

describe('absent rows', () => {
  test('are sent again only on request', async () => {
    const server = serverWith(['cut_before'])
    await run(server, PAIR)
    const attempts = server.attempts
    expect(await run(server, PAIR)).toMatchObject({ exitCode: 9, counts: { unknown: 2 } })
    expect(await run(server, PAIR, { retryFailed: true })).toMatchObject({ exitCode: 9, counts: { unknown: 2 } })
    expect(server.attempts).toBe(attempts)
    const retried = await run(server, PAIR, { retryAbsent: true })
    expect(retried).toMatchObject({ exitCode: 0, requests: 1, counts: { deployed: 4 } })
    expect([...server.countsByTitle().values()]).toEqual([1, 1, 1, 1])
  })

  test('are retried without undecided ones', async () => {
    const server = serverWith(['cut_after', 'cut_before'])
    await run(server, PAIR, { wait: false })
    server.move(server.idsOf('#3')[0] ?? '', ELSEWHERE)
    await run(server, PAIR)
    const retried = await run(server, PAIR, { retryAbsent: true })
    expect(retried.counts).toMatchObject({ deployed: 3, unknown: 1 })
    expect([...server.countsByTitle().values()]).toEqual([1, 1, 1, 1])
  })

  test('absent rows that were found since stop the retry before anything is sent', async () => {
    const server = serverWith(['cut_before'])
    await run(server, PAIR)
    server.mintByOther(A, PAIR[0]?.metadata ?? {})
    const attempts = server.attempts
    await expect(run(server, PAIR, { retryAbsent: true })).rejects.toMatchObject({
      code: 'seems_minted',
      exitCode: 9,
      hint: expect.stringContaining('gdn batch reconcile'),
      details: { rows: [{ line: 4 }], count: 1 },
    })
    expect(server.attempts).toBe(attempts)
    expect((await run(server, PAIR, { reconcileOnly: true })).counts).toMatchObject({ deployed: 3, unknown: 1 })
  })

  test('are possibly minted twice if another NFT with their content appears after the retry', async () => {
    const server = serverWith(['cut_before'])
    await run(server, PAIR)
    await run(server, PAIR, { retryAbsent: true })
    const late = server.mintByOther(A, PAIR[0]?.metadata ?? {})
    const summary = await run(server, PAIR, { reconcileOnly: true })
    expect(summary).toMatchObject({ exitCode: 7, counts: { deployed: 4 } })
    const reason = expect.stringContaining('the first request')
    expect(summary.doubledRows).toEqual([{ key: expect.any(String), line: 4, reason, nft_gdn_id: late }])
    const withError = (await machine.results(summary)).filter(({ error }) => error !== null)
    expect(withError).toEqual([
      expect.objectContaining({ line: 4, status: 'deployed', error: expect.stringContaining(late) }),
    ])
    // The report stays.
    expect((await run(server, PAIR, { reconcileOnly: true })).doubledRows).toHaveLength(1)
  })

  test('absent rows whose retry is unknown too are found by either attempt', async () => {
    const server = serverWith(['cut_before', null, null, 'cut_after'])
    await run(server, PAIR)
    const summary = await run(server, PAIR, { retryAbsent: true })
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 4 }, doubledRows: [] })
  })
})

describe('a decision of the user', () => {
  const undecided = async () => {
    const server = serverWith(['cut_after'])
    await run(server, PAIR, { wait: false })
    const [id = ''] = server.idsOf('#3')
    server.move(id, ELSEWHERE)
    const summary = await run(server, PAIR)
    const [open] = summary.undecidedRows
    return { server, id, key: open?.key ?? '' }
  }
  const say = (server: FakeHostedApi, settle: NonNullable<BatchOptions['settle']>) =>
    run(server, PAIR, { reconcileOnly: true, settle })

  test('assigns an NFT to a row', async () => {
    const { server, id, key } = await undecided()
    const summary = await say(server, [{ key, nftGdnId: id }])
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 4 } })
    expect((await machine.results(summary)).find(({ line }) => line === 4)).toMatchObject({
      nft_gdn_id: id,
      receiver_wallet_address: ELSEWHERE,
    })
  })

  test('marks a row as absent, permanently, and only then may it be sent again', async () => {
    const { server, key } = await undecided()
    const summary = await say(server, [{ key, nftGdnId: null }])
    expect(summary.absentRows).toEqual([
      expect.objectContaining({ key, reason: expect.stringContaining('you marked') }),
    ])
    expect((await run(server, PAIR, { reconcileOnly: true })).absentRows).toHaveLength(1)
    const retried = await run(server, PAIR, { retryAbsent: true })
    expect(retried).toMatchObject({ exitCode: 0, counts: { deployed: 4 }, doubledRows: [] })
  })

  test('a decision of the user that a row is absent remains after it appears later', async () => {
    const server = serverWith(['cut_after'])
    await run(server, [row(3), row(1)], { wait: false })
    const duplicate = server.mintByOther(A, row(3).metadata)
    const [open] = (await run(server, [row(3), row(1)])).undecidedRows
    const settle = [{ key: open?.key ?? '', nftGdnId: null }]
    await run(server, [row(3), row(1)], { reconcileOnly: true, settle })
    server.move(duplicate, ELSEWHERE)
    const summary = await run(server, [row(3), row(1)], { reconcileOnly: true })
    expect(summary).toMatchObject({ absentRows: [{ key: open?.key }], counts: { unknown: 1 } })
  })

  test.each<[string, (known: { id: string; key: string }) => NonNullable<BatchOptions['settle']>, string]>([
    ['a row that does not exist', () => [{ key: 'nope', nftGdnId: null }], 'no row nope'],
    ['an NFT that does not exist', ({ key }) => [{ key, nftGdnId: 'nft-99' }], 'has no NFT'],
    ['the NFT of another row', ({ key }) => [{ key, nftGdnId: 'nft-3' }], 'NFT of another row'],
    [
      'the same row twice',
      ({ key, id }) => [
        { key, nftGdnId: id },
        { key, nftGdnId: null },
      ],
      'repeated',
    ],
  ])('about %s is rejected, and no part of it is applied', async (_what, words, message) => {
    const { server, id, key } = await undecided()
    const found = () =>
      machine.state((sql) => sql.all("SELECT id FROM operations WHERE accepted_by = 'found' OR state = 'absent'"))
    const before = await found()
    await expect(say(server, words({ id, key }))).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(message),
      place: { flag: '--row' },
    })
    expect(await found()).toEqual(before)
  })

  test('about a row whose outcome is known is rejected', async () => {
    const { server } = await undecided()
    const summary = await run(server, PAIR, { reconcileOnly: true })
    const known = (await machine.results(summary)).find(({ status }) => status === 'deployed')
    await expect(say(server, [{ key: known?.key ?? '', nftGdnId: null }])).rejects.toMatchObject({ code: 'usage' })
  })
})
