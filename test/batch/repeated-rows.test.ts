import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { BatchOptions } from '../../src/batch/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { FakeHostedApi, type FakeOptions } from '../helpers/fake-hosted-api.ts'
import { Killer, killableDatabase, Machine } from './simulation.ts'
import { row } from './simulation-rows.ts'

let machine: Machine
let server: FakeHostedApi
beforeEach(async () => {
  machine = await Machine.start()
  server = serverOf({})
})
afterEach(() => machine.stop())

const serverOf = (options: Partial<FakeOptions>) =>
  new FakeHostedApi({ idempotency: false, now: machine.time.now, ...options })

const run = (rows: readonly ManifestRow[], options: Partial<BatchOptions> = {}, on = machine) =>
  on.run(server, rows, options)

/** Returns rows with titles, in the form `ID:title` or, without an ID, `title`. */
const rowsOf = (...texts: string[]): ManifestRow[] =>
  texts.map((text, index) => {
    const [title = '', id = null] = text.split(':').toReversed()
    return row(1, { line: index + 2, id, metadata: { title, description: 'd', file_fields: [] } })
  })

const titles = () => [...server.countsByTitle()].map(([title, count]) => `${count} ${title}`).sort()

const refusal = (...lines: string[]) => ({
  code: 'edited_rows',
  message: expect.stringContaining(lines.map((line) => `\n  ${line}`).join('')),
})

async function otherMachine(): Promise<Machine> {
  const other = await Machine.start()
  onTestFinished(() => other.stop())
  return other
}

describe('a new row with the content of an NFT of the run', () => {
  test.each([
    ['returns without its ID', ['1:A', '3:C', 'B'], 'line 4: the NFT of row 2'],
    ['returns with another ID', ['1:A', '3:C', '9:B'], 'line 4: the NFT of row 2'],
  ])('is refused if it %s after it was removed with --new-rows', async (_how, rows, line) => {
    await run(rowsOf('1:A', '2:B'))
    await run(rowsOf('1:A', '3:C'), { newRows: true })
    await expect(run(rowsOf(...rows))).rejects.toMatchObject(refusal(line))
    expect(titles()).toEqual(['1 A', '1 B', '1 C'])
  })

  test('is refused if a new row took its ID', async () => {
    await run(rowsOf('1:A', '2:B'))
    for (const options of [{}, { newRows: true }]) {
      await expect(run(rowsOf('1:A', '2:X', 'B'), options)).rejects.toMatchObject(refusal('line 4: the NFT of row 2'))
    }
    expect(titles()).toEqual(['1 A', '1 B'])
  })

  test('is refused if a row was inserted and the following IDs were shifted', async () => {
    const letters = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J']
    await run(rowsOf(...letters.map((letter, index) => `${index + 1}:${letter}`)))
    const shifted = [...letters.slice(0, 8), 'X', ...letters.slice(8)].map((letter, index) => `${index + 1}:${letter}`)
    await expect(run(rowsOf(...shifted))).rejects.toMatchObject(refusal('line 12: the NFT of row 10'))
    expect(server.minted.size).toBe(10)
    // A new ID and --new-rows show that the user wants another NFT, and a repeated command needs no flag.
    const killer = new Killer(40)
    const killed = machine.run(
      server,
      rowsOf(...shifted),
      { newRows: true },
      { openDatabase: killableDatabase(killer) },
    )
    await killed.catch(() => {})
    killer.revive()
    if (killer.crashed) await machine.bury()
    await run(rowsOf(...shifted), { newRows: true })
    expect(server.countsByTitle().get('J')).toBe(2)
  })

  test('is minted if the row of the NFT is identical to it', async () => {
    await run(rowsOf('1:A', '2:B'))
    await run(rowsOf('1:A', '2:B', '3:B'))
    expect(titles()).toEqual(['1 A', '2 B'])
  })

  test('is refused if its ID was removed when its files moved', async () => {
    const image = join(machine.stateDir, 'b.png')
    await writeFile(image, 'b')
    const withImage = (id: string | null, path: string) =>
      row(2, { line: 3, id, localFiles: [{ key: 'image', path }], metadata: { ...row(2).metadata, file_fields: [] } })
    await run([row(1, { id: '1' }), withImage('2', image)])
    await mkdir(join(machine.stateDir, 'moved'))
    const moved = join(machine.stateDir, 'moved', 'b.png')
    await writeFile(moved, 'b')
    const rows = [row(1, { id: '1' }), withImage(null, moved), row(3, { id: '3' })]
    await expect(run(rows, { newRows: true })).rejects.toMatchObject(refusal('line 3: the NFT of row 2'))
    expect(server.minted.size).toBe(2)
  })
})

describe('a failed row that was edited', () => {
  const failing = () =>
    serverOf({
      record: (record) => (JSON.stringify(record).includes('"X!"') ? { ...record, status: 'failed' } : record),
    })

  test('is compared with the NFTs that another machine minted before the run', async () => {
    server = failing()
    const other = await otherMachine()
    await run(rowsOf('1:A', '2:B'), { manifestPath: '/a/a.csv' }, other)
    const options = { manifestPath: '/b/b.csv' }
    await run(rowsOf('3:C', '4:X!'), options)
    await expect(run(rowsOf('3:C', '4:A'), options)).rejects.toMatchObject({ code: 'seems_minted' })
    expect(server.countsByTitle().get('A')).toBe(1)
  })

  test('is compared with the NFTs that another machine minted since', async () => {
    server = failing()
    const options = { manifestPath: '/b/b.csv' }
    await run(rowsOf('3:C', '4:X!'), options)
    await run(rowsOf('4:X'), { manifestPath: '/c/c.csv' }, await otherMachine())
    await expect(run(rowsOf('3:C', '4:X'), options)).rejects.toMatchObject({ code: 'seems_minted' })
    expect(server.countsByTitle().get('X')).toBe(1)
  })
})

test.each([
  ['with the drop', ['3:C', '4:X!']],
  ['later', ['3:C']],
])(
  'a failed row of a second drop, added %s, is compared with what other runs minted since, but not with what it repeats',
  async (_when, began) => {
    let fails = true
    const failed = new Set<unknown>()
    const isFailed = ({ nft_gdn_id: id, ...record }: Record<string, unknown>) => {
      if (fails && /"X!"|"C"/.test(JSON.stringify(record)) && server.minted.size > 1) failed.add(id)
      return failed.has(id)
    }
    server = serverOf({ record: (record) => (isFailed(record) ? { ...record, status: 'failed' } : record) })
    const options = { manifestPath: '/b/b.csv' }
    const second = { ...options, runName: 'two' }
    await run(rowsOf('3:C'), options)
    await run(rowsOf(...began), { ...second, again: true })
    if (began.length === 1) await run(rowsOf('3:C', '4:X!'), second)
    fails = false
    await run(rowsOf('4:X!'), { manifestPath: '/c/c.csv' })
    const minted = server.minted.size
    for (const rows of [null, rowsOf('3:C', '4:X!')]) {
      const retried = machine.run(server, rows, { ...second, retryFailed: true })
      await expect(retried).rejects.toMatchObject({
        code: 'already_accepted',
        message: expect.stringContaining('1 row'),
      })
    }
    expect(server.minted.size).toBe(minted)
    await run(rowsOf('3:C'), { ...second, retryFailed: true })
    expect(server.minted.size).toBe(minted + 1)
  },
)

test('rows that were added to a second drop are compared with the NFTs of other machines, its own rows are not', async () => {
  await run(rowsOf('1:A', '2:B'), { manifestPath: '/a/a.csv' }, await otherMachine())
  const options = { manifestPath: '/b/b.csv' }
  await run(rowsOf('3:C'), options)
  const second = { ...options, runName: 'two' }
  await run(rowsOf('3:C'), { ...second, again: true })
  await expect(run(rowsOf('3:C', '1:A', '2:B'), second)).rejects.toMatchObject({ code: 'seems_minted' })
  expect((await run(rowsOf('3:C', '5:D'), second)).counts.deployed).toBe(2)
  expect(titles()).toEqual(['1 A', '1 B', '1 D', '2 C'])
})

describe('on a server without reference IDs, rows of a second drop', () => {
  const SECOND = { runName: 'two' }

  test('are not sent again as absent if their NFTs have appeared', async () => {
    const faults = [null, { fault: 'cut_before', status: 502 } as const]
    server = serverOf({ faultOf: () => faults.shift() ?? null })
    await run([row(3), row(6)])
    await run([row(3), row(6)], { ...SECOND, again: true, inFlight: 1 })
    for (const one of [row(3), row(6)]) server.mintByOther(one.receiver, one.metadata)
    const minted = server.minted.size
    await expect(run([row(3), row(6)], { ...SECOND, retryAbsent: true })).rejects.toMatchObject({
      code: 'seems_minted',
    })
    expect(server.minted.size).toBe(minted)
  })

  test('are not minted a third time by a restored state', async () => {
    const rows = [row(1), row(2), row(3)]
    const stop = new AbortController()
    let stops = false
    server = serverOf({ onCommit: () => stops && stop.abort(new GdnError('interrupted', 'interrupted')) })
    await run(rows)
    stops = true
    await run(rows, { ...SECOND, again: true, inFlight: 1, chunkSize: 1, signal: stop.signal }).catch(() => {})
    stops = false
    expect(server.minted.size).toBe(4)
    const backup = `${machine.stateDir}-backup`
    onTestFinished(() => rm(backup, { recursive: true, force: true }))
    await cp(machine.stateDir, backup, { recursive: true })
    await run(rows, SECOND)
    await rm(machine.stateDir, { recursive: true })
    await cp(backup, machine.stateDir, { recursive: true })
    await expect(run(rows, SECOND)).rejects.toMatchObject({ code: 'seems_minted' })
    expect(server.minted.size).toBe(6)
  })
})
