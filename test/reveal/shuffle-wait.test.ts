/** @module-tag slow */
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { QUICKNET } from '../../src/api/beacon.ts'
import { computeRoundTime } from '../../src/api/shuffle-rule.ts'
import { GdnError } from '../../src/core/errors.ts'
import { isObject } from '../../src/core/json.ts'
import type { Clock } from '../../src/core/time.ts'
import { timeUpError } from '../../src/core/time-up.ts'
import { cli, errorOf } from '../cli/harness.ts'
import { backendForFile, createTestCollection, type TestBackend, type TestCollection } from '../helpers/backend.ts'
import { type Reply, startHttpServer } from '../helpers/http-server.ts'
import { hurriedClock } from '../helpers/hurried-clock.ts'
import { forward } from '../helpers/killing-relay.ts'
import { ROUNDS } from '../helpers/quicknet-rounds.ts'
import { nftsOf, rowsOf, type ShuffledMachine, shuffledMachine } from '../helpers/shuffled-machine.ts'

const [, , { round, signature }] = ROUNDS
const ROUND_TIME = computeRoundTime(QUICKNET, round)
const MARGIN_S = 1
const ROWS = rowsOf(3)

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

/** A clock of a machine that begins some seconds before the round, and is moved on by each sleep. */
function clockBefore(seconds: number, onSleep: (left: number) => void = () => {}): Clock & { now: () => number } {
  const clock = hurriedClock()
  let now = (ROUND_TIME - seconds) * 1000
  return {
    ...clock,
    now: () => now,
    async sleep(ms, signal) {
      if (now < ROUND_TIME * 1000) onSleep(ROUND_TIME - now / 1000)
      await clock.sleep(Math.min(ms, 100), signal)
      now += ms
    },
  }
}

interface Call {
  method: string
  result?: unknown
}

/** Starts a node that returns what the backend's node returns, with edited results. */
async function nodeThat(edit: (call: Call) => unknown) {
  const server = await startHttpServer(async (request) => {
    const { body, ...reply } = await forward(backend.url, { ...request, path: '/rpc/polygon' })
    const asked: unknown = JSON.parse(String(request.body))
    const answered: unknown = JSON.parse(String(body))
    const one = (question: unknown, answer: unknown) => {
      if (!isObject(question) || !isObject(answer) || !('result' in answer)) return answer
      return { ...answer, result: edit({ method: String(question.method), result: answer.result }) }
    }
    const idOf = (value: unknown) => (isObject(value) ? value.id : null)
    const edited = Array.isArray(answered)
      ? answered.map((answer) =>
          one(
            (asked as unknown[]).find((question) => idOf(question) === idOf(answer)),
            answer,
          ),
        )
      : one(asked, answered)
    return { ...reply, json: edited }
  })
  onTestFinished(() => server.close())
  return server.url
}

const atTime =
  (time: (reads: number) => number) =>
  (reads = 0) =>
  ({ method, result }: Call) =>
    method === 'eth_getBlockByNumber' && isObject(result)
      ? { ...result, timestamp: `0x${time(reads++).toString(16)}` }
      : result

/** The time of each block is the one for which the recorded round draws the rows. */
const sealedInTime = atTime(() => ROUND_TIME - MARGIN_S)

async function relayThat(reply: Reply | (() => Reply | Promise<Reply>)) {
  const server = await startHttpServer(async () => (typeof reply === 'function' ? await reply() : reply))
  onTestFinished(() => server.close())
  return server
}
const PUBLISHED: Reply = { json: { round, signature } }

let collection: TestCollection
let machine: ShuffledMachine
beforeEach(async () => {
  collection = await createTestCollection(backend)
  machine = await shuffledMachine(backend, collection)
  expect(await machine.shuffle(ROWS)).toMatchObject({ code: 0, error: null })
})

async function reveal(urls: string[], node: string, options: Parameters<typeof cli>[1] = {}, ...more: string[]) {
  const relays = urls.flatMap((url) => ['--beacon-url', url])
  const argv = ['reveal', machine.path('drop.csv'), '--yes', ...machine.target, ...relays, '--rpc-url', node, ...more]
  return await cli(argv, { ...machine.options, ...options })
}
const revisions = async () => (await nftsOf(backend, collection)).map(({ revision }) => revision)

test('waits for the round of quicknet, and says until when: once in a log, and until the end in a terminal', async () => {
  const relay = await relayThat(PUBLISHED)
  const node = await nodeThat(sealedInTime())
  const at = new Date(ROUND_TIME * 1000).toISOString().replace('.000Z', 'Z')
  const log = await reveal([relay.url], node, { clock: clockBefore(600) })
  expect(log.code, log.stderr).toBe(0)
  const lines = log.stderr.split('\n').filter((line) => line.includes('Waiting for round'))
  const waiting = `Waiting for round ${round} of drand, due at ${at} (`
  expect(lines).toEqual([expect.stringMatching(/^.*\d+ min left\)$/)])
  expect(lines[0]).toContain(waiting)
  expect((await revisions()).every((revision) => revision > 0)).toBe(true)
  for (const { request_metadata } of await nftsOf(backend, collection)) {
    expect(request_metadata.provenance_signature).toBe(signature)
  }
  // A recent round before the seal, and the round of the drop after it.
  const paths = relay.seen.map(({ path }) => path)
  expect(paths).toEqual([expect.stringContaining('/public/'), `/${QUICKNET.hash}/public/${round}`])

  collection = await createTestCollection(backend)
  machine = await shuffledMachine(backend, collection)
  expect(await machine.shuffle(ROWS)).toMatchObject({ code: 0, error: null })
  let text = ''
  const onStderr = (more: string) => {
    text += more
  }
  // The spinner is drawn at intervals, so it shows only texts that the command keeps for a while.
  const isShown = async (what: string) => await expect.poll(() => text).toContain(what)
  let reads = 0
  const slow = await relayThat(async () => {
    if (reads++ > 0) await isShown(`Reading round ${round} of drand`)
    return PUBLISHED
  })
  const before = clockBefore(600)
  const clock: Clock = {
    ...before,
    async sleep(ms, signal) {
      if (text.includes('The drop is sealed') && before.now() < ROUND_TIME * 1000) {
        await isShown(waiting)
        await isShown('min left)')
      }
      await before.sleep(ms, signal)
    },
  }
  const shown = await reveal([slow.url], node, { clock, stderrTty: true, columns: 120, onStderr })
  expect(shown.code, shown.stderr).toBe(0)
  expect(reads).toBe(2)
})

test('a wait that exceeds --timeout or is interrupted says how to go on, and the next command goes on', async () => {
  const relay = await relayThat(PUBLISHED)
  const node = await nodeThat(sealedInTime())
  const ended = async (reason: GdnError) => {
    const stop = new AbortController()
    const clock = clockBefore(1_000, (left) => left < 970 && stop.abort(reason))
    return await reveal([relay.url], node, { clock, signal: stop.signal }, '--json')
  }
  const waiting = `the drop is sealed, but round ${round}, which draws its rows, is not available yet`
  const late = await ended(timeUpError(30_000))
  expect(late.code).toBe(8)
  expect(errorOf(late)).toMatchObject({
    ...{ code: 'pending', message: waiting },
    hint: 'Run the same command again to keep waiting.',
  })
  const stopped = await ended(new GdnError('interrupted', 'interrupted'))
  expect(stopped.code).toBe(130)
  expect(errorOf(stopped)).toMatchObject({
    code: 'interrupted',
    hint: expect.stringContaining(`${waiting.replace('the', 'The')}. Run the same command again to keep waiting.`),
  })
  // Only a recent round, before the seal.
  expect(relay.seen).toHaveLength(1)
  expect(relay.seen[0]?.path).not.toContain(`/${round}`)
  expect(await revisions()).toEqual([0, 0, 0])
  const done = await reveal([relay.url], node, { clock: clockBefore(20) }, '--json')
  expect(done.code, done.stderr).toBe(0)
  expect(JSON.parse(done.stdout)).toMatchObject({ revealed: 3, round })
})

const never = () => new Promise<Reply>(() => {})
const forged = `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`
const FLAWED: [string, Reply | (() => Promise<Reply>), string][] = [
  ['has not published the round', { status: 425, json: {} }, 'does not have the round yet'],
  ['returns HTML', { text: '<h1>Welcome</h1>' }, 'did not return a round of quicknet'],
  ['returns 5 MB', { body: Buffer.alloc(5_000_000, 'x') }, ''],
  ['redirects to a private address', { status: 302, headers: { location: 'http://10.0.0.1/' } }, 'HTTP 302'],
  ['flips one bit', { json: { round, signature: forged } }, "is not from drand's quicknet"],
  ['returns another round', { json: { round: round + 1, signature } }, 'returned another round'],
  ['closes the connection', 'drop', ''],
]

test('a relay that fails or lies reveals nothing, and another one replaces it', async () => {
  const node = await nodeThat(sealedInTime())
  for (const [what, reply, why] of FLAWED) {
    const relay = await relayThat(reply)
    const url = relay.url.replace('http://', 'http://alice:s3cr3t-pass@')
    // Relays may lag for 15 s.
    const failed = await reveal([`${url}/k3y-in-path`], node, { clock: clockBefore(-16) }, '--debug')
    expect([4, 5, 6], `${what}: ${failed.stderr}`).toContain(failed.code)
    expect(failed.stderr, what).toContain(`can't read round ${round} of drand (${relay.url}: `)
    expect(failed.stderr, what).toContain(why)
    expect(failed.stderr, what).not.toContain('s3cr3t-pass')
    expect(await revisions(), what).toEqual([0, 0, 0])
  }
  const urls: string[] = []
  for (const [, reply] of FLAWED) urls.push((await relayThat(reply)).url)
  urls.push((await relayThat(PUBLISHED)).url)
  const done = await reveal(urls, node, { clock: clockBefore(-16) }, '--json')
  expect(done.code, done.stderr).toBe(0)
  expect(JSON.parse(done.stdout)).toMatchObject({ revealed: 3, round })
})

const CONTINUES =
  'The drop stays sealed, and nothing is lost. Run the same command again when this machine can reach a drand relay'
const REHEARSE = 'To rehearse the draw on this network without drand, add --beacon <file>.'

test('warns before the seal that no relay responds, and says after it that the same command continues', async () => {
  const node = await nodeThat(sealedInTime())
  const relay = await relayThat({ status: 502, text: 'down' })
  const warning = `No drand relay responds (${relay.url}: HTTP 502). A sealed drop can be revealed only when a relay responds. ${REHEARSE}`
  const target = ['--beacon-url', relay.url, '--rpc-url', node]
  const prompted = await machine.run(['reveal'], ROWS, ...target)
  expect(prompted.error).toMatchObject({
    code: 'not_confirmed',
    message: expect.stringContaining('Seal the drop with'),
  })
  const promptResult = await cli(['reveal', machine.path('drop.csv'), ...machine.target, ...target], machine.options)
  expect(promptResult.stderr.indexOf('A seal is permanent')).toBeGreaterThan(promptResult.stderr.indexOf(warning))
  const failed = await reveal([relay.url], node, { clock: clockBefore(-16) })
  expect(failed.code).toBe(6)
  expect(failed.stderr).toContain(warning)
  expect(failed.stderr).toContain('Back up drop.csv and its files: without them, no one can reveal the drop.')
  expect(failed.stderr).toContain(`${CONTINUES}, or set --beacon-url to another relay. ${REHEARSE}`)
  // The drop is sealed by now.
  const again = await reveal([relay.url], node, { clock: clockBefore(-16) }, '--json')
  expect(again.stderr).not.toContain('No drand relay responds')
  expect(errorOf(again).hint).toContain(CONTINUES)
  const other = await relayThat(PUBLISHED)
  expect((await reveal([other.url], node, { clock: clockBefore(-16) })).code).toBe(0)
  expect((await revisions()).every((revision) => revision > 0)).toBe(true)
})

test('says that it waits for a relay, and which failed last, when the round is due', async () => {
  const node = await nodeThat(sealedInTime())
  const relay = await relayThat({ status: 425, json: {} })
  const waiting = `Waiting for a drand relay that has round ${round} (${relay.url}: does not have the round yet)`
  const log = await reveal([relay.url], node, { clock: clockBefore(20) })
  expect(log.stderr.split('\n').filter((line) => line.includes('Waiting for') && line.includes(String(round)))).toEqual(
    [expect.stringContaining(`Waiting for round ${round} of drand, due at `), expect.stringContaining(waiting)],
  )
  const before = clockBefore(20)
  let text = ''
  const clock: Clock = {
    ...before,
    async sleep(ms, signal) {
      // The spinner shows the reason before the command asks the relay again.
      if (before.now() >= ROUND_TIME * 1000) await expect.poll(() => text).toContain(waiting)
      await before.sleep(ms, signal)
    },
  }
  const onStderr = (more: string) => {
    text += more
  }
  const shown = await reveal([relay.url], node, { clock, stderrTty: true, columns: 200, onStderr })
  expect(text).toContain(waiting)
  expect(shown.stderr).not.toContain('(0 s left)')
})

test('--timeout ends the wait for a relay that never responds', async () => {
  const relay = await relayThat(never)
  const node = await nodeThat(sealedInTime())
  const stop = new AbortController()
  const down = await relayThat({ status: 502, text: '' })
  expect((await reveal([down.url], node, { clock: clockBefore(-16) })).stderr).toContain('The drop is sealed')
  const revealing = reveal([relay.url], node, { clock: clockBefore(-16), signal: stop.signal }, '--json')
  await expect.poll(() => relay.seen.length).toBe(1)
  stop.abort(timeUpError(30_000))
  const late = await revealing
  expect(late.code).toBe(8)
  expect(errorOf(late)).toMatchObject({ code: 'pending', message: expect.stringContaining('is not available yet') })
  expect(await revisions()).toEqual([0, 0, 0])
})

test('reveals nothing by a block of the seal that moves while the command waits for the round', async () => {
  const [early, late] = [1_750_000_000, 1_760_000_001]
  let reads = 0
  const node = await nodeThat(atTime(() => (reads++ === 0 ? early : late))())
  const argv = ['reveal', machine.path('drop.csv'), '--yes', ...machine.target, '--rpc-url', node, '--json']
  const done = await cli([...argv, '--beacon', machine.path('beacon.json')], machine.options)
  expect(done.code, done.stderr).toBe(0)
  // The first round of the beacon file that is not before the later time plus the margin.
  expect(JSON.parse(done.stdout).round).toBe(Math.ceil((late + MARGIN_S - 1_700_000_000) / 3) + 1)
  expect(reads).toBeGreaterThan(2)
})

test('waits for a node that lags behind the server', async () => {
  let answers = 0
  // The node has neither the commitment nor its event at first.
  const node = await nodeThat(({ method, result }) => {
    if (method !== 'eth_call' || answers++ > 3) return result
    return answers === 1 ? result : `0x${'0'.repeat(64)}`
  })
  const argv = ['reveal', machine.path('drop.csv'), '--yes', ...machine.target, '--rpc-url', node, '--json']
  const done = await cli([...argv, '--beacon', machine.path('beacon.json')], machine.options)
  expect(done.code, done.stderr).toBe(0)
  expect(JSON.parse(done.stdout)).toMatchObject({ revealed: 3 })
  expect(answers).toBeGreaterThan(4)
})

test('refuses a node that has the seal in another block than the server', async () => {
  const node = await nodeThat(({ method, result }) => {
    if (method === 'eth_getLogs' && Array.isArray(result)) {
      return result.map((log) => ({ ...log, blockNumber: '0x1', blockHash: `0x${'ab'.repeat(32)}` }))
    }
    if (method !== 'eth_getBlockByNumber' || !isObject(result)) return result
    return { ...result, number: '0x1', hash: `0x${'ab'.repeat(32)}` }
  })
  const argv = ['reveal', machine.path('drop.csv'), '--yes', ...machine.target, '--rpc-url', node, '--json']
  const refused = await cli([...argv, '--beacon', machine.path('beacon.json')], machine.options)
  expect(errorOf(refused)).toMatchObject({
    code: 'bad_answer',
    message: expect.stringContaining('reports the seal of the drop in block 1, but http://'),
  })
  expect(await revisions()).toEqual([0, 0, 0])
})
