import { expect, test } from 'vitest'
import { type ErrorCode, GdnError } from '../../src/core/errors.ts'
import { timeUpError } from '../../src/core/time-up.ts'
import { type AcceptedChange, makeChanges, type Outcomes } from '../../src/plan/make-changes.ts'
import { gate } from '../helpers/gate.ts'

interface Change {
  key: string
  line: number
}
type Sent = AcceptedChange<Change>

const changesUpTo = (count: number) => Array.from({ length: count }, (_, line): Change => ({ key: `r${line}`, line }))
const error = (code: ErrorCode) => new GdnError(code, `it is ${code}`)
const down = () => error('unreachable')
const proxyError = (status: number) => () => new GdnError('bad_answer', 'a page of the proxy', { details: { status } })
const allEnded = async (page: readonly Sent[]) => new Map(page.map((one) => [one, null]))

interface Options {
  changes?: Change[]
  timeoutMs?: number
  /** Called before a change is accepted. */
  onSend?: (change: Change) => Promise<void> | void
  /** By default, each accepted change has ended at the next poll. */
  endsOf?: (page: readonly Sent[]) => Promise<Map<Sent, string | null>>
  onEnd?: (sent: Sent, reason: string | null) => Promise<void>
  shortage?: (outcomes: Outcomes) => Promise<string | null>
  onProgress?: (outcomes: Outcomes) => void
  /** Called when time has passed. It may throw, as an interruption does. */
  onSleep?: () => void
}

/** Simulated time, in which changes are made. */
class World {
  now = 0
  readonly sent: string[] = []

  make({
    changes = changesUpTo(20),
    timeoutMs = 600_000,
    onSleep,
    onSend,
    endsOf: findEnded = allEnded,
    onEnd,
    ...more
  }: Options) {
    const { onProgress = () => {}, shortage = async () => null } = more
    return makeChanges(
      (async function* () {
        yield* changes
      })(),
      {
        send: async (change: Change): Promise<Sent> => {
          await onSend?.(change)
          this.sent.push(change.key)
          return { change, transactionId: change.key }
        },
        ...{ findEnded, onEnd: onEnd ?? (async () => {}) },
      },
      {
        now: () => this.now,
        sleep: async (ms) => {
          this.now += ms
          onSleep?.()
          await new Promise(setImmediate)
        },
        ...{ signal: new AbortController().signal, timeoutMs, onProgress, shortage },
      },
    )
  }

  /** Makes changes on a server that is down at these times. */
  makeWhile(isDown: (now: number) => boolean, { reason = down, ...more }: Options & { reason?: () => GdnError } = {}) {
    const answer = () => {
      this.now += 10
      if (isDown(this.now)) throw reason()
    }
    return this.make({
      onSend: answer,
      endsOf: async (page) => {
        answer()
        return await allEnded(page)
      },
      ...more,
    })
  }
}

test.each([
  ['the server was unreachable', down, true],
  ['a proxy could not reach it', proxyError(502), false],
  ['a proxy limited the rate', proxyError(429), false],
])('goes on after %s, with each change once', async (_, reason, isUnreachable) => {
  const world = new World()
  const isDown = (now: number) => (now > 50 && now < 30_000) || (now > 30_100 && now < 60_000)
  const seen = new Set<boolean>()
  const onProgress = (outcomes: Outcomes) => void seen.add(outcomes.isUnreachable)
  const made = await world.makeWhile(isDown, { reason, onProgress })
  expect(made).toMatchObject({ done: 20, pending: 0, unsent: false, isUnreachable: false })
  expect(seen.has(true)).toBe(isUnreachable)
  expect(world.sent.sort()).toEqual(
    changesUpTo(20)
      .map(({ key }) => key)
      .sort(),
  )
})

test('ends where the server stays unreachable', async () => {
  await expect(new World().makeWhile((now) => now > 50)).rejects.toMatchObject({ code: 'unreachable' })
})

test('waits while no signer can pay, until it is funded or the timeout is over', async () => {
  const unfunded = () => new GdnError('not_ready', 'the signer has 0 POL', { details: { status: 503 } })
  const world = new World()
  const held = new Set<string | null>()
  const onProgress = (seen: Outcomes) => void held.add(seen.held)
  const shortage = async ({ done }: Outcomes) => `send 2 POL, ${20 - done} are left`
  const isDown = (now: number) => now > 50 && now < 200_000
  const made = await world.makeWhile(isDown, { reason: unfunded, shortage, onProgress, timeoutMs: 300_000 })
  expect(made).toMatchObject({ done: 20, pending: 0, held: null })
  expect([...held].filter((text) => text !== null)).not.toEqual([])
  for (const text of held) expect(text ?? 'send 2 POL').toMatch(/^send 2 POL/)
  const never = new World()
  const options = { reason: unfunded, shortage, timeoutMs: 300_000 }
  await expect(never.makeWhile(() => true, options)).rejects.toMatchObject({
    code: 'not_ready',
    message: 'send 2 POL, 20 are left',
  })
  expect(never.now).toBeLessThan(400_000)
  expect(never.sent).toEqual([])
})

test('waits longer than the timeout for funds that are enough for one change after another', async () => {
  const world = new World()
  let next = 0
  const onSend = () => {
    if (world.now < next) throw new GdnError('not_ready', 'the signer has 0 POL', { details: { status: 503 } })
    next = world.now + 30_000
  }
  expect(await world.make({ changes: changesUpTo(10), onSend, timeoutMs: 60_000 })).toMatchObject({ done: 10 })
  expect(world.now).toBeGreaterThan(200_000)
})

test.each(['interrupted', 'terminated'] as const)(
  'tells how to resume when it is %s, while it waits and while it sends',
  async (code) => {
    for (const isDown of [() => false, (now: number) => now > 50]) {
      const world = new World()
      const onSleep = () => {
        if (world.now > 100) throw error(code)
      }
      await expect(world.makeWhile(isDown, { onSleep })).rejects.toMatchObject({
        ...{ code, hint: 'Run the same command again to resume the changes in progress.' },
      })
    }
  },
)

test('returns what is pending when the time of the command is over, while it waits and while it sends', async () => {
  const onSend = ({ line }: Change) => {
    if (line === 3) throw timeUpError(5000)
  }
  const sending = await new World().make({ onSend, endsOf: async () => new Map() })
  expect(sending).toMatchObject({ unsent: true, failed: { count: 0 }, unknown: { count: 0 } })
  const onSleep = () => {
    throw timeUpError(5000)
  }
  const waiting = await new World().make({ onSleep, endsOf: async () => new Map() })
  expect(waiting).toMatchObject({ unsent: true, pending: 8 })
})

test('says why changes are pending while the server says it', async () => {
  const reason = 'the signer 0x12 has 0 POL: send 0.003 POL'
  const seen = (pendingReason: string | null) => async (page: readonly Sent[]) => {
    for (const sent of page) sent.pendingReason = pendingReason
    return new Map()
  }
  const make = (pendingReason: string | null) => new World().make({ timeoutMs: 5000, endsOf: seen(pendingReason) })
  expect([await make(reason), await make(null)]).toMatchObject([
    { pending: 20, reason },
    { pending: 20, reason: null },
  ])
  expect(await new World().make({})).toMatchObject({ done: 20, reason: null })
})

test('asks every few seconds what a signer lacks, and not at each poll', async () => {
  let [polls, asked] = [0, 0]
  const endsOf = async (page: readonly Sent[]) => {
    polls++
    for (const sent of page) sent.pendingReason = 'the signer 0x12 has 0 POL'
    return new Map()
  }
  const shortage = async () => `send 2 POL, asked ${++asked} times`
  const made = await new World().make({ timeoutMs: 20_000, endsOf, shortage })
  expect(polls).toBeGreaterThan(20)
  expect(asked).toBe(5)
  expect(made.reason).toBe('send 2 POL, asked 5 times')
})

test('counts the outcome of each change by its error, and makes the others', async () => {
  const errors = [error('refused'), error('not_found'), error('invalid_input'), error('unknown_outcome')]
  const onSend = ({ line }: Change) => {
    const found = errors[line]
    if (found !== undefined) throw found
  }
  const problem = (line: number) => ({ key: `r${line}`, line, reason: errors[line]?.message })
  expect(await new World().make({ onSend })).toEqual({
    ...{ done: 16, pending: 0, unsent: false, reason: null, held: null, isUnreachable: false },
    failed: { count: 3, first: [problem(0), problem(1), problem(2)] },
    unknown: { count: 1, first: [problem(3)] },
  })
})

test('counts the changes that failed after they were accepted, and reports each end once', async () => {
  const ended: [string, string | null][] = []
  const outcomes = await new World().make({
    endsOf: async (page) => new Map(page.map((one) => [one, one.change.line < 2 ? 'it reverted' : null])),
    onEnd: async ({ change }, reason) => void ended.push([change.key, reason]),
  })
  expect(outcomes).toMatchObject({ done: 18, pending: 0, failed: { count: 2, first: [{ reason: 'it reverted' }, {}] } })
  expect(ended.filter(([, reason]) => reason !== null).map(([key]) => key)).toEqual(['r0', 'r1'])
  expect(new Set(ended.map(([key]) => key)).size).toBe(20)
  expect(ended).toHaveLength(20)
})

test('names the first 1,000 problems, and counts all', async () => {
  const onSend = () => {
    throw error('refused')
  }
  const { failed } = await new World().make({ changes: changesUpTo(1_001), onSend })
  expect([failed.count, failed.first.length]).toEqual([1_001, 1_000])
})

test.each([
  ['an error that prevents sending', error('forbidden')],
  ['an error of its own', new Error('a bug')],
])('sends nothing more after %s, and retries nothing', async (_, reason) => {
  const world = new World()
  const onSend = ({ line }: Change) => {
    if (line === 0) throw reason
    if (line === 1) throw down()
  }
  await expect(world.make({ onSend })).rejects.toBe(reason)
  // Those that were in flight.
  expect(world.sent.length).toBeLessThan(8)
  expect(world.now).toBeLessThan(10_000)
})

test('ends only once nothing is in flight, and sends nothing more, if it can not ask for the ends', async () => {
  const world = new World()
  const hold = gate()
  let isDone = false
  const made = world
    .make({
      onSend: async ({ line }) => {
        if (line > 0) await hold.pass()
      },
      endsOf: async () => {
        throw error('forbidden')
      },
    })
    .catch((reason: unknown) => reason)
    .finally(() => {
      isDone = true
    })
  await hold.reached
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  expect(isDone).toBe(false)
  hold.open()
  expect(await made).toMatchObject({ code: 'forbidden' })
  expect(world.sent.sort()).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8'])
})

test('waits until all have ended', async () => {
  let polls = 0
  const endsOf = async (page: readonly Sent[]) => (++polls < 10 ? new Map() : await allEnded(page))
  expect(await new World().make({ endsOf })).toMatchObject({ done: 20, pending: 0 })
})

test('stops waiting when nothing was accepted and nothing has ended for a time', async () => {
  const world = new World()
  const endsOf = async (page: readonly Sent[]) => {
    // One ends every 9 s.
    const [first] = page
    return new Map(first !== undefined && world.now % 9_000 === 0 && world.now < 60_000 ? [[first, null]] : [])
  }
  const outcomes = await world.make({ endsOf, timeoutMs: 10_000 })
  expect(outcomes).toMatchObject({ done: 6, pending: 14, unsent: false })
  expect(world.now).toBe(65_000)
})

test('goes on waiting while changes are accepted', async () => {
  const world = new World()
  let last = Promise.resolve()
  // One after the other, each in some seconds.
  const onSend = () => {
    last = last.then(async () => {
      world.now += 5_000
      await new Promise(setImmediate)
    })
    return last
  }
  const endsOf = async (page: readonly Sent[]) => (world.sent.length === 20 ? await allEnded(page) : new Map())
  expect(await world.make({ onSend, endsOf, timeoutMs: 10_000 })).toMatchObject({ done: 20, unsent: false })
  expect(world.now).toBeGreaterThan(100_000)
})

test('sends no more than 5,000 changes that have not ended, and asks for 1,000 at a time', async () => {
  const world = new World()
  const pages: number[] = []
  const endsOf = async (page: readonly Sent[]) => {
    pages.push(page.length)
    return new Map()
  }
  const outcomes = await world.make({ changes: changesUpTo(6_000), endsOf, timeoutMs: 10_000 })
  expect(outcomes).toMatchObject({ done: 0, pending: world.sent.length, unsent: true })
  // Those in flight may be accepted in addition.
  expect(world.sent.length).toBeGreaterThanOrEqual(5_000)
  expect(world.sent.length).toBeLessThan(5_008)
  expect(Math.max(...pages)).toBe(1_000)
})

test('waits with what exceeds the limit of its run while pending changes may leave more of it', async () => {
  const world = new World()
  let pending = 0
  const outcomes = await world.make({
    changes: changesUpTo(6),
    onSend: () => {
      if (pending >= 2) throw error('max_cost')
      pending++
    },
    endsOf: async (page) => {
      pending -= page.length
      return await allEnded(page)
    },
  })
  expect([outcomes.done, outcomes.failed.count]).toEqual([6, 0])
})

test('stops at the limit of its run where nothing is pending, or where nothing ends in time', async () => {
  const refused = { changes: changesUpTo(3), onSend: () => Promise.reject(error('max_cost')) }
  await expect(new World().make(refused)).rejects.toMatchObject({ code: 'max_cost' })
  const world = new World()
  const stuck = {
    changes: changesUpTo(2),
    onSend: ({ key }: Change) => (key === 'r0' ? undefined : Promise.reject(error('max_cost'))),
    endsOf: async () => new Map(),
  }
  await expect(world.make({ ...stuck, timeoutMs: 60_000 })).rejects.toMatchObject({ code: 'max_cost' })
  expect(world.sent).toEqual(['r0'])
})
