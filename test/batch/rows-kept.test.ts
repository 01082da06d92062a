/** @module-tag slow */
import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { splitRowText } from '../../src/batch/rows/row-text.ts'
import type { BatchOptions, PlannedEvent } from '../../src/batch/types.ts'
import { type ManifestOptions, readManifest } from '../../src/manifest/read.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { pngNamed } from '../helpers/images.ts'
import { runs } from '../helpers/runs.ts'
import { Machine } from './simulation.ts'
import { CONTRACT, RECEIVERS } from './simulation-rows.ts'

let machine: Machine
let manifest: string
let timesRead: number
beforeEach(async () => {
  machine = await Machine.start()
  manifest = join(machine.stateDir, 'drop.csv')
  timesRead = 0
})
afterEach(() => machine.stop())

const HEAD = 'title,description,receiver,id,sender,image'
const line = (number: number, changes: Partial<Record<'id' | 'sender' | 'image', string>> = {}) =>
  `#${number},of a drop,${RECEIVERS[number % 3]},${changes.id ?? ''},${changes.sender ?? ''},${changes.image ?? ''}`
const write = (lines: readonly string[]) => writeFile(manifest, `${[HEAD, ...lines].join('\n')}\n`)
const LINES = Array.from({ length: 12 }, (_, index) => line(index + 1, index % 4 === 0 ? { id: `row ${index}` } : {}))

/** A server that accepts this many requests, and is then unreachable. */
const takes = (requests: number) =>
  new FakeHostedApi({ idempotency: false, faultOf: (attempt) => (attempt > requests ? { fault: 'not_sent' } : null) })

function start(
  server: FakeHostedApi,
  changes: Partial<BatchOptions> = {},
  reading: Partial<ManifestOptions> | null = {},
) {
  const options: ManifestOptions = {
    blockchain: 'polygon',
    contractAddress: CONTRACT,
    localFiles: true,
  }
  return machine.run(
    server,
    null,
    { unreachableMs: 1, timeout: 1, lookup: false, ...changes },
    {
      readManifest:
        reading === null
          ? null
          : () => {
              const manifestReading = readManifest({ path: manifest }, { ...options, ...reading })
              const blocks = () => {
                timesRead++
                return manifestReading.blocks()
              }
              return {
                ...manifestReading,
                digest: manifestReading.digest,
                blocks,
                [Symbol.asyncIterator]: manifestReading[Symbol.asyncIterator],
              }
            },
    },
  )
}

const planned = () => machine.events.findLast((event): event is PlannedEvent => event.type === 'planned')
const titles = (...servers: FakeHostedApi[]) =>
  servers.flatMap((server) => server.bodies.flatMap(({ metadata }) => metadata.map(({ title }) => title)))
const ALL = LINES.map((_, index) => `#${index + 1}`)

/** Starts a run that has one accepted request. */
async function begin(lines: readonly string[] = LINES): Promise<FakeHostedApi> {
  await write(lines)
  const first = takes(1)
  await start(first, { inFlight: 1 })
  expect(timesRead).toBe(1)
  return first
}

describe('an unchanged manifest', () => {
  test('is not read again, and the stored rows are used', async () => {
    const first = await begin()
    const second = takes(99)
    await start(second)
    expect(timesRead).toBe(1)
    expect(planned()).toMatchObject({
      resumed: true,
      changes: { added: 0, changed: 0, removed: 0 },
      rows: { total: 12, pending: 9 },
    })
    expect(titles(first, second).sort()).toEqual([...ALL].sort())
  })

  test('is read again if options or content change its rows', async () => {
    const cases: [string, () => Promise<Partial<ManifestOptions>>][] = [
      [
        'another byte',
        async () => {
          await write([...LINES.slice(0, -1), line(99)])
          return {}
        },
      ],
      ['another receiver for rows without one', async () => ({ receiver: RECEIVERS[1] ?? null })],
      ['another sender', async () => ({ sender: RECEIVERS[1] ?? null })],
      ['unknown columns as extra keys', async () => ({ unknownColumns: 'extra' })],
      ['no local files', async () => ({ localFiles: false })],
    ]
    for (const [what, change] of cases) {
      await machine.stop()
      machine = await Machine.start()
      manifest = join(machine.stateDir, 'drop.csv')
      timesRead = 0
      await begin()
      await start(takes(0), { newRows: true }, await change())
      expect([what, timesRead]).toEqual([what, 2])
    }
  })

  test('is read again if a local file changed', async () => {
    const image = join(machine.stateDir, 'a.png')
    await writeFile(image, pngNamed('A'))
    await utimes(image, 1000, 1000)
    await begin([...LINES, line(13, { image: './a.png' })])
    await start(takes(0))
    expect(timesRead).toBe(1)
    await writeFile(image, pngNamed('B'))
    await start(takes(0))
    expect(timesRead).toBe(2)
    await rm(image)
    await expect(start(takes(0))).rejects.toMatchObject({ code: 'invalid_manifest' })
  })

  test('reports at every start a row whose content changed after it was sent', async () => {
    await begin([line(3, { id: 'a' }), line(6), line(9), line(1)])
    await write([line(30, { id: 'a' }), line(6), line(9), line(1)])
    await start(takes(0))
    await start(takes(0))
    expect(timesRead).toBe(2)
    expect(planned()?.changes).toMatchObject({ changed: 1, keptAccepted: 1 })
  })
})

test('resumes from the stored rows without a manifest, as batch resume does', async () => {
  const first = await begin()
  await rm(manifest)
  const second = takes(99)
  await start(second, {}, null)
  expect(titles(first, second).sort()).toEqual([...ALL].sort())
})

test('sends a row that took the place of one that was sent, however often the start is interrupted', async () => {
  const first = takes(99)
  await write([line(1), line(2), line(3)])
  await start(first)
  await write([line(1), line(2), line(4)])
  await start(takes(0), { newRows: true })
  for (const reading of [{}, null]) {
    await start(takes(0), {}, reading)
    expect(planned()?.rows).toMatchObject({ total: 4, pending: 1 })
  }
  const last = takes(99)
  await start(last)
  expect(titles(last)).toEqual(['#4'])
})

test('plans the same requests from stored rows and from the manifest, before and after rows were sent', async () => {
  const number = fc.integer({ min: 0, max: 3 })
  const rows = fc.array(fc.tuple(number, fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 14 })
  await fc.assert(
    fc.asyncProperty(rows, fc.nat({ max: 4 }), fc.boolean(), async (given, taken, inOrder) => {
      const lines = given.map(([number, hasId, hasSender], index) =>
        line(number, {
          ...(hasId ? { id: `i${index}` } : {}),
          ...(hasSender ? { sender: RECEIVERS[number % 2] ?? '' } : {}),
        }),
      )
      const sent: unknown[] = []
      for (const isRead of [false, true]) {
        await machine.stop()
        machine = await Machine.start()
        manifest = join(machine.stateDir, 'drop.csv')
        timesRead = 0
        await write(lines)
        await start(takes(taken), { inFlight: 1, inOrder })
        if (isRead) await machine.state((sql) => sql.run('UPDATE drops SET fingerprint = NULL'))
        const second = takes(99)
        await start(second, { inFlight: 1, inOrder }).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'run_finished' })
        })
        expect(timesRead).toBe(isRead ? 2 : 1)
        sent.push([second.bodies, { ...planned(), run: null }])
      }
      expect(sent[0]).toEqual(sent[1])
    }),
    { numRuns: runs(25) },
  )
})

test('sends each row once if rows move to other lines between the starts', async () => {
  const row = fc.record({
    number: fc.integer({ min: 0, max: 3 }),
    hasId: fc.boolean(),
    place: fc.nat(),
    gap: fc.nat(1),
  })
  const rows = fc.array(row, { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(rows, fc.nat({ max: 3 }), fc.nat({ max: 3 }), async (given, taken, takenLater) => {
      await machine.stop()
      machine = await Machine.start()
      manifest = join(machine.stateDir, 'drop.csv')
      const lines = given.map(({ number, hasId }, index) => line(number, hasId ? { id: `i${index}` } : {}))
      const moved = lines
        .map((text, index) => ({ text, ...given[index] }))
        .sort((a, b) => (a.place ?? 0) - (b.place ?? 0))
        .flatMap(({ text, gap }) => (gap === 0 ? [text] : ['', text]))
      const servers: FakeHostedApi[] = []
      for (const [order, requests] of [
        [lines, taken],
        [moved, takenLater],
        [moved, 99],
      ] as const) {
        const server = takes(requests)
        servers.push(server)
        await write(order)
        await start(server, { inFlight: 1 }).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'run_finished' })
        })
      }
      expect(titles(...servers).sort()).toEqual(given.map(({ number }) => `#${number}`).sort())
    }),
    { numRuns: runs(25) },
  )
})

describe('stored rows', () => {
  test('are only those of the last start', async () => {
    await begin()
    await write(LINES.slice(0, 11))
    await start(takes(99))
    const sets = await machine.state((sql) => sql.all<{ n: number }>('SELECT count(*) AS n FROM rows GROUP BY set_id'))
    expect(sets).toEqual([{ n: 11 }])
  })

  test('are in the order of the manifest if they need several transactions', async () => {
    const long = 'x'.repeat(2_000)
    const lines = Array.from({ length: 2_500 }, (_, index) => line(index).replace('of a drop', long))
    await begin(lines)
    const rows = await machine.state((sql) =>
      sql.all<{ position: number; body: Uint8Array }>('SELECT position, body FROM rows ORDER BY position'),
    )
    expect(rows.map(({ position, body }) => `${position} ${splitRowText(body)[2]}`)).toEqual(
      lines.map((_, index) => `${index} #${index}`),
    )
  })

  test('are never sent after a changed bit: the run stops, and the next start reads the manifest', async () => {
    const first = await begin()
    const rows = await machine.state((sql) =>
      sql.all<{ position: number; body: Uint8Array }>('SELECT position, body FROM rows'),
    )
    const setBody = (position: number, body: Uint8Array) =>
      machine.state((sql) => sql.run('UPDATE rows SET body = ? WHERE position = ?', body, position))
    const last = rows.at(-1)
    const whole = Buffer.from(last?.body ?? [])
    for (let at = 0; at < whole.length; at += 5) {
      const flipped = Buffer.from(whole)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      await setBody(last?.position ?? 0, flipped)
      const results = machine.run(takes(0), null, { ...machine.options(), lookup: false, chunkSize: 99 })
      await expect(results, `byte ${at}`).rejects.toMatchObject({ code: 'data_dir' })
    }
    await machine.state((sql) => sql.run('UPDATE drops SET fingerprint = NULL'))
    const second = takes(99)
    await start(second)
    expect(titles(first, second).sort()).toEqual([...ALL].sort())
  })
})
