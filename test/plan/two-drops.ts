import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PlanOptions } from '../../src/plan/planned.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { inMemory } from '../operations/world.ts'
import { ALICE, BOB, type Machine, row } from './world.ts'

const shop = join(inMemory, `gdn-shop-${process.pid}`)
const manifestIn = (folder: string) => join(shop, folder, 'drop.csv')

/** Two manifests of one file name with the same IDs, and what each says of its rows. */
export const DROPS = {
  jan: {
    rows: [row('a', ALICE, 'January 1'), row('b', ALICE, 'January 2')],
    options: { manifestPath: manifestIn('jan'), label: 'jan/drop.csv' },
  },
  feb: {
    rows: [row('a', BOB, 'February 1'), row('b', BOB, 'February 2'), row('c', BOB, 'February 3')],
    options: { manifestPath: manifestIn('feb'), label: 'feb/drop.csv' },
  },
}

/** Writes both manifests, which tell drops of different names apart only while they are there. */
export async function writeShop(): Promise<void> {
  for (const folder of ['jan', 'feb']) {
    await mkdir(join(shop, folder), { recursive: true })
    await writeFile(manifestIn(folder), '')
  }
  whenFileDone(() => rm(shop, { recursive: true, force: true }))
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
