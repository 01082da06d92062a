/** @module-tag slow */
import { beforeAll, describe, expect, test } from 'vitest'
import type { ErrorCode } from '../../src/core/errors.ts'
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

test.each(STEPS)(
  'never changes the first, after $command of $drop on machine $at (its state: $hasState) and any command',
  async (second) => {
    // Without its state, a machine is like one that has run nothing yet.
    for (const third of STEPS.filter(({ hasState }) => hasState)) {
      server = new Server()
      const at = [await start(), await start()] as [Machine, Machine]
      await run(at[0], 'mint', 'jan')
      for (const { drop, command, at: n, hasState } of [second, third]) {
        if (!hasState) at[n] = await start()
        const code = await codeOf(run(at[n], command, drop))
        const known = drop === 'jan' ? [null, 'run_finished'] : ['seems_minted', 'already_accepted']
        expect([drop, command, known]).toEqual([drop, command, expect.arrayContaining([code])])
      }
      expect(server.titles).toEqual(['January 1', 'January 2'])
      expect(server.labels).toEqual(['jan/drop.csv', 'jan/drop.csv'])
      await cleanUpTest()
    }
  },
)

const NAMES = {
  jan: { runName: 'januar', label: 'januar' },
  feb: { runName: 'februar', label: 'februar' },
}
type Named = keyof typeof NAMES

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
      for (const third of NAMED_STEPS) {
        server = new Server()
        const at = [await start(), await start()] as [Machine, Machine]
        const minted = new Set<string>()
        const step = async ({ drop, command, at: n }: (typeof NAMED_STEPS)[number]) => {
          const name = named.includes(drop) ? NAMES[drop] : {}
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
          const all = { ...options, ...(named.includes(drop) ? NAMES[drop] : {}) }
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
