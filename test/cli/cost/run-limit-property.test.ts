/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keptMaxCost } from '../../../src/batch/runs/runs.ts'
import type { PermitSpending } from '../../../src/cli/deps.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { backendForFile, call, createTestCollection, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { listenLocally } from '../../helpers/http-server.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { folder } from '../batch/drop.ts'
import { cli } from '../harness.ts'

const LIVES = process.env.GDN_SOAK === '1' ? 300 : 1
const COIN = 10n ** 18n
const [, BOB] = WALLETS
/** Requests that cost something. */
const COSTS = /\/(createnft|creatednft|updatednft)$/
const CHANGES = /\/(createnft|creatednft|updatednft|setrunmaxcost)$/

let backend: TestBackend
let proxy: Awaited<ReturnType<typeof faultyProxy>>

beforeAll(async () => {
  backend = await backendForFile()
  proxy = await faultyProxy()
})
afterAll(async () => {
  await proxy?.close()
})

/**
 * Where a command is ended: before or after the backend has a request, which is the first of its kind or a later one. A
 * `late` request reaches the backend after the next command.
 */
type Fault = { at: 'before' | 'after' | 'late'; request: number } | null

/** Passes requests on to the backend, and ends a command at its fault. */
async function faultyProxy() {
  const state = {
    ...{ fault: null as Fault, changes: 0, onFault: () => {} },
    onLimit: (_run: string) => {},
    onCost: async (_run: string) => {},
    late: [] as (() => Promise<unknown>)[],
  }
  const open = new Set<Promise<void>>()
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = request.url ?? ''
    const isFaulty = CHANGES.test(path) && state.changes++ === state.fault?.request
    const fail = () => {
      state.onFault()
      response.destroy()
    }
    if (isFaulty && state.fault?.at === 'before') return fail()
    const method = request.method ?? 'GET'
    const body = method === 'GET' ? null : Buffer.concat(chunks)
    const forward = () => fetch(`${backend.url}${path}`, { method, body, headers: headersOf(request.headers) })
    if (isFaulty && state.fault?.at === 'late') {
      state.late.push(forward)
      return fail()
    }
    const answer = await forward()
    const text = await answer.text()
    if (path.endsWith('/setrunmaxcost')) state.onLimit(JSON.parse(String(body)).run)
    if (COSTS.test(path)) await state.onCost(String(request.headers['gdn-run']))
    if (isFaulty) return fail()
    const {
      'content-encoding': _,
      'transfer-encoding': __,
      connection: ___,
      ...headers
    } = Object.fromEntries(answer.headers)
    response.writeHead(answer.status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text)
  }
  const server = createServer((request, response) => {
    const passing = pass(request, response).finally(() => open.delete(passing))
    open.add(passing)
  })
  /** Resolves when the backend has all requests, also those of an interrupted command. */
  const settled = async () => {
    while (open.size > 0) await Promise.allSettled(open)
  }
  const { url, close } = await listenLocally(server)
  return { state, url, close, settled }
}

const headersOf = ({
  host: _,
  connection: __,
  'content-length': ___,
  'transfer-encoding': ____,
  ...more
}: IncomingHttpHeaders) => Object.fromEntries(Object.entries(more).map(([name, value]) => [name, String(value)]))

type Kind = 'batch mint' | 'apply'

interface Command {
  kind: Kind
  machine: 0 | 1
  /** The limit in coins that the command states; null without one. */
  coins: number | null
  /** The limit in coins that `gdn mcp` permits; null without it. */
  permitted: number | null
  fault: Fault
  /** Whether the manifest is edited first. */
  edits: boolean
}

const limitOf = async (run: string): Promise<bigint | null> => {
  const known = await call(backend, 'getruncosts', { run }).catch(() => null)
  const limit: string | null = known?.costs?.max_cost ?? null
  return limit === null ? null : BigInt(limit)
}

const lower = (one: bigint | null, other: bigint | null): bigint | null =>
  one === null || (other !== null && other < one) ? other : one

/** A drop that two machines work on. */
async function startLife() {
  const { address } = await createTestCollection(backend, { dynamic: true })
  const machines = [await folder({}), await folder({})] as const
  let run: string | null = null
  let version = 0
  const write = async () => {
    const rows = ['a', 'b'].map((id) => `${id},Title ${version},x,${BOB}\n`).join('')
    for (const { path } of machines) await writeFile(path('drop.csv'), `id,title,description,receiver\n${rows}`)
  }
  await write()
  return async ({ kind, machine, coins, permitted, fault, edits }: Command, what: string) => {
    if (edits) {
      version++
      await write()
    }
    const { path, options } = machines[machine]
    const stateDir = path('.local/state/gdn')
    const kept = run === null ? null : await keptMaxCost(stateDir, run)
    const before = run === null ? null : await limitOf(run)
    const givenLimit = coins === null ? null : BigInt(coins) * COIN
    // Only a limit that this command was given raises that of the backend.
    const own = permitted === null ? null : BigInt(permitted) * COIN
    const expected = own !== null ? lower(before, own) : (givenLimit ?? lower(before, kept))
    const wrong: string[] = []
    let costing = 0
    const stop = new AbortController()
    Object.assign(proxy.state, {
      ...{ fault, changes: 0 },
      onFault: () => stop.abort(new GdnError('interrupted', 'interrupted by this test')),
      onLimit: (limited: string) => {
        run = limited
      },
      onCost: async (sent: string) => {
        run = sent
        costing++
        const limit = await limitOf(sent)
        if (limit !== expected) wrong.push(`the limit is ${limit} instead of ${expected}`)
      },
    })
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: proxy.url }
    const argv = [...kind.split(' '), path('drop.csv'), '--run', 'spring', '-c', address, '-b', 'polygon']
    const flags = ['--yes', '--json', ...(kind === 'apply' ? ['--take-over'] : ['--no-wait', '--new-rows'])]
    const limit = coins === null ? [] : ['--max-cost', String(coins)]
    const permit: PermitSpending = async () => own
    const late = proxy.state.late.splice(0)
    const { code, stderr } = await cli([...argv, ...flags, ...limit], { ...options, env, signal: stop.signal, permit })
    await proxy.settled()
    expect(wrong, `${what}: ${stderr}`).toEqual([])
    // A run that is finished sends nothing.
    const isSent = kind === 'apply' || proxy.state.changes > 0
    if (code === 0 && isSent && givenLimit !== null && run !== null && own === null) {
      expect(await limitOf(run), `${what}: ${stderr}`).toBe(givenLimit)
      if (kind === 'batch mint') expect(await keptMaxCost(stateDir, run), what).toBe(givenLimit)
    }
    const settled = run === null ? null : await limitOf(run)
    for (const send of late) await send()
    // A request never raises a limit, and only one for a run without a limit sets it.
    if (late.length > 0 && run !== null && settled !== null) {
      expect(lower(await limitOf(run), settled), what).toBe(await limitOf(run))
    }
    return { code, costing, stderr }
  }
}

const once = { machine: 0, coins: null, permitted: null, fault: null, edits: false } as const
const lost = { at: 'after', request: 0 } as const
const KNOWN: readonly (readonly Command[])[] = [
  // The response to an update is lost, and the repetition states a lower limit.
  [
    { ...once, kind: 'batch mint', coins: 3 },
    { ...once, kind: 'apply', fault: lost, edits: true },
    { ...once, kind: 'apply', coins: 1 },
    { ...once, kind: 'apply' },
  ],
  // A lower limit is kept, but doesn't arrive.
  [
    { ...once, kind: 'batch mint', coins: 3 },
    { ...once, kind: 'apply', coins: 1, fault: { at: 'before', request: 0 }, edits: true },
    { ...once, kind: 'apply', edits: true },
  ],
  // Another machine mints nothing, and states a lower limit.
  [
    { ...once, kind: 'batch mint', coins: 3 },
    { ...once, kind: 'batch mint', machine: 1, coins: 1 },
    { ...once, kind: 'batch mint' },
  ],
  // gdn mcp permits a lower limit for changes alone.
  [
    { ...once, kind: 'batch mint', coins: 3 },
    { ...once, kind: 'apply', permitted: 2, edits: true },
  ],
  // A change of a killed command arrives after the limit was lowered.
  [
    { ...once, kind: 'batch mint', coins: 2 },
    { ...once, kind: 'apply', coins: 3, fault: { at: 'late', request: 1 }, edits: true },
    // The change itself doesn't arrive before: a repetition of it changes no limit anyway.
    { ...once, kind: 'apply', machine: 1, coins: 1, fault: { at: 'before', request: 1 } },
  ],
]

test('a run keeps the lowest limit that holds for it, after lost responses, repetitions and on other machines', async () => {
  const { random } = seededRandom('limits of runs')
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const draw = (): Command => ({
    kind: pick(['batch mint', 'apply', 'apply']),
    machine: pick([0, 0, 1]),
    coins: pick([null, null, 1, 2, 3]),
    permitted: pick([null, null, null, null, 2]),
    fault: pick([
      null,
      null,
      { at: 'before', request: 0 },
      lost,
      { at: 'before', request: 1 },
      { at: 'after', request: 1 },
      { at: 'late', request: 1 },
    ]),
    edits: random() < 0.4,
  })
  let [commands, costing, succeeded] = [0, 0, 0]
  for (let life = 0; life < KNOWN.length + LIVES; life++) {
    const command = await startLife()
    for (const one of KNOWN[life] ?? Array.from({ length: 6 }, draw)) {
      const done = await command(one, `life ${life}, command ${commands}, ${JSON.stringify(one)}`)
      commands++
      costing += done.costing
      succeeded += done.code === 0 ? 1 : 0
    }
  }
  expect([costing > 0, succeeded > 0]).toEqual([true, true])
  report(`  ${commands} commands, ${succeeded} succeeded, ${costing} requests that cost something`)
})
