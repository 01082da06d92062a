import { describe, expect, test } from 'vitest'
import type { BatchEvent, RowCounts } from '../../../src/batch/types.ts'
import { ProgressState } from '../../../src/cli/batch/progress/progress-state.ts'
import { barWidths, formatBlock, formatLine, roughDuration } from '../../../src/cli/batch/progress/progress-text.ts'
import { PLAIN_PAINT } from '../../../src/cli/io/paint.ts'
import { displayWidth } from '../../../src/cli/text/display-width.ts'
import { counts, planned } from './events.ts'

const LOOK = { columns: 80, paint: PLAIN_PAINT, ascii: false }

/** The state after these events, each at its second. */
function stateAfter(...events: readonly (readonly [seconds: number, event: BatchEvent])[]): ProgressState {
  const state = new ProgressState(0)
  for (const [seconds, event] of events) state.handleEvent(event, seconds * 1000)
  return state
}

const answered = (request: number, more: Partial<Extract<BatchEvent, { type: 'answered' }>> = {}): BatchEvent => ({
  type: 'answered',
  request,
  rows: 50,
  outcome: 'accepted',
  status: 200,
  message: null,
  ...more,
})

const rows = (some: Partial<RowCounts>): BatchEvent => ({ type: 'rows', counts: counts(some) })

const MIXED = { deployed: 120, accepted: 80, failed: 2, unknown: 2, pending: 96 }

describe('the block', () => {
  test('shows the run, a bar of its rows, rows by state, rate, time and current activity', () => {
    const state = stateAfter(
      [0, planned(counts({ pending: 300 }), { requests: 30 })],
      ...[1, 2, 3, 4, 5, 6, 7].map((at) => [at, answered(at)] as const),
      [8, rows(MIXED)],
    )
    expect(formatBlock(state, 8_000, LOOK)).toEqual([
      'drop-3f9a: 120 of 300 rows deployed',
      `${'█'.repeat(31)}${'▒'.repeat(21)}x?${'·'.repeat(25)}`,
      '█ 120 deployed   ▒ 80 accepted   x 2 failed   ? 2 unknown   · 96 pending',
      '0.9 requests/s · about 30 s left to send · 0:08 elapsed',
      'Sending',
    ])
  })

  test('uses ASCII characters on a terminal without block characters', () => {
    const [head, bar, legend] = formatBlock(stateAfter([0, planned(counts(MIXED))]), 0, { ...LOOK, ascii: true })
    expect(head).toBe('drop-3f9a: 120 of 300 rows deployed')
    expect(bar).toMatch(/^#+=+x\?\.+$/)
    expect(legend).toBe('# 120 deployed   = 80 accepted   x 2 failed   ? 2 unknown   . 96 pending')
  })

  test.each([24, 40, 80, 120, 400])('fits into %i columns without wrapping, and shows every state', (columns) => {
    const state = stateAfter([0, planned(counts({ ...MIXED, deployed: 1_234_567 }))])
    state.handleEvent({ type: 'reconciling', phase: 'waiting', ms: 24_000, done: 0, total: 0 }, 1000)
    const lines = formatBlock(state, 1000, { ...LOOK, columns })
    expect(lines.filter((line) => displayWidth(line) >= columns)).toEqual([])
    for (const name of ['deployed', 'accepted', 'failed', 'unknown', 'pending'])
      expect(lines.join('\n')).toContain(name)
  })

  test.each([
    [30, 'whole', (text: string) => expect(text).toMatch(/word29$/)],
    [300, 'cut with an ellipsis', (text: string) => expect(text).toMatch(/word\d+ ?…$/)],
  ])('shows a reason of %i words %s', (words, _, check) => {
    const reason = Array.from({ length: words }, (_, at) => `word${at}`).join(' ')
    const state = stateAfter([0, planned(counts(MIXED))], [1, { type: 'waiting', pending: 80, reason }])
    const lines = formatBlock(state, 1000, { ...LOOK, columns: 80 })
    check(lines.join(' '))
    expect(lines.length).toBeLessThanOrEqual(13)
    expect(lines.filter((line) => displayWidth(line) >= 80)).toEqual([])
  })

  test('escapes external text', () => {
    const state = stateAfter(
      [0, planned(counts({ pending: 1 }), { run: { id: 'x', name: 'a\u001b[2Jb' } })],
      [1, { type: 'holding', reason: 'unreachable', ms: 5000, message: '\u001b]52;c;x\u0007' }],
    )
    expect(formatBlock(state, 1000, LOOK).join('')).not.toMatch(/[\u0000-\u001f]/)
    expect(formatLine(state, 1000)).not.toMatch(/[\u0000-\u001f]/)
  })
})

describe('the bar', () => {
  test.each([
    [{ pending: 10 }, 10, { pending: 10 }],
    [{ deployed: 1, pending: 999_999 }, 10, { deployed: 1, pending: 9 }],
    [{ deployed: 1_000_000, failed: 1, unknown: 1 }, 40, { deployed: 38, failed: 1, unknown: 1 }],
    [{ deployed: 1, accepted: 1, failed: 1 }, 10, { deployed: 4, accepted: 3, failed: 3 }],
    [{}, 10, { pending: 10 }],
  ])('splits %j over %i characters', (some, width, widths) => {
    const none = { deployed: 0, accepted: 0, failed: 0, unknown: 0, pending: 0 }
    expect(barWidths(counts(some), width)).toEqual({ ...none, ...widths })
  })
})

describe('the current activity', () => {
  const start = [0, planned(counts({ unknown: 50, accepted: 80, pending: 3 }))] as const
  const doing = (state: ProgressState, now: number) => formatBlock(state, now, { ...LOOK, columns: 200 }).at(-1)

  test.each<[BatchEvent, string]>([
    [{ type: 'uploaded', path: 'a', url: 'b', done: 3, files: 24 }, 'Uploading files: 3 of 24'],
    [
      { type: 'looking_up', done: 200, total: 1000 },
      'Checking whether the collection already has these rows: 200 of 1,000 NFTs read',
    ],
    [
      { type: 'holding', reason: 'rate_limited', ms: 30_000, message: 'no funds' },
      'The server requested a pause, 25 s left: no funds',
    ],
    [
      { type: 'holding', reason: 'max_cost', ms: 10_000, message: '42 blocks left' },
      'Waiting until the next rows fit within --max-cost, retrying in 5 s: 42 blocks left',
    ],
    [
      { type: 'holding', reason: 'unreachable', ms: 8_000, message: 'connect ECONNREFUSED' },
      "The server can't be reached, retrying every few seconds: connect ECONNREFUSED",
    ],
    [
      { type: 'holding', reason: 'unknown', ms: 8_000, message: 'socket hang up' },
      'No response to a request, retrying in 3 s: socket hang up',
    ],
    [
      { type: 'reconciling', phase: 'waiting', ms: 29_000, done: 0, total: 0 },
      'Checking 50 rows with an unknown outcome: waiting for an up-to-date list, 24 s left',
    ],
    [
      { type: 'reconciling', phase: 'listing', ms: 0, done: 0, total: 0 },
      'Checking 50 rows with an unknown outcome: reading the list of NFTs',
    ],
    [
      { type: 'reconciling', phase: 'reading', ms: 0, done: 200, total: 1_000 },
      'Checking 50 rows with an unknown outcome: 200 of 1,000 NFTs read',
    ],
    [{ type: 'waiting', pending: 80 }, 'Waiting until 80 NFTs are deployed'],
  ])('is described for %j', (event, text) => {
    expect(doing(stateAfter(start, [0, event]), 5_000)).toBe(text)
  })

  test('counts no rows in a second search if none is unknown any more', () => {
    const known = stateAfter([0, planned(counts({ ...MIXED, unknown: 0 }))])
    known.handleEvent({ type: 'reconciling', phase: 'listing', ms: 0, done: 0, total: 0 }, 0)
    expect(doing(known, 5_000)).toBe('Searching the collection a second time: reading the list of NFTs')
  })

  test('is reading the manifest before there is a plan', () => {
    expect(formatBlock(new ProgressState(0), 3_000, LOOK)).toEqual([
      'gdn batch',
      '0:03 elapsed',
      'Reading the manifest',
    ])
  })

  test('ends a requested pause by time, and an outage with the next response', () => {
    const paused = stateAfter(start, [1, { type: 'holding', reason: 'rate_limited', ms: 3000, message: '429' }])
    expect(doing(paused, 3_999)).toContain('pause, 1 s left')
    expect(doing(paused, 4_000)).toBe('Sending')
    const away = stateAfter(start, [1, { type: 'holding', reason: 'unreachable', ms: 3000, message: 'gone' }])
    away.handleEvent({ type: 'sending', request: 1, rows: 1, attempt: 2 }, 5000)
    away.handleEvent(answered(1, { outcome: 'no_effect', status: null }), 5100)
    expect(doing(away, 60_000)).toContain("can't be reached")
    away.handleEvent(answered(1), 61_000)
    expect(doing(away, 61_000)).toBe('Sending')
  })

  test('shows attempts without a response as an unreachable server, regardless of their outcome', () => {
    const state = stateAfter(start)
    state.handleEvent(answered(1, { outcome: 'unknown', status: null, message: 'socket hang up' }), 1000)
    expect(doing(state, 1000)).toBe('Sending')
    state.handleEvent(answered(1, { outcome: 'unknown', status: null, message: 'socket hang up' }), 2000)
    expect(doing(state, 2000)).toContain('retrying every few seconds: socket hang up')
    state.handleEvent(answered(1, { outcome: 'unknown', status: 503, message: 'starting' }), 3000)
    expect(doing(state, 3000)).toBe('Sending')
  })

  test('omits a pause of one second', () => {
    const state = stateAfter(start, [1, { type: 'holding', reason: 'rate_limited', ms: 1000, message: '429' }])
    expect(doing(state, 1_000)).toBe('Sending')
  })

  test('shows only that it is stopping after a stop request', () => {
    const state = stateAfter(start)
    state.stop('signal')
    state.handleEvent({ type: 'waiting', pending: 1 }, 10)
    expect(doing(state, 10)).toContain('Press Ctrl-C again to stop now')
  })
})

describe('rate and remaining time', () => {
  const plan = [0, planned(counts({ pending: 1000 }), { requests: 20 })] as const
  const every = (ms: number, requests: number) =>
    Array.from({ length: requests }, (_, i) => [((i + 1) * ms) / 1000, answered(i + 1)] as const)

  test('are unknown before five responses and four seconds', () => {
    expect(stateAfter(plan, ...every(500, 4)).rate(60_000)).toBeNull()
    expect(stateAfter(plan, ...every(100, 5)).rate(600)).toBeNull()
    expect(stateAfter(plan, ...every(1000, 5)).rate(5_000)).toBe(1)
  })

  test.each<BatchEvent>([
    { type: 'holding', reason: 'max_cost', ms: 5_000, message: 'waiting for finality, 42 blocks left' },
    { type: 'holding', reason: 'not_ready', ms: 5_000, message: 'the signer has 0 ETH' },
    { type: 'holding', reason: 'unreachable', ms: 5_000, message: 'gone' },
    { type: 'waiting', pending: 80, reason: 'waiting for finality, 42 blocks left' },
  ])('are left out while nothing is sent: %j', (event) => {
    const state = stateAfter(plan, ...every(500, 11), [6, event])
    expect(formatBlock(state, 7_000, { ...LOOK, columns: 200 }).join('\n')).not.toMatch(/requests\/s|left to send/)
    expect(formatLine(state, 7_000)).not.toMatch(/requests\/s|left to send/)
  })

  test('compute the remaining time from the rate of the last minute', () => {
    const state = stateAfter(plan, ...every(500, 11))
    expect(state.rate(5_500)).toBe(2)
    expect(state.millisecondsLeft(5_500)).toBe(4_500)
  })

  test('lower the rate when responses stop, and discard it after a minute', () => {
    const state = stateAfter(plan, ...every(500, 10))
    expect(state.rate(30_000)).toBeLessThan(0.4)
    expect(state.rate(120_000)).toBeNull()
  })

  test('ignore requests without effect, and count a retried request once', () => {
    const state = stateAfter(plan, ...every(1000, 8))
    const left = state.millisecondsLeft(8_000)
    state.handleEvent(answered(9, { outcome: 'no_effect', status: 429 }), 8_000)
    expect(state.millisecondsLeft(8_000)).toBe(left)
    state.handleEvent(answered(9, { outcome: 'unknown', status: 500 }), 8_000)
    const afterUnknown = (state.millisecondsLeft(8_000) ?? 0) * (state.rate(8_000) ?? 0)
    state.handleEvent(answered(9), 8_000)
    expect((state.millisecondsLeft(8_000) ?? 0) * (state.rate(8_000) ?? 0)).toBeCloseTo(afterUnknown)
  })

  test('count more requests when they get smaller', () => {
    const state = stateAfter(plan, ...every(1000, 6))
    state.handleEvent({ type: 'resized', chunkSize: 10, message: 'too large' }, 6_000)
    expect(state.millisecondsLeft(6_000)).toBe(100_000)
  })

  test('show no remaining time once no row is pending', () => {
    const state = stateAfter(plan, ...every(1000, 6))
    state.handleEvent(rows({ accepted: 1000 }), 6_000)
    expect(state.millisecondsLeft(6_000)).toBeNull()
  })

  test.each([
    [1, '5 s'],
    [43_000, '45 s'],
    [59_000, '1 min'],
    [200_000, '3 min 20 s'],
    [601_000, '11 min'],
    [3_540_001, '1 h'],
    [7_800_000, '2 h 10 min'],
  ])('rounds %i ms to %s', (ms, text) => {
    expect(roughDuration(ms)).toBe(text)
  })
})

test('prints the same information on a log line', () => {
  const state = stateAfter(
    [0, planned(counts({ pending: 300 }), { requests: 30 })],
    ...[1, 2, 3, 4, 5, 6, 7].map((at) => [at, answered(at)] as const),
    [8, rows(MIXED)],
  )
  expect(formatLine(state, 8_000)).toBe(
    'drop-3f9a: 120 of 300 rows deployed, 80 accepted, 2 failed, 2 unknown, 96 pending; Sending; 0.9 requests/s; about 30 s left to send',
  )
  expect(formatLine(new ProgressState(0), 0)).toBe('Reading the manifest')
})
