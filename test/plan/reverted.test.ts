import { beforeEach, expect, test } from 'vitest'
import { ALICE, BOB, Machine, row, Server } from './world.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start(new Server())
})

const MINTED = [row('a', ALICE, 'A'), row('b')]
const EDITED = [row('a', BOB, 'A!'), row('b')]

test('a row that was edited, applied and reverted is a change, for a plan and for a mint', async () => {
  await machine.mint(MINTED)
  await machine.applyAndNote(EDITED, ['update', 'transfer'])
  const finished = (kept_accepted: number) => ({ code: 'run_finished', details: { kept_accepted } })
  await expect(machine.mint(EDITED)).rejects.toMatchObject(finished(0))
  await expect(machine.mint(MINTED)).rejects.toMatchObject(finished(1))
  expect((await machine.plan(MINTED)).changes).toEqual([
    'update update a: title A! → A',
    `transfer transfer a: receiver ${BOB} → ${ALICE}`,
  ])
  await machine.applyAndNote(MINTED, ['update', 'transfer'])
  await expect(machine.mint(MINTED)).rejects.toMatchObject(finished(0))
  await expect(machine.mint(EDITED)).rejects.toMatchObject(finished(1))
})
