import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { BatchProgress } from '../../../src/cli/batch/progress/progress.ts'
import { createIo } from '../../../src/cli/io/io.ts'
import { timeUpError } from '../../../src/core/time-up.ts'
import { counts, planned } from './events.ts'
import { Screen } from './screen.ts'

const PLAN = planned(counts({ pending: 300 }))
const SETTINGS = { machine: false, quiet: false, debug: false, input: true, noColor: false }

/** A progress display with a clock that the test advances. */
async function setUp({
  tty = false,
  env = {},
  ...settings
}: {
  tty?: boolean
  env?: NodeJS.ProcessEnv
  quiet?: boolean
  machine?: boolean
} = {}) {
  const stderr = Object.assign(new Screen(tty ? 80 : 500), { isTTY: tty })
  const stdin = Readable.from([])
  const io = await createIo(
    { env: { TERM: 'xterm', ...env }, stdin, stdout: new Screen(), stderr },
    { ...SETTINGS, ...settings },
  )
  let now = 0
  let tick = () => {}
  const stopping = new AbortController()
  const said: string[] = []
  const signals = {
    signal: stopping.signal,
    instead: (act: (() => void) | null) => said.push(act === null ? 'usual' : 'own'),
  }
  const progress = new BatchProgress(io, signals, undefined, {
    now: () => now,
    every: (_, act) => {
      tick = act
      return () => {
        tick = () => {}
      }
    },
  })
  await progress.start()
  const wait = (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      now += 1000
      tick()
    }
  }
  return {
    progress,
    stderr,
    io,
    wait,
    stop: (reason?: unknown) => stopping.abort(reason),
    said,
    passed: (ms: number) => (now += ms),
  }
}

test('off a terminal, prints a line for each new activity and every ten seconds, without control characters', async () => {
  const { progress, stderr, wait } = await setUp()
  progress.handleEvent(PLAN)
  wait(12)
  progress.handleEvent({ ...PLAN, rows: counts({ pending: 999, deployed: 1 }) })
  wait(12)
  progress.handleEvent({ type: 'rows', counts: counts({ accepted: 300, deployed: 700 }) })
  progress.handleEvent({ type: 'waiting', pending: 300 })
  wait(3)
  progress.handleEvent({ type: 'rows', counts: counts({ deployed: 1000 }) })
  wait(12)
  const lines = stderr.text.split('\n')
  expect(lines.map((line) => line.replace(/.*; /, ''))).toEqual([
    'Sending',
    'Sending',
    'Waiting until 300 NFTs are deployed',
    'Finishing',
  ])
  expect(stderr.writes).toBe(4)
})

test('off a terminal, repeats an unchanged line once a minute', async () => {
  const { progress, stderr, wait } = await setUp()
  progress.handleEvent(PLAN)
  progress.handleEvent({ type: 'rows', counts: counts({ accepted: 300, deployed: 700 }) })
  progress.handleEvent({ type: 'waiting', pending: 300 })
  wait(130)
  expect(stderr.text.match(/Waiting until/g)).toHaveLength(3)
})

test('off a terminal, reports an unreachable server once, not at every attempt', async () => {
  const { progress, stderr, wait } = await setUp()
  progress.handleEvent(PLAN)
  for (let attempt = 2; attempt < 8; attempt++) {
    progress.handleEvent({ type: 'holding', reason: 'unreachable', ms: 8000, message: 'gone' })
    wait(1)
    progress.handleEvent({ type: 'sending', request: 1, rows: 1, attempt })
  }
  expect(stderr.text.match(/can't be reached/g)).toHaveLength(1)
})

test.each(['not_ready', 'max_cost'] as const)(
  'off a terminal, prints the reason of a wait for %s once',
  async (reason) => {
    const { progress, stderr, wait } = await setUp()
    progress.handleEvent(PLAN)
    const refused = { type: 'answered', request: 1, rows: 1, outcome: 'no_effect', status: 503 } as const
    for (let attempt = 0; attempt < 30; attempt++) {
      const message = `the signer has 0.${attempt} ETH`
      progress.handleEvent({ ...refused, message })
      progress.handleEvent({ type: 'holding', reason, ms: 5000, message })
      wait(5)
      progress.handleEvent({ type: 'sending', request: 1, rows: 1, attempt })
    }
    const lines = stderr.text.split('\n').filter((line) => line !== '')
    expect(lines[0]).toMatch(
      /; Waiting (until the backend can mint on this blockchain|until the next rows fit within --max-cost): the signer has 0.0 ETH$/,
    )
    expect(lines.filter((line) => line.includes('signer'))).toHaveLength(1)
    // A run that waits says so once a minute, since CI ends a job without output.
    expect(lines.length).toBeLessThanOrEqual(3)
  },
)

test('off a terminal, prints at once for what the accepted rows wait, and once', async () => {
  const { progress, stderr, wait } = await setUp()
  progress.handleEvent(PLAN)
  progress.handleEvent({ type: 'waiting', pending: 300 })
  wait(1)
  for (let blocks = 40; blocks > 0; blocks--) {
    progress.handleEvent({ type: 'waiting', pending: 300, reason: `waiting for finality, ${blocks} blocks left` })
    wait(2)
  }
  expect(stderr.text).toContain('waiting for finality, 40 blocks left')
  expect(stderr.text.match(/finality/g)).toHaveLength(1)
})

test('on a terminal, draws a block at most ten times a second, and removes it at the end', async () => {
  const { progress, stderr, passed } = await setUp({ tty: true })
  for (let i = 0; i < 1000; i++) {
    progress.handleEvent({ ...PLAN, rows: counts({ pending: 1000 - i, deployed: i }) })
    passed(1)
  }
  expect(stderr.writes).toBeLessThanOrEqual(11)
  expect(stderr.text).toMatch(/^drop-3f9a: \d+ of 1,000 rows deployed\n/)
  progress.stop()
  expect(stderr.text).toBe('')
})

test('prints a message above the block without breaking it', async () => {
  const { progress, stderr, io } = await setUp({ tty: true })
  progress.handleEvent(PLAN)
  io.note('a message')
  expect(stderr.text).toMatch(
    /^a message\ndrop-3f9a: 0 of 300 rows deployed\n·+\n· 300 pending\n0:00 elapsed\nSending$/,
  )
})

test('does not count the time at a prompt as elapsed', async () => {
  const { progress, stderr, passed, wait } = await setUp({ tty: true })
  progress.handleEvent(PLAN)
  wait(2)
  progress.stop()
  passed(60_000)
  await progress.start()
  wait(1)
  expect(stderr.text).toContain('\n0:03 elapsed\n')
})

test('prints lines on a dumb terminal', async () => {
  const { progress, stderr, wait } = await setUp({ tty: true, env: { TERM: 'dumb' } })
  progress.handleEvent(PLAN)
  wait(10)
  expect(stderr.text.replaceAll('\n', ' ')).toBe('drop-3f9a: 0 of 300 rows deployed, 300 pending; Sending')
})

test.each([{ quiet: true }, { machine: true }])('prints nothing with %j', async (settings) => {
  const { progress, stderr, wait } = await setUp({ tty: true, ...settings })
  progress.handleEvent(PLAN)
  wait(30)
  expect(stderr.writes).toBe(0)
})

test('shows in the block after Ctrl-C that it stops, and restores the usual message at the end', async () => {
  const { progress, stderr, stop, said } = await setUp({ tty: true })
  progress.handleEvent(PLAN)
  expect(said).toEqual(['own'])
  stop()
  expect(stderr.text).toContain('Stopping')
  progress.stop()
  expect(said).toEqual(['own', 'usual'])
})

test.each([
  [{ tty: true }, undefined, 'Stopping: waiting at most 5 s for requests in flight. Press Ctrl-C again to stop now.'],
  [{ tty: false }, undefined, 'Stopping: waiting at most 5 s for requests in flight'],
  [
    { tty: true },
    timeUpError(5000),
    'The time limit (--timeout) was reached: waiting at most 5 s for requests in flight',
  ],
  [
    { tty: false },
    timeUpError(5000),
    'The time limit (--timeout) was reached: waiting at most 5 s for requests in flight',
  ],
])('says why it stops, with Ctrl-C only to a person who pressed it: %j, %s', async (where, reason, text) => {
  const { progress, stderr, stop } = await setUp(where)
  progress.handleEvent(PLAN)
  stop(reason)
  expect(stderr.text.replaceAll('\n', ' ')).toContain(text)
  expect(stderr.text.includes('Ctrl-C')).toBe(text.includes('Ctrl-C'))
})

test('prints what reconciliation found, and nothing if it found nothing', async () => {
  const { progress, stderr } = await setUp()
  progress.handleEvent(PLAN)
  progress.handleEvent({ type: 'reconciled', adopted: 0, absent: 0, undecided: 0 })
  expect(stderr.text).not.toContain('Rows with an unknown outcome')
  progress.handleEvent({ type: 'reconciled', adopted: 0, absent: 3, undecided: 0 })
  expect(stderr.text).toContain('Rows with an unknown outcome')
})
