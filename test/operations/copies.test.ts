/** @module-tag slow */
import { cpSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { openSqlite } from '../../src/sqlite/driver.ts'
import { wrapDatabase } from '../helpers/wrap-database.ts'
import { DAWN, inMemory, Machine, OTHER, RECEIVER, REQUESTS, Service } from './world.ts'

let machine: Machine
let copies: string
beforeEach(async () => {
  machine = await Machine.start()
  copies = await mkdtemp(join(inMemory, 'gdn-copies-'))
})
afterEach(async () => {
  await machine.stop()
  await rm(copies, { recursive: true, force: true })
})

const MINT = REQUESTS.createnft

/** Runs the command, and copies the files of the state before each of its statements. */
async function copied(service: Service): Promise<string[]> {
  let n = 0
  const wrap = (raw: Parameters<typeof wrapDatabase>[0]) =>
    wrapDatabase(raw, () => cpSync(machine.stateDir, join(copies, String(n++)), { recursive: true }))
  expect(await machine.command(service, 'createnft', { wrap })).toMatchObject({ error: null })
  const names = await readdir(copies)
  return names.map((name) => join(copies, name))
}

describe('a state restored from any statement of a mint that continued', () => {
  test.each([true, false])('never mints a second time undetected (idempotency: %s)', async (idempotency) => {
    const service = new Service(idempotency)
    await machine.command(service, 'createnft', {
      content: 'another',
      request: async () => ({ ...MINT, metadata: [{ ...DAWN, title: 'Dusk' }] }),
    })
    const places = await copied(service)
    expect(places.length).toBeGreaterThan(40)
    expect(service.made).toBe(2)
    const codes = new Set<string>()
    for (const place of places) {
      const restored = Machine.at(place)
      // The process is gone with its machine.
      await restored.forgetHolders()
      // Its end was reported, so that the same command is a new operation.
      if ((await restored.operations()).filter(({ isReleased }) => isReleased).length === 2) continue
      const { error, printed } = await restored.command(service, 'createnft')
      expect(service.made, place).toBe(2)
      if (error === null) expect(printed?.nfts[0]?.nft_gdn_id).toBe('nft-2')
      else codes.add('code' in error ? error.code : error.message)
    }
    // Before its bytes are committed, only the collection shows the operation.
    expect([...codes]).toContain('seems_minted')
    for (const code of codes) expect(['seems_minted', 'unknown_outcome']).toContain(code)
  })
})

/** Changes a database without its seal. */
function change(database: string, sql: string): void {
  const raw = openSqlite(database)
  raw.exec(sql)
  raw.close()
}

describe('a copied state', () => {
  async function moved(): Promise<Machine> {
    const place = join(copies, 'moved')
    await cp(machine.stateDir, place, { recursive: true })
    return Machine.at(place)
  }

  test('is recognized once, and mints what the collection does not have', async () => {
    const service = new Service(false)
    await machine.command(service, 'createnft')
    const other = await moved()
    const first = await other.command(service, 'createnft')
    expect(first).toMatchObject({ error: null })
    expect(first.events.map(({ type }) => type)).toContain('copied')
    const second = await other.command(service, 'createnft')
    expect(second).toMatchObject({ error: null, events: [] })
    expect(service.made).toBe(3)
  })

  test('mints nothing whose content an unknown NFT has, except with --again', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft')
    const other = await moved()
    service.mint(DAWN, OTHER)
    expect((await other.command(service, 'createnft')).error).toMatchObject({
      code: 'seems_minted',
      exitCode: 9,
      hint: expect.stringContaining('--again'),
    })
    expect((await other.command(service, 'createnft')).error).toMatchObject({ code: 'seems_minted' })
    expect(service.made).toBe(2)
    expect(await other.command(service, 'createnft', { again: true })).toMatchObject({ error: null })
  })

  test.each(['getnftgdnids', 'getnfts'])(
    'is compared again if %s was interrupted, and names five NFTs at most',
    async (at) => {
      const service = new Service(true)
      await machine.command(service, 'createnft')
      const other = await moved()
      for (let n = 0; n < 6; n++) service.mint(DAWN, OTHER)
      const stop = new AbortController()
      const request = service.request.bind(service)
      const interrupting = vi.spyOn(service, 'request').mockImplementation((asked, killer) => {
        if (asked.url.endsWith(at)) stop.abort(new GdnError('interrupted', 'interrupted'))
        return request(asked, killer)
      })
      const { error } = await other.command(service, 'createnft', { signal: stop.signal })
      expect(error).toMatchObject({ code: 'interrupted' })
      interrupting.mockRestore()
      expect((await other.command(service, 'createnft')).error).toMatchObject({
        code: 'seems_minted',
        message: expect.stringMatching(/: (nft-\d, ){5}…$/),
      })
      expect(service.arrived).toHaveLength(1)
    },
  )

  test('restored alone, beside newer files, is recognized by its counter, even if both were written at the same time', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft')
    const database = join(machine.stateDir, 'state.db')
    await cp(database, join(copies, 'older.db'))
    await machine.command(service, 'createnft', {
      content: 'other',
      request: async () => ({ ...MINT, receiver_wallet_address: RECEIVER }),
    })
    // In place, with the same inode.
    await writeFile(database, await readFile(join(copies, 'older.db')))
    // As on a file system that stores times in seconds.
    const { ctimeNs } = await stat(`${database}-seal`, { bigint: true })
    change(database, `UPDATE state SET sealed_at = '${ctimeNs}'`)
    const { error, events } = await machine.command(service, 'createnft')
    expect(events.map(({ type }) => type)).toContain('copied')
    expect(error).toMatchObject({ code: 'seems_minted' })
  })

  test('restored with all of its files in place is recognized by the time of its seal', async () => {
    const service = new Service(false)
    await machine.command(service, 'createnft', {
      content: 'another',
      request: async () => ({ ...MINT, metadata: [{ ...DAWN, title: 'Dusk' }] }),
    })
    await cp(machine.stateDir, copies, { recursive: true })
    await machine.command(service, 'createnft')
    for (const name of await readdir(copies)) {
      await writeFile(join(machine.stateDir, name), await readFile(join(copies, name)))
    }
    expect((await machine.command(service, 'createnft')).error).toMatchObject({ code: 'seems_minted' })
    expect(service.made).toBe(2)
  })

  test('restored with the whole disk is recognized by the restart of its machine', async () => {
    const service = new Service(false)
    await machine.command(service, 'createnft')
    change(join(machine.stateDir, 'state.db'), "UPDATE places SET boot = 'an earlier one'")
    const { events } = await machine.command(service, 'createnft')
    expect(events).toContainEqual({ type: 'copied', reason: 'the database was not used in this location before' })
  })

  test.each([
    ['deleted', (path: string) => rm(path)],
    ['truncated to 0 bytes', (path: string) => truncate(path)],
  ])('that was %s leaves a seal, against which the next mint is checked', async (_how, lose) => {
    const service = new Service(false)
    await machine.command(service, 'createnft')
    await lose(join(machine.stateDir, 'state.db'))
    const { error, events } = await machine.command(service, 'createnft')
    expect(error).toMatchObject({ code: 'seems_minted' })
    expect(events).toContainEqual({ type: 'copied', reason: 'the previous database is missing' })
    expect(service.made).toBe(1)
  })
})
