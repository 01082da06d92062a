import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BatchOptions } from '../../src/batch/types.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { Machine } from './simulation.ts'
import { row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
let server: FakeHostedApi
beforeEach(async () => {
  machine = await Machine.start()
  server = new FakeHostedApi({ idempotency: false, now: machine.time.now })
})
afterEach(() => machine.stop())

const KEY = 'gdn_row'
const run = (rows: readonly ManifestRow[], changes: Partial<BatchOptions> = {}) =>
  machine.run(server, rows, { markerKey: KEY, inFlight: 1, ...changes })

const markers = () =>
  [...server.minted.values()].map(({ metadata }) => (metadata as Record<string, string | undefined>)[KEY] ?? '')

describe('--marker-key', () => {
  test('adds a unique text under that key to every row, also to equal rows', async () => {
    await run([row(3), row(3, { line: 5 }), row(1)])
    expect(markers().every((marker) => /^[0-9a-f]{24}$/.test(marker))).toBe(true)
    expect(new Set(markers()).size).toBe(3)
  })

  test('keeps the text when a run is resumed, and changes it in each drop', async () => {
    const taken = machine.run(server, rowsUpTo(2), { markerKey: KEY, wait: false })
    await taken
    const first = markers()
    await run(rowsUpTo(2), { wait: false })
    expect(markers()).toEqual(first)
    await run(rowsUpTo(2))
    await run(rowsUpTo(2), { again: true })
    expect(new Set(markers()).size).toBe(4)
  })

  test('is stored with the run: a resume without the flag keeps it, and another key is rejected', async () => {
    let requests = 0
    const lame = new FakeHostedApi({
      idempotency: false,
      idPrefix: 'early',
      faultOf: () => (++requests > 1 ? { fault: 'not_sent' } : null),
    })
    await machine.run(lame, rowsUpTo(3), { markerKey: KEY, inFlight: 1, unreachableMs: 100 })
    await expect(run(rowsUpTo(3), { markerKey: 'other' })).rejects.toMatchObject({
      code: 'usage',
      place: { flag: '--marker-key' },
    })
    await machine.run(server, rowsUpTo(3), { wait: false })
    expect(markers()).toHaveLength(2)
    expect(markers().every((marker) => marker.length === 24)).toBe(true)
    await machine.run(server, rowsUpTo(3), { runName: 'plain', again: true, wait: false })
    await expect(run(rowsUpTo(3), { runName: 'plain' })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('without markers'),
    })
  })

  test('reports the lines of rows that have no room for it, or already have that key', async () => {
    const extras = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'x']))
    const metadata = (more: object) => ({ title: 'x', description: '', file_fields: [], ...more })
    const rows = [
      row(1, { metadata: metadata({ ...extras(7), attribute: [{ tag: 'a', value: 'b' }] }) }),
      row(2, { metadata: metadata(extras(8)) }),
      row(3, { metadata: metadata({ ...extras(8), attribute: [] }) }),
      row(4, { metadata: metadata({ [KEY]: 'mine' }) }),
      row(5, { metadata: { ...metadata({}), file_fields: [{ key: KEY, url: 'https://x.example/a' }] } }),
    ]
    const error = await run(rows).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'invalid_manifest', details: { issue_count: 4 } })
    const { details } = error as { details: { issues: { place: { line: number } }[] } }
    expect(details.issues.map(({ place }) => place.line)).toEqual([3, 4, 5, 6])
    expect(server.attempts).toBe(0)
  })

  test.each(['title', 'file_fields', '__proto__', 'name', '', ' x'])('rejects the key %j', async (markerKey) => {
    await expect(run(rowsUpTo(1), { markerKey })).rejects.toMatchObject({
      code: 'usage',
      place: { flag: '--marker-key' },
    })
  })

  test('finds a row again after its NFT was transferred, among others with the same content', async () => {
    const cut = new FakeHostedApi({
      idempotency: false,
      now: machine.time.now,
      faultOf: (attempt) => (attempt === 1 ? { fault: 'cut_after' } : null),
    })
    server = cut
    await run([row(3), row(3, { line: 5 }), row(1)], { wait: false })
    const [first = '', second = ''] = cut.minted.keys()
    cut.move(first, '0x2222222222222222222222222222222222222222')
    cut.mintByOther(row(3).receiver, row(3).metadata)
    const summary = await run([row(3), row(3, { line: 5 }), row(1)])
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 3 } })
    expect(second).not.toBe('')
  })

  test('does not prevent a run without state from recognizing its minted rows', async () => {
    await run(rowsUpTo(2))
    await machine.stop()
    machine = await Machine.start()
    await expect(run(rowsUpTo(2))).rejects.toMatchObject({ code: 'seems_minted', details: { count: 2 } })
    server = new FakeHostedApi({ idempotency: false })
    for (const each of rowsUpTo(2)) server.mintByOther(each.receiver, each.metadata)
    await expect(run(rowsUpTo(2))).rejects.toMatchObject({ code: 'seems_minted', details: { count: 2 } })
  })
})
