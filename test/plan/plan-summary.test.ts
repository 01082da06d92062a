import { expect, test } from 'vitest'
import { printPlanNotes } from '../../src/cli/plan/plan-view.ts'
import { seededRandom } from '../helpers/seed.ts'
import { ALICE, BOB, CAROL, Machine, row, Server } from './world.ts'

const NONE = { all: [], folded: new Map(), areEdits: false }
const IDS = [...'abcdefghijkl']

test('the counts of a plan add up to the rows of the manifest after any changes and removals', async () => {
  const { random } = seededRandom('plan-summary')
  const isChosen = () => random() < 0.3
  for (let round = 0; round < 12; round++) {
    const server = new Server()
    const machine = await Machine.start(server)
    await machine.mint(IDS.map((id) => row(id)))
    for (const id of IDS) {
      const nft = server.nft(id)
      if (isChosen()) server.transfer(id, CAROL)
      if (isChosen()) nft.isFrozen = true
      if (isChosen()) nft.isBurned = true
    }
    const kept = IDS.filter(() => !isChosen()).map((id) => row(id, isChosen() ? BOB : ALICE, isChosen() ? 'New' : id))
    const rows = [...kept, ...['x', 'y', 'z'].filter(isChosen).map((id) => row(id))]
    const more = { prune: isChosen(), takeOver: isChosen(), newRows: true, adopt: true }
    for (const noBurns of ['burns are off', null]) {
      const plan = await machine.plan(rows, { ...more, whyNoBurns: async () => noBurns })
      const notes: string[] = []
      printPlanNotes({ note: (text) => notes.push(text) }, plan, NONE, { allText: null, onlyMint: '' })
      const [summary = '', removed = ''] = notes.at(-1)?.split(' Removed rows: ') ?? []
      const { total, twice, sum } = numbersOf(summary)
      expect([total, sum - twice], summary).toEqual([rows.length, rows.length])
      expect(twice).toBe(plan.saved.rows.filter(({ length }) => length > 1).length)
      expect(numbersOf(`0 rows: ${removed}`).sum).toBe(plan.saved.burns.length)
    }
  }
})

/** Reads `3 rows: 1 to update, 3 unchanged (1 row has two changes).` */
function numbersOf(summary: string): { total: number; twice: number; sum: number } {
  const [, total, counts = '', twice = 0] =
    /^(\d+) rows?: (.*?)(?: \((\d+) rows? ha\w+ two changes\))?\.?$/.exec(summary) ?? []
  const sum = [...counts.matchAll(/\d+/g)].reduce((all, [n]) => all + Number(n), 0)
  return { total: Number(total), twice: Number(twice), sum }
}
