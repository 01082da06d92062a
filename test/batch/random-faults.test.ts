import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BatchSummary } from '../../src/batch/types.ts'
import { FakeHostedApi, type Fault } from '../helpers/fake-hosted-api.ts'
import { Killer, killableFile, Machine } from './simulation.ts'
import { row } from './simulation-rows.ts'

const SOAK = process.env.GDN_SOAK === '1'
const RUNS = SOAK ? 1000 : 100
const ROWS = SOAK ? 200 : 30

const fault = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  {
    weight: 4,
    arbitrary: fc.record({
      fault: fc.constantFrom<Fault>(
        'not_sent',
        'cut_before',
        'cut_after',
        'status_before',
        'status_after',
        'rate_limited',
        'wrong_count',
      ),
      status: fc.constantFrom(408, 409, 425, 500, 502, 503),
    }),
  },
)

const scenario = fc.record({
  idempotency: fc.boolean(),
  powerCut: fc.boolean(),
  faults: fc.array(fault, { maxLength: 60 }),
  /** At which step each life of the process ends. */
  kills: fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 4 }),
  chunkSize: fc.integer({ min: 1, max: 12 }),
  inFlight: fc.integer({ min: 1, max: 4 }),
  inOrder: fc.boolean(),
  /** Rows may say the same: copies are NFTs of their own. */
  copies: fc.integer({ min: 1, max: 3 }),
})

test(
  `under random faults and kills no row is minted twice, every row is accounted for, and where keys are honoured none stays unknown (${RUNS} runs of ${ROWS} rows)`,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        scenario,
        async ({ idempotency, powerCut, faults, kills, chunkSize, inFlight, inOrder, copies }) => {
          const machine = await Machine.start()
          try {
            let killer = new Killer(Number.POSITIVE_INFINITY)
            const left = faults.slice()
            const server = new FakeHostedApi({
              idempotency,
              faultOf: () => left.shift() ?? null,
              onArrival: () => killer.step(),
              onCommit: () => killer.step(),
            })
            const rows = Array.from({ length: ROWS }, (_, index) => ({
              ...row(Math.floor(index / copies) * 3 + (index % 2)),
              line: index + 2,
            }))
            const wanted = new Map<string, number>()
            for (const { metadata } of rows) wanted.set(metadata.title, (wanted.get(metadata.title) ?? 0) + 1)
            const options = { chunkSize, inFlight, inOrder }
            for (const kill of kills) {
              killer = new Killer(kill)
              const wrapJournal = killableFile(machine.journal(), killer, powerCut)
              await machine.run(server, rows, options, { wrapJournal }).catch((error: { code?: string }) => {
                if (!killer.crashed && error.code !== 'run_finished') throw error
              })
            }
            killer = new Killer(Number.POSITIVE_INFINITY)
            let summary: BatchSummary | null = null
            // A run that stopped because nothing got through is gone on with, as a person would.
            for (let go = 0; go < 10 && (summary === null || summary.stopped !== null); go++) {
              summary = await machine.run(server, rows, options).catch((error: { code?: string }) => {
                if (error.code !== 'run_finished') throw error
                return null
              })
              if (summary === null) break
            }
            const minted = server.countsByTitle()
            for (const [title, count] of minted) expect(count).toBeLessThanOrEqual(wanted.get(title) ?? 0)
            const total = [...minted.values()].reduce((sum, count) => sum + count, 0)
            if (summary === null) {
              expect(total).toBe(ROWS)
              return
            }
            const { deployed, unknown } = summary.counts
            expect(deployed + unknown).toBe(ROWS)
            expect(total).toBeGreaterThanOrEqual(deployed)
            expect(summary.exitCode).toBe(unknown > 0 ? 9 : 0)
            if (idempotency) expect(unknown).toBe(0)
          } finally {
            await machine.stop()
          }
        },
      ),
      { numRuns: RUNS },
    )
  },
  SOAK ? 3_600_000 : 120_000,
)
