/** @module-tag slow */
import { beforeAll, describe, expect, test } from 'vitest'
import { type ErrorCode, GdnError } from '../../src/core/errors.ts'
import { cleanUpTest } from '../helpers/clean-up.ts'
import { COMMANDS, DROPS, run, writeShop } from './two-drops.ts'
import { Machine, Server } from './world.ts'

beforeAll(writeShop)

let server: Server
const start = () => Machine.start(server)

/** Returns the code of the error that a command ends with; null for none. */
const codeOf = (ends: Promise<unknown>): Promise<ErrorCode | null> =>
  ends.then(
    () => null,
    (error: { code: ErrorCode }) => error.code,
  )

/** What a machine runs: a command for a drop, with its own state or a new one. */
const STEPS = (['jan', 'feb'] as const).flatMap((drop) =>
  COMMANDS.flatMap((command) =>
    ([0, 1] as const).flatMap((at) => [true, false].map((hasState) => ({ drop, command, at, hasState }))),
  ),
)

/**
 * Returns all steps if GDN_SOAK is set, or else every third one, to save time. `from` selects which third: callers pass
 * the number of the previous step, so that consecutive steps are followed by different ones.
 */
const sampleOf = <One>(steps: readonly One[], from = 0): readonly One[] =>
  process.env.GDN_SOAK === '1' ? steps : steps.filter((_, n) => (n + from) % 3 === 0)

/** Commands that mint a drop. */
const MINTING = ['mint', 'apply'] as const

/** Two machines, and a server with nothing. */
async function machinesOnEmptyServer(): Promise<[Machine, Machine]> {
  server = new Server()
  return [await start(), await start()]
}

/** Runs a step. Without its state, a machine is like one that has run nothing yet. */
async function runStep(at: [Machine, Machine], { drop, command, at: n, hasState }: (typeof STEPS)[number]) {
  if (!hasState) at[n] = await start()
  return await codeOf(run(at[n], command, drop))
}

const JANUARY = ['January 1', 'January 2']
const OF_JAN = [null, 'run_finished']
const OF_FEB = ['seems_minted', 'already_accepted']

/** Each of these is the third command, on a machine with its state. */
const STEPS_WITH_STATE = STEPS.filter(({ hasState }) => hasState)
const WRITES = STEPS.filter(({ command }) => command !== 'plan')
const WRITES_WITH_STATE = STEPS_WITH_STATE.filter(({ command }) => command !== 'plan')

describe.each([
  { first: 'mint' as const, seconds: STEPS, thirds: STEPS_WITH_STATE },
  { first: 'apply' as const, seconds: WRITES, thirds: WRITES_WITH_STATE },
])('the first drop, if its first command is $first,', ({ first, seconds, thirds }) => {
  test.each(seconds)(
    'is never changed by $command of $drop on machine $at (its state: $hasState) and any command',
    async (second) => {
      for (const third of sampleOf(thirds, seconds.indexOf(second))) {
        const at = await machinesOnEmptyServer()
        await run(at[0], first, 'jan')
        for (const step of [second, third]) {
          const known = step.drop === 'jan' ? OF_JAN : OF_FEB
          expect([step, known]).toEqual([step, expect.arrayContaining([await runStep(at, step)])])
        }
        expect(server.titles).toEqual(JANUARY)
        expect(server.labels).toEqual(['jan/drop.csv', 'jan/drop.csv'])
        await cleanUpTest()
      }
    },
  )
})

test.each(['jan', 'feb'] as const)(
  'a saved plan of %s never changes the first drop after any commands',
  async (drop) => {
    const { rows, options } = DROPS[drop]
    for (const second of sampleOf(STEPS_WITH_STATE)) {
      for (const n of [0, 1] as const) {
        const at = await machinesOnEmptyServer()
        const { saved } = await at[n].plan(rows, options)
        await run(at[0], 'apply', 'jan')
        await runStep(at, second)
        const ends = at[n].plan(rows, options, saved).then(({ changedSinceSaved }) => {
          if (changedSinceSaved.count > 0) throw new GdnError('refused', 'changed after the plan was created')
          return run(at[n], 'apply', drop)
        })
        const known = drop === 'jan' ? [null, 'refused'] : [...OF_FEB, 'refused']
        expect([second, n, known]).toEqual([second, n, expect.arrayContaining([await codeOf(ends)])])
        expect(server.titles).toEqual(JANUARY)
        await cleanUpTest()
      }
    }
  },
)

test.each(MINTING)(
  'an interrupted mint is resumed by %s after any commands, and mints each row once',
  async (resume) => {
    const { rows, options } = DROPS.jan
    const forbidden = { status: 403, json: { error: { title: 'Forbidden', message: 'no more' } } }
    for (const second of sampleOf(WRITES)) {
      for (const third of WRITES_WITH_STATE) {
        const at = await machinesOnEmptyServer()
        let sent = 0
        server.onRequest = (endpoint) => (endpoint === 'createnft' && ++sent > 1 ? forbidden : undefined)
        const ends = at[0].mint(rows, { ...options, chunkSize: 1, inOrder: true })
        expect(await codeOf(ends)).toBe('forbidden')
        server.onRequest = () => undefined
        await runStep(at, second)
        await runStep(at, third)
        expect(OF_JAN).toContain(await codeOf(run(at[0], resume, 'jan')))
        expect([second, third, server.titles.toSorted()]).toEqual([second, third, JANUARY])
        await cleanUpTest()
      }
    }
  },
)

describe.each(MINTING)('a drop that %s --adopt gave to the second,', (adopting) => {
  test.each(WRITES.filter(({ drop, command }) => drop === 'feb' && command === 'apply'))(
    'on machine $at (its state: $hasState), is minted again by no command',
    async ({ at: n, hasState }) => {
      for (const third of STEPS_WITH_STATE) {
        const at = await machinesOnEmptyServer()
        await run(at[0], 'apply', 'jan')
        if (!hasState) at[n] = await start()
        const adopted = await codeOf(run(at[n], adopting, 'feb', { adopt: true }))
        // A machine that has minted the first drop knows that the manifest is another one.
        expect(adopted).toBe(n === 0 && hasState ? 'already_accepted' : null)
        expect([...OF_JAN, ...OF_FEB]).toContain(await runStep(at, third))
        const numbers = server.titles.map((title) => title.at(-1))
        expect([third, ['1', '2', '3'].slice(0, numbers.length)]).toEqual([third, numbers])
        expect(new Set(server.labels)).toEqual(new Set([adopted === null ? 'feb/drop.csv' : 'jan/drop.csv']))
        await cleanUpTest()
      }
    },
  )
})

const DROP_NAMES = {
  jan: { runName: 'januar', label: 'januar' },
  feb: { runName: 'februar', label: 'februar' },
}
type Named = keyof typeof DROP_NAMES

/** The same with a name for each drop in `named`. `again`: the first mint on each machine has --again. */
const NAMED = ([['feb'], ['jan'], ['jan', 'feb']] satisfies Named[][]).flatMap((named) =>
  [false, true].map((again) => ({ named: named as Named[], again })),
)
const NAMED_STEPS = (['jan', 'feb'] as const).flatMap((drop) =>
  // Plans of both drops are made at the end.
  (['mint', 'apply'] as const).flatMap((command) => ([0, 1] as const).map((at) => ({ drop, command, at }))),
)

describe.each(NAMED)('with --run for $named and --again: $again', ({ named, again }) => {
  test.each(NAMED_STEPS)(
    'mints each row once, and finds all on any machine, after $command of $drop on machine $at and any others',
    async (second) => {
      for (const third of sampleOf(NAMED_STEPS, NAMED_STEPS.indexOf(second))) {
        server = new Server()
        const at = [await start(), await start()] as [Machine, Machine]
        const minted = new Set<string>()
        const step = async ({ drop, command, at: n }: (typeof NAMED_STEPS)[number]) => {
          const name = named.includes(drop) ? DROP_NAMES[drop] : {}
          const isFirst = command === 'mint' && !minted.has(`${drop} ${n}`)
          minted.add(`${drop} ${n}`)
          const code = await codeOf(
            run(at[n], command, drop, { ...name, again: again && isFirst && 'runName' in name }),
          )
          expect([drop, command, n, code]).toEqual([drop, command, n, code === 'run_finished' ? code : null])
        }
        await step({ drop: 'jan', command: 'mint', at: 0 })
        await step(second)
        await step(third)
        await step({ drop: 'feb', command: 'mint', at: 1 })
        expect(server.titles.toSorted()).toEqual(['February 1', 'February 2', 'February 3', 'January 1', 'January 2'])
        // A machine without a state finds them, also if each row was edited.
        for (const drop of ['jan', 'feb'] as const) {
          const { rows, options } = DROPS[drop]
          const edited = rows.map((one) => ({ ...one, metadata: { ...one.metadata, title: `${one.metadata.title}!` } }))
          const all = { ...options, ...(named.includes(drop) ? DROP_NAMES[drop] : {}) }
          for (const machine of [...at, await start()]) {
            const { counts } = await machine.plan(edited, all)
            expect([drop, counts.mint, counts.update]).toEqual([drop, 0, rows.length])
          }
        }
        await cleanUpTest()
      }
    },
  )
})
