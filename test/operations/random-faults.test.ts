import { cp, rm } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { report, seededRandom } from '../helpers/seed.ts'
import { type Fault, Killer, Machine, Service } from './world.ts'

const LIVES = process.env.GDN_SOAK === '1' ? 1_000 : 30
const COMMANDS = 6
/** More statements than a command has, so that some commands are not killed. */
const MAX_STEPS = 90

const machines: Machine[] = []
afterEach(async () => {
  for (const machine of machines.splice(0)) {
    await machine.stop()
    await rm(`${machine.stateDir}-backup`, { recursive: true, force: true })
  }
})

const FAULTS: readonly (Fault | null)[] = [
  ...[null, null, null, 'not_sent', 'cut_before', 'cut_after', 'fewer_ids', 'more_ids', 'not_now'],
  ...[{ status: 429 }, { status: 400 }, { status: 502 }, { status: 500, after: true }],
] as (Fault | null)[]

test.each([
  ['creates each reference ID once', { idempotency: true, references: true }],
  ['honors Idempotency-Key', { idempotency: true, references: false }],
  ['honors neither', { idempotency: false, references: false }],
])(
  'a server that %s creates no more than requested, despite faults, kills and restores',
  async (_what, { idempotency, references }) => {
    const { random } = seededRandom('operations with random faults')
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
    let killed = 0
    let restored = 0
    let createdCount = 0
    for (let life = 0; life < LIVES; life++) {
      const service = new Service(idempotency)
      service.references = references
      const machine = await Machine.start()
      machines.push(machine)
      // The first one, and another for each reported end and for each --again.
      let allowed = 1
      let backup: string | null = null
      for (let n = 0; n < COMMANDS; n++) {
        service.faults = Array.from({ length: 8 }, () => pick(FAULTS))
        const killer = new Killer(random() < 0.5 ? Math.ceil(random() * MAX_STEPS) : undefined)
        const again = random() < 0.15
        const ended = random() < 0.5
        if (again) allowed++
        const tried = await machine.command(service, 'createnft', {
          killer,
          again,
          ending: { ended, state: null, problem: null },
        })
        if (killer.killed) killed++
        if (ended && tried.printed !== null) allowed++
        expect(service.made, `life ${life}, command ${n}`).toBeLessThanOrEqual(allowed)
        const chance = random()
        if (chance < 0.2) {
          backup = `${machine.stateDir}-backup`
          await rm(backup, { recursive: true, force: true })
          await cp(machine.stateDir, backup, { recursive: true })
        } else if (backup !== null && chance < 0.4) {
          await rm(machine.stateDir, { recursive: true })
          await cp(backup, machine.stateDir, { recursive: true })
          restored++
        }
      }
      if (backup !== null) await rm(backup, { recursive: true, force: true })
      service.faults = []
      const { error } = await machine.command(service, 'createnft')
      if (error !== null) expect(['unknown_outcome', 'seems_minted']).toContain('code' in error ? error.code : error)
      createdCount += service.made
      await machine.stop()
    }
    expect(killed).toBeGreaterThan(LIVES / 2)
    expect(restored).toBeGreaterThan(0)
    report(`  ${createdCount} made in ${LIVES * COMMANDS} commands, ${killed} killed, ${restored} restored`)
  },
)
