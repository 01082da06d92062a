import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { claimOperation } from '../../src/operations/leased-run.ts'
import type { Sql } from '../../src/sqlite/shared-database.ts'
import { commandRuns, pruneRuns } from '../../src/state/runs.ts'
import { CONTRACT, Machine, Service } from './world.ts'

const DAY = 24 * 3_600_000

let machine: Machine
let service: Service
beforeEach(async () => {
  machine = await Machine.start()
  service = new Service(false)
})
afterEach(() => machine.stop())

/** An operation that is never forgotten, as the npm client has it. */
const order = (name: string, operationId = randomUUID()) => ({ operationId, keptAs: name, content: { name } })

const names = async () => (await machine.state((state) => state.read(commandRuns))).map(({ name }) => name)

/** Adds ended runs of kept operations that began later than anything else. */
function addKept(sql: Sql, count: number): void {
  sql.run(
    `INSERT INTO runs (id, kind, name, note, started_at, ended_at, fence, beat_at, is_kept)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      SELECT 'kept-' || i, 'command', 'order', '', ? + i, ? + i, 1, 0, 1 FROM n`,
    count,
    machine.now,
    machine.now,
  )
}

describe('an operation that is kept', () => {
  test('is known for good, where one of a command is forgotten after 30 days', async () => {
    const kept = order('order-42')
    const command = { operationId: randomUUID(), content: 'a command' }
    for (const one of [kept, command]) await machine.command(service, 'createnft', one)
    machine.now += 31 * DAY
    await machine.command(service, 'createnft', { content: 'another command' })
    expect(service.made).toBe(3)

    const again = await machine.command(service, 'createnft', kept)
    expect(again.printed?.nfts).toEqual([expect.objectContaining({ nft_gdn_id: 'nft-1' })])
    expect(service.made).toBe(3)
    await machine.command(service, 'createnft', command)
    expect(service.made).toBe(4)
  })

  test('is known for good if it is a commitment to hidden rows, also of a command', async () => {
    await machine.command(service, 'createnft', { content: 'a commitment' })
    await machine.state((state) =>
      state.write((sql) => {
        sql.run("UPDATE operations SET kind = 'commitprovenance'")
        pruneRuns(sql, machine.now + 31 * DAY)
      }),
    )
    expect(await names()).toEqual([expect.stringMatching(/^a-test-/)])
  })

  test('does not make the state forget commands', async () => {
    await machine.command(service, 'createnft', { content: 'a command' })
    await machine.state((state) =>
      state.write((sql) => {
        addKept(sql, 5_001)
        pruneRuns(sql, machine.now)
      }),
    )
    expect(await names()).toEqual([expect.stringMatching(/^a-test-/)])
  })

  test('is listed with commands while its outcome is unknown, and not after its end', async () => {
    const kept = order('order-42')
    service.idempotency = true
    service.faults = Array.from({ length: 6 }, () => 'cut_before' as const)
    await machine.command(service, 'createnft', kept)
    expect(await names()).toEqual(['order-42'])
    await machine.command(service, 'createnft', kept)
    expect(await names()).toEqual([])
    expect(service.made).toBe(1)
  })

  test('is not read to list or forget commands', async () => {
    const plans = await machine.state((state) =>
      state.write((sql) => {
        const read: string[] = []
        const explained = (query: string, ...parameters: readonly (string | number)[]) => {
          read.push(
            ...sql.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${query}`, ...parameters).map((row) => row.detail),
          )
          return []
        }
        const spy: Sql = { ...sql, all: (query, ...rest) => explained(query, ...(rest as string[])) }
        commandRuns(spy)
        pruneRuns(spy, 0)
        return read.filter((detail) => /\bruns\b/.test(detail))
      }),
    )
    expect(plans).toHaveLength(3)
    for (const plan of plans) expect(plan).toContain('runs_of_commands')
  })

  test('leaves no record if it is refused, so that a corrected request may follow', async () => {
    const { operationId, keptAs } = order('order-42')
    service.faults = [{ status: 400 }]
    const refused = await machine.command(service, 'createnft', { operationId, keptAs, content: 'a typo' })
    expect(refused.error).toMatchObject({ code: 'refused' })
    const corrected = await machine.command(service, 'createnft', { operationId, keptAs, content: 'correct' })
    expect(corrected.error).toBeNull()
    expect(service.made).toBe(1)
  })
})

test('a run whose release failed is not busy for the process that held it', async () => {
  const name = { origin: 'https://api.test', blockchain: 'polygon', contract: CONTRACT, identity: 'one' } as const
  await machine.state(async (state) => {
    const { signal } = new AbortController()
    const claim = () => claimOperation(state, { ...name, kind: 'createnft' }, { note: 'a test', signal })
    const first = await claim()
    await expect(claim()).rejects.toMatchObject({ code: 'run_busy' })
    const fullDisk = () => {
      throw new Error('the disk is full')
    }
    await expect(first.run.release(fullDisk)).rejects.toThrow('full')
    const second = await claim()
    await second.run.release()
  })
})
