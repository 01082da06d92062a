/** @module-tag slow */
import { afterEach, expect, test } from 'vitest'
import type { ErrorCode } from '../../src/core/errors.ts'
import { COMMANDS, run } from './two-drops.ts'
import { Machine, Server } from './world.ts'

let server: Server
const machines: Machine[] = []
const start = async () => {
  const started = await Machine.start(server)
  machines.push(started)
  return started
}
afterEach(async () => {
  for (const each of machines.splice(0)) await each.stop()
})

/** Returns the code of the error that a command ends with; null for none. */
const codeOf = (ends: Promise<unknown>): Promise<ErrorCode | null> =>
  ends.then(
    () => null,
    (error: { code: ErrorCode }) => error.code,
  )

const titles = () => server.nfts.map(({ metadata }) => (metadata as { title: string }).title)

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
      expect(titles()).toEqual(['January 1', 'January 2'])
      expect(server.labels).toEqual(['jan/drop.csv', 'jan/drop.csv'])
      for (const each of machines.splice(0)) await each.stop()
    }
  },
)
