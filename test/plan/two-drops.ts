import type { PlanOptions } from '../../src/plan/planned.ts'
import { ALICE, BOB, type Machine, row } from './world.ts'

/** Two manifests of one file name with the same IDs, and what each says of its rows. */
export const DROPS = {
  jan: {
    rows: [row('a', ALICE, 'January 1'), row('b', ALICE, 'January 2')],
    options: { manifestPath: '/shop/jan/drop.csv', label: 'jan/drop.csv' },
  },
  feb: {
    rows: [row('a', BOB, 'February 1'), row('b', BOB, 'February 2'), row('c', BOB, 'February 3')],
    options: { manifestPath: '/shop/feb/drop.csv', label: 'feb/drop.csv' },
  },
}
export type Drop = keyof typeof DROPS
type Options = Partial<PlanOptions>

export const COMMANDS = ['mint', 'plan', 'apply'] as const
export type Command = (typeof COMMANDS)[number]

/** Runs a command as `gdn` does. */
export async function run(machine: Machine, command: Command, drop: Drop, more: Options = {}): Promise<void> {
  const { rows, options } = DROPS[drop]
  const all = { ...options, ...more }
  if (command === 'mint') return await machine.mint(rows, all)
  const { counts } = await machine.plan(rows, all)
  if (command === 'plan') return
  const { adopt: _, ...minting } = all
  if (counts.mint > 0 && more.adopt !== true) await machine.mint(rows, { ...minting, keepEdited: true })
  await machine.apply(rows, all)
}
