/** @module-tag slow */
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { BatchEvent } from '../../../src/batch/types.ts'
import { EventLines } from '../../../src/cli/batch/progress/event-lines.ts'
import { createIo } from '../../../src/cli/io/io.ts'
import { CONTRACT, fakeApi } from '../fake-api.ts'
import { cli, errorOf, timeUpWhileWaiting } from '../harness.ts'
import { counts, planned } from '../progress/events.ts'
import { CSV, folder, service, TARGET } from './drop.ts'

type Line = { event: string; [field: string]: unknown }

const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

/** Event output as programs read it, with a clock that the test advances. */
async function setUp() {
  let text = ''
  const stdout = {
    write(chunk: string) {
      text += chunk
      return true
    },
  }
  const settings = { machine: true, quiet: false, debug: false, input: false, noColor: true }
  const io = await createIo({ env: {}, stdin: Readable.from([]), stdout, stderr: stdout }, settings)
  let now = 0
  const events = new EventLines(io, () => now)
  const told = async () => {
    await events.waitUntilWritten()
    return text === '' ? [] : linesOf(text)
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { events, told, pass }
}

describe('the events of a batch', () => {
  test('are one line each, in order, with the summary last', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service())
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '-o', 'ndjson']
    const { code, stdout, stderr } = await cli(argv, options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = linesOf(stdout)
    expect(lines.map(({ event }) => event).filter((name) => name !== 'rows')).toEqual([
      'planned',
      'sending',
      'answered',
      'waiting',
      'summary',
    ])
    const { event: _, ...summary } = lines.at(-1) ?? { event: '' }
    expect(summary).toEqual({
      abandoned: 0,
      run: expect.stringMatching(/^drop-[0-9a-f]{4}$/),
      run_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      blockchain: 'polygon',
      contract_address: CONTRACT,
      total: 2,
      deployed: 2,
      accepted: 0,
      pending: 0,
      failed: 0,
      unknown: 0,
      burned: 0,
      requests: 1,
      attempts: 1,
      reconciled: null,
      kept_accepted: 0,
      warnings: ['no row has an ID', 'no row has an image'].map((text) =>
        expect.objectContaining({ message: expect.stringContaining(text) }),
      ),
      notes: [expect.stringContaining("The NFTs of the collection can't be listed")],
      // What only other servers state, and what only --verify counts.
      ...{
        gas_used: null,
        fee_paid_wei: null,
        currency: null,
        simulated: null,
        pending_transactions: null,
        paid_before: null,
      },
      ...{ verified: null, changed: null, differing: null, unread: null },
    })
  })

  test('are only the summary with --json, with the same fields', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service())
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url]
    const { stdout } = await cli([...argv, '--json'], options)
    const { run: _, run_id: __, ...json } = JSON.parse(stdout)
    const { event, run, run_id, ...summary } = linesOf(
      (await cli([...argv, '--again', '-o', 'ndjson'], options)).stdout,
    ).at(-1) ?? { event: '' }
    expect([event, run, run_id]).toEqual(['summary', expect.any(String), expect.any(String)])
    expect(summary).toEqual(json)
  })

  test('end with a summary even if nothing is left to do, and with an error on stderr if rows failed', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service((title) => title === 'Dusk'))
    const argv = [path('drop.csv'), ...TARGET, '--chunk-size', '1', '--base-url', api.url, '-o', 'ndjson']
    const minted = await cli(['batch', 'mint', ...argv], options)
    expect(minted.code).toBe(7)
    expect(linesOf(minted.stdout).at(-1)).toMatchObject({ event: 'summary', deployed: 1, failed: 1 })
    expect(errorOf(minted).code).toBe('batch_failed_rows')
    const resumed = await cli(['batch', 'resume', 'drop', '--base-url', api.url, '-o', 'ndjson'], options)
    expect(linesOf(resumed.stdout)).toMatchObject([{ event: 'summary', failed: 1 }])
  })

  test('are replaced by an error for an invalid manifest', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV.replace('Dawn', '') })
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', 'http://127.0.0.1:9', '-o', 'ndjson']
    const result = await cli(argv, options)
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(result).code).toBe('invalid_manifest')
  })

  test('are not mixed with progress output on a terminal', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service())
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '-o', 'ndjson']
    const { stderr } = await cli(argv, { ...options, tty: true, stderrTty: true })
    expect(stderr).toBe('')
  })

  // The contract: names and fields that programs rely on.
  test.each<[BatchEvent, Line]>([
    [
      planned(counts({ pending: 3, deployed: 1 }), {
        resumed: true,
        changes: {
          added: 1,
          changed: 2,
          keptAccepted: 1,
          removed: 0,
          removedUnsent: 0,
          removedFailed: 0,
          examples: [{ kind: 'added', key: 'k', line: 2 }],
        },
      }),
      {
        event: 'planned',
        run: 'drop-3f9a',
        run_id: '3f9a000000000000',
        resumed: true,
        total: 4,
        pending: 3,
        unknown: 0,
        accepted: 0,
        deployed: 1,
        failed: 0,
        requests: 6,
        receivers: 1,
        files: 0,
        reordered: false,
        changes: { added: 1, changed: 2, kept_accepted: 1, removed: 0 },
        notes: [],
      },
    ],
    [
      { type: 'uploaded', path: '/a.png', url: 'ipfs://b', done: 1, files: 2 },
      { event: 'uploaded', path: '/a.png', url: 'ipfs://b', done: 1, files: 2 },
    ],
    [
      { type: 'sending', request: 1, rows: 50, attempt: 1 },
      { event: 'sending', request: 1, rows: 50, attempt: 1 },
    ],
    [
      { type: 'answered', request: 1, rows: 50, outcome: 'refused', status: 400, message: 'no' },
      { event: 'answered', request: 1, rows: 50, outcome: 'refused', status: 400, message: 'no' },
    ],
    [
      { type: 'holding', reason: 'rate_limited', ms: 1000, message: 'slow down' },
      { event: 'holding', reason: 'rate_limited', ms: 1000, message: 'slow down' },
    ],
    [
      { type: 'rows', counts: counts({ accepted: 2 }) },
      { event: 'rows', total: 2, pending: 0, unknown: 0, accepted: 2, deployed: 0, failed: 0 },
    ],
    [
      { type: 'looking_up', done: 1, total: 2 },
      { event: 'looking_up', done: 1, total: 2 },
    ],
    [
      { type: 'reconciling', phase: 'waiting', ms: 24_000, done: 0, total: 0 },
      { event: 'reconciling', phase: 'waiting', ms: 24_000, done: 0, total: 0 },
    ],
    [
      { type: 'reconciled', adopted: 1, absent: 2, undecided: 3 },
      { event: 'reconciled', adopted: 1, absent: 2, undecided: 3 },
    ],
    [
      { type: 'resized', chunkSize: 25, message: 'too large' },
      { event: 'resized', chunk_size: 25, message: 'too large' },
    ],
    [
      { type: 'waiting', pending: 4 },
      { event: 'waiting', pending: 4 },
    ],
  ])('converts %j to %j', async (event, line) => {
    const { events, told } = await setUp()
    events.handleEvent(event)
    expect(await told()).toEqual([line])
  })

  test('say why accepted rows wait after the look that found it', async () => {
    const { path, options } = await folder()
    const { createnft, getnfts } = service()
    const pending_reason = 'no node responds'
    const api = await fakeApi({
      createnft,
      getnfts(body: { nft_gdn_ids: string[] }) {
        const { requests, nfts } = getnfts(body).body as { requests: object; nfts: object[] }
        return { body: { requests, nfts: nfts.map((one) => ({ ...one, status: 'initiated', pending_reason })) } }
      },
    })
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '-o', 'ndjson']
    const { stdout } = await cli(argv, { ...options, ...timeUpWhileWaiting() })
    const waiting = linesOf(stdout).filter(({ event }) => event === 'waiting')
    expect(waiting.at(-1)).toMatchObject({ pending: 2, reason: pending_reason })
  })

  test('limits rows events to two per second, and writes the latest before another event and the summary', async () => {
    const { events, told, pass } = await setUp()
    for (let deployed = 1; deployed <= 100; deployed++) {
      events.handleEvent({ type: 'rows', counts: counts({ deployed }) })
      pass(10)
    }
    events.handleEvent({ type: 'waiting', pending: 0 })
    events.handleEvent({ type: 'rows', counts: counts({ deployed: 101 }) })
    await events.end({ run: 'drop' })
    const lines = await told()
    expect(lines.map(({ event, deployed }) => [event, deployed])).toEqual([
      ['rows', 1],
      ['rows', 51],
      ['rows', 100],
      ['waiting', undefined],
      ['rows', 101],
      ['summary', undefined],
    ])
  })
})
