import { expect, test } from 'vitest'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { Killer, killableDatabase, Machine } from './simulation.ts'
import { rowsUpTo } from './simulation-rows.ts'

test('with --adopt and without a state, sends no row that is in the collection, after a kill at any step', async () => {
  for (let at = 1; ; at++) {
    const machine = await Machine.start()
    const killer = new Killer(at)
    let kills = false
    const step = () => {
      if (kills) killer.step()
    }
    const server = new FakeHostedApi({
      idempotency: false,
      now: machine.time.now,
      onRead: step,
      onArrival: step,
      onCommit: step,
    })
    await machine.run(server, rowsUpTo(4), { inFlight: 1 })
    await machine.lose()
    kills = true
    const openDatabase = killableDatabase(killer)
    const options = { adopt: true, inFlight: 1 }
    await machine.run(server, rowsUpTo(7), options, { openDatabase }).catch((error: unknown) => {
      if (!killer.crashed) throw error
    })
    killer.revive()
    await machine.bury()
    const isOver =
      (await machine.state((sql) => sql.get('SELECT 1 FROM runs WHERE ended_at IS NOT NULL'))) !== undefined
    const summary = isOver ? null : await machine.run(server, rowsUpTo(7), options)
    expect(Math.max(...server.countsByTitle().values()), `step ${at}`).toBe(1)
    if (summary !== null) {
      expect(summary.counts.deployed, `step ${at}`).toBe(server.minted.size)
      expect(summary.absentRows.length, `step ${at}`).toBe(7 - server.minted.size)
    }
    await machine.stop()
    if (!killer.crashed) break
  }
})
