/** @module-tag slow */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runRows } from '../../src/batch/runs/run-rows.ts'
import { openRun } from '../../src/batch/runs/runs.ts'
import { GdnError } from '../../src/core/errors.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, BOB, CAROL, Machine, row, Server } from './world.ts'

const IDS = ['a', 'b', 'c', 'd'] as const
const KINDS = [[], ['update'], ['transfer'], ['update', 'transfer']] as const

const step = fc.oneof(
  fc.record({ do: fc.constant('title' as const), id: fc.constantFrom(...IDS), to: fc.constantFrom('x', 'y', 'z') }),
  fc.record({
    do: fc.constant('receiver' as const),
    id: fc.constantFrom(...IDS),
    to: fc.constantFrom(ALICE, BOB, CAROL),
  }),
  fc.record({ do: fc.constantFrom('add' as const, 'remove' as const), id: fc.constantFrom(...IDS) }),
  fc.record({ do: fc.constant('mint' as const) }),
  fc.record({ do: fc.constant('apply' as const), kinds: fc.constantFrom(...KINDS) }),
)

interface Content {
  title: string
  receiver: string
}

test('results are what was last minted or applied, after any edits, mints and partial applies', {
  tags: ['promise'],
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const machine = await Machine.start(new Server())
      const manifest = new Map<string, Content>([['a', { title: 'x', receiver: ALICE }]])
      const applied = new Map<string, Content>()
      const rows = () => [...manifest].map(([id, { title, receiver }]) => row(id, receiver, title))
      const mint = async () => {
        await machine.mint(rows(), { keepEdited: true, newRows: true }).catch((error: unknown) => {
          if (!(error instanceof GdnError) || error.code !== 'run_finished') throw error
        })
        for (const [id, content] of manifest) if (!applied.has(id)) applied.set(id, { ...content })
      }
      await mint()
      for (const one of steps) {
        if (one.do === 'mint') await mint()
        else if (one.do === 'apply') {
          await machine.applyAndNote(rows(), one.kinds)
          for (const [id, { title, receiver }] of manifest) {
            const content = applied.get(id)
            if (content !== undefined && one.kinds.some((kind) => kind === 'update')) content.title = title
            if (content !== undefined && one.kinds.some((kind) => kind === 'transfer')) content.receiver = receiver
          }
        } else if (one.do === 'add') manifest.set(one.id, manifest.get(one.id) ?? { title: 'x', receiver: BOB })
        else if (one.do === 'remove' && manifest.size > 1) manifest.delete(one.id)
        else {
          const content = manifest.get(one.id)
          if (content !== undefined && one.do === 'title') content.title = one.to
          if (content !== undefined && one.do === 'receiver') content.receiver = one.to
        }
        const shown = new Map<string, Content>()
        for await (const { result, row: recorded } of runRows(await openRun(machine.stateDir, 'drop'))) {
          const { title, receiver_wallet_address: receiver } = result
          shown.set(result.key, { title: title ?? '', receiver })
          if (recorded !== null) expect(recorded.receiver).toBe(receiver)
        }
        expect([...shown].sort()).toEqual([...applied].sort())
      }
      await machine.stop()
    }),
    { numRuns: runs(60) },
  )
})
