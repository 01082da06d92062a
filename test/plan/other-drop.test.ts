import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { dryRunBatch } from '../../src/batch/dry-run.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { ALICE, Machine, row, Server } from './world.ts'

const IDS = ['a', 'b', 'c', 'd', 'e', 'f']
/** Rows with the same IDs in each drop. */
const drop = (name: string, ids = IDS): ManifestRow[] =>
  ids.map((id) => {
    const one = row(id, ALICE, `${name} ${id}`)
    return { ...one, metadata: { ...one.metadata, description: name } }
  })
const [JAN, FEB] = [{ manifestPath: '/jan/drop.csv' }, { manifestPath: '/feb/drop.csv' }]

let server: Server
let machine: Machine
beforeEach(async () => {
  server = new Server()
  machine = await Machine.start(server)
  await machine.mint(drop('January'), JAN)
})

describe('a manifest with the file name of another drop, on a machine that minted neither', () => {
  test.each(['plan', 'apply'] as const)('is stopped by %s, which changes nothing', async (command) => {
    const other = await Machine.start(server)
    await expect(other[command](drop('February'), FEB)).rejects.toMatchObject({
      code: 'seems_minted',
      exitCode: 9,
      message: '6 of 6 NFTs that match rows by ID have a different title and different content',
      hint: expect.stringMatching(/add --run <name>[\s\S]*add --adopt/),
      details: { count: 6 },
    })
    expect(server.titles).toEqual(drop('January').map(({ metadata }) => metadata.title))
  })

  test('is planned with --adopt, and as a drop of its own with --run', async () => {
    const other = await Machine.start(server)
    expect((await other.plan(drop('February'), { ...FEB, adopt: true })).counts).toMatchObject({ update: 6 })
    expect((await other.plan(drop('February'), { ...FEB, runName: 'feb' })).counts).toMatchObject({ mint: 6 })
  })

  test('has a note if only some rows are others', async () => {
    const other = await Machine.start(server)
    const rows = [...drop('January', ['a', 'b', 'c']), ...drop('February', ['d', 'e', 'f'])]
    const { counts, notes } = await other.plan(rows, FEB)
    expect(counts).toMatchObject({ update: 3 })
    expect(notes).toEqual([expect.stringMatching(/^3 of 6 NFTs .* add --run <name>$/)])
  })

  test('is planned with a note if its label is that of the NFTs', async () => {
    server.label('drop.csv')
    const other = await Machine.start(server)
    const { notes, counts } = await other.plan(drop('February'), { ...FEB, label: 'drop.csv' })
    expect(counts).toMatchObject({ update: 6 })
    expect(notes).toEqual([expect.stringMatching(/^6 of 6 NFTs .* add --run <name>$/)])
  })

  test('is planned on the machine that minted it, however much was edited', async () => {
    expect((await machine.plan(drop('February'), JAN)).counts).toMatchObject({ update: 6 })
  })
})

describe('a manifest that was renamed and edited since its mint', () => {
  const rows = drop('Edited').map((one) => ({ ...one, id: null }))
  const renamed = { manifestPath: '/jan/drop-v2.csv' }

  const notesOfMint = async (on: Machine) => {
    const readManifest = async function* () {
      for (const one of rows) yield { row: one }
    }
    return (await dryRunBatch(on.options(renamed), { client: on.client, readManifest, ...on.time })).notes
  }

  test('has a note that names its run where it was minted', async () => {
    const note = expect.stringMatching(
      /^The manifest of the run drop-\w+ no longer exists: \/jan\/drop.csv. .* add --run drop.csv --adopt$/,
    )
    expect((await machine.plan(rows, renamed)).notes).toEqual([note])
    expect(await notesOfMint(machine)).toEqual([note])
  })

  test('has no such note while the other manifest is there', async () => {
    const manifestPath = join(machine.stateDir, 'other.csv')
    await writeFile(manifestPath, '')
    server = new Server()
    const other = await Machine.start(server)
    await other.mint(drop('January'), { manifestPath })
    expect((await other.plan(rows, renamed)).notes).toEqual([])
    await rm(manifestPath)
    expect((await other.plan(rows, renamed)).notes).toHaveLength(1)
  })

  test('has a note on NFTs without a row on another machine', async () => {
    const note = expect.stringMatching(
      /^The collection has 6 NFTs without a row in this manifest. .* add --run <former file name>$/,
    )
    const other = await Machine.start(server)
    const names = expect.stringMatching(/^Without a row: \S+ \("\w+[^"]*", token \d+\), .*, and 1 more$/)
    expect((await other.plan(rows, renamed)).notes).toEqual([note, names])
    expect(await notesOfMint(other)).toEqual([note])
  })
})
