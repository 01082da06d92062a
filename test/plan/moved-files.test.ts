import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dryRunBatch } from '../../src/batch/dry-run.ts'
import { runResults } from '../../src/batch/runs/run-rows.ts'
import { openRun, runStatus } from '../../src/batch/runs/runs.ts'
import { LocalContents } from '../../src/files/local-content.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { ALICE, Machine, row, Server } from './world.ts'

const SERVERS = [
  ['with reference IDs', true],
  ['without reference IDs', false],
] as const
const IDS = [
  ['with IDs', true],
  ['without IDs', false],
] as const
const IMAGE_NAMES = ['1/art.png', '2/art.png', '3.png']

/** A folder with the files of a manifest, on a machine. */
async function folder(server: Server) {
  const machine = await Machine.start(server)
  // As a backend of gdn, which returns the address of the content.
  machine.upload = async (path) => ({ url: (await new LocalContents().read(path)).url })
  const path = (name: string) => join(machine.stateDir, 'work', name)
  const put = async (name: string, text: string) => {
    await mkdir(dirname(path(name)), { recursive: true })
    await writeFile(path(name), text)
  }
  for (const name of IMAGE_NAMES) await put(`old/media/${name}`, name)
  await put('old/drop.csv', '')
  /** The rows of a manifest in a folder, with their files beside it. */
  const rowsIn = (place: string, hasIds: boolean, media = 'media'): ManifestRow[] =>
    IMAGE_NAMES.map((name, n) => ({
      ...row(String.fromCharCode(97 + n), ALICE, n === 2 ? 'C' : 'A'),
      id: hasIds ? String.fromCharCode(97 + n) : null,
      metadata: { title: n === 2 ? 'C' : 'A', description: '', file_fields: [{ key: 'image', url: '' }] },
      localFiles: [{ key: 'image', path: path(`${place}/${media}/${name}`) }],
    }))
  const at = (place: string) => ({ manifestPath: path(`${place}/drop.csv`) })
  const changesOf = async (rows: readonly ManifestRow[], place: string, more = {}) => {
    const readManifest = async function* () {
      for (const each of rows) yield { row: each }
    }
    const options = machine.options({ ...at(place), ...more })
    const { changes } = await dryRunBatch(options, { client: machine.client, readManifest, ...machine.time })
    return { added: changes.added, changed: changes.changed, kept: changes.keptAccepted, removed: changes.removed }
  }
  /** Expects that the run has each row once, and each NFT once. */
  const expectOnce = async (rows: number, place?: string) => {
    const manifest = place === undefined ? machine.options().manifestPath : at(place).manifestPath
    const run = await openRun(machine.stateDir, manifest ?? '')
    expect((await runStatus(run)).counts).toMatchObject({ deployed: rows, total: rows })
    const results: { nft_gdn_id: string | null }[] = []
    for await (const result of runResults(run)) results.push(result)
    expect(results.map(({ nft_gdn_id: id }) => id).sort()).toEqual(server.nfts.map(({ id }) => id).sort())
    expect(results).toHaveLength(rows)
  }
  return { machine, path, put, rowsIn, at, changesOf, expectOnce }
}

const NONE = { added: 0, changed: 0, kept: 0, removed: 0 }

const MOVES: Record<string, (path: (name: string) => string) => Promise<void>> = {
  'with its files': async (path) => await rename(path('old'), path('new')),
  'and its files were copied': async (path) => {
    await cp(path('old'), path('new'), { recursive: true })
    await rm(path('old/drop.csv'))
  },
  'and its files were copied and edited': async (path) => {
    await cp(path('old'), path('new'), { recursive: true })
    await rm(path('old/drop.csv'))
    await writeFile(path('new/media/3.png'), 'edited')
  },
}

describe.each(SERVERS)('on a server %s', (_server, isOurs) => {
  describe.each(IDS)('rows %s', (_ids, hasIds) => {
    const other = (id: string) => ({ ...row(id), id: hasIds ? id : null })

    test.each(Object.keys(MOVES))('are the same rows after the manifest was moved %s', async (move) => {
      const server = new Server({ isOurs })
      const { machine, path, rowsIn, at, changesOf, expectOnce } = await folder(server)
      await machine.mint(rowsIn('old', hasIds), at('old'))
      await MOVES[move]?.(path)
      const moved = rowsIn('new', hasIds)
      expect(await changesOf(moved, 'new', { adopt: true })).toEqual(NONE)
      await machine.mint(moved, { ...at('new'), adopt: true })
      await expectOnce(3, 'new')
      for (let repeated = 0; repeated < 2; repeated++) {
        const finished = { code: 'run_finished', details: { deployed: 3, kept_accepted: 0 } }
        await expect(machine.mint(moved, at('new'))).rejects.toMatchObject(finished)
      }
      const added = [...moved, other('d')]
      expect(await changesOf(added, 'new')).toEqual({ ...NONE, added: 1 })
      await machine.mint(added, at('new'))
      await expectOnce(4, 'new')
    })

    test.each(['first', 'later'])('are the same rows where their columns get another order (%s)', async (order) => {
      const server = new Server({ isOurs })
      const { machine, at, changesOf, expectOnce } = await folder(server)
      const rowsWith = (...tags: string[]) =>
        ['a', 'b'].map((id) => ({
          ...other(id),
          metadata: { ...row(id).metadata, attribute: tags.map((tag) => ({ tag, value: id })) },
        }))
      const [before, after] = [rowsWith('x', 'y'), rowsWith('y', 'x')]
      const [minted, moved] = order === 'first' ? [before, after] : [after, before]
      await machine.mint(minted, at('old'))
      expect(await changesOf([...moved, other('c')], 'old')).toEqual({ ...NONE, added: 1 })
      await machine.mint([...moved, other('c')], at('old'))
      await expectOnce(3, 'old')
      const finished = { code: 'run_finished', details: { deployed: 3, kept_accepted: 0 } }
      await expect(machine.mint([...moved, other('c')], at('old'))).rejects.toMatchObject(finished)
    })

    test('are the same rows where their files were copied to another folder', async () => {
      const server = new Server({ isOurs })
      const { machine, path, rowsIn, at, changesOf, expectOnce } = await folder(server)
      await machine.mint(rowsIn('old', hasIds), at('old'))
      await cp(path('old/media'), path('old/art'), { recursive: true })
      const moved = rowsIn('old', hasIds, 'art')
      await machine.mint([...moved, other('d')], at('old'))
      await expectOnce(4, 'old')
      expect(await changesOf([...moved, other('d'), other('e')], 'old')).toEqual({
        ...NONE,
        added: 1,
      })
    })
  })
})

test('counts no row as edited whose files were moved after its edit was applied', async () => {
  const { machine, path, rowsIn, expectOnce } = await folder(new Server())
  const edit = (rows: ManifestRow[]) => rows.map((each) => ({ ...each, metadata: { ...each.metadata, title: 'New' } }))
  await machine.mint(rowsIn('old', true))
  await machine.applyAndNote(edit(rowsIn('old', true)), ['update'])
  await cp(path('old/media'), path('old/art'), { recursive: true })
  const moved = edit(rowsIn('old', true, 'art'))
  for (let repeated = 0; repeated < 3; repeated++) {
    const finished = { code: 'run_finished', details: { deployed: 3, kept_accepted: 0 } }
    await expect(machine.mint(moved)).rejects.toMatchObject(finished)
  }
  await expectOnce(3)
})

test.each(SERVERS)(
  'refuses a copy of rows as they were sent after apply changed their NFTs, on a server %s',
  async (_, isOurs) => {
    const server = new Server({ isOurs })
    const { machine, rowsIn, put, at } = await folder(server)
    const edited = rowsIn('old', true).map((each) => ({ ...each, metadata: { ...each.metadata, title: 'New' } }))
    await machine.mint(rowsIn('old', true))
    await machine.applyAndNote(edited, ['update'])
    await put('copy/drop.csv', '')
    const copy = rowsIn('old', false).map((each, index) => ({ ...each, line: index + 2 }))
    await expect(machine.mint(copy, { ...at('copy'), lookup: false })).rejects.toMatchObject({
      code: 'already_accepted',
    })
    expect(server.nfts).toHaveLength(3)
  },
)

test.each(SERVERS)(
  'refuses a copy of rows as they were sent if columns were reordered after apply changed their NFTs, on a server %s',
  async (_, isOurs) => {
    const server = new Server({ isOurs })
    const { machine, put, at } = await folder(server)
    const traits = [
      { tag: 'color', value: 'red' },
      { tag: 'size', value: 'S' },
    ]
    const piece = (title: string, attribute: typeof traits, id: string | null = 'a') => {
      return { ...row('a'), id, metadata: { title, description: '', file_fields: [], attribute } }
    }
    await machine.mint([piece('A', traits)])
    await machine.applyAndNote([piece('A2', traits)], ['update'])
    const reordered = machine.mint([piece('A2', traits.toReversed())])
    await expect(reordered).rejects.toMatchObject({ code: 'run_finished' })
    await put('copy/drop.csv', '')
    for (const title of ['A', 'A2']) {
      const copied = machine.mint([piece(title, traits, null)], { ...at('copy'), lookup: false })
      await expect(copied).rejects.toMatchObject({ code: 'already_accepted' })
    }
    expect(server.nfts).toHaveLength(1)
  },
)

test('refuses a copy of rows with images that apply uploaded, after the images were replaced', async () => {
  const server = new Server({ isOurs: true })
  const { machine, rowsIn, put, path, at } = await folder(server)
  await machine.mint(rowsIn('old', true), at('old'))
  await put('old/media/3.png', 'version 2')
  await machine.applyAndNote(rowsIn('old', true), ['update'], at('old'))
  await cp(path('old'), path('copy'), { recursive: true })
  await put('old/media/3.png', 'version 3, of another size')
  const copied = machine.mint(rowsIn('copy', true).slice(2), { ...at('copy'), runName: 'q', lookup: false })
  await expect(copied).rejects.toMatchObject({ code: 'already_accepted' })
  expect(server.nfts).toHaveLength(3)
})

describe.each(SERVERS)('a row without an ID that got another file of the same name, on a server %s', (_, isOurs) => {
  async function edited() {
    const one = await folder(new Server({ isOurs }))
    const { machine, put, rowsIn, at } = one
    await machine.mint(rowsIn('old', false), at('old'))
    for (const name of IMAGE_NAMES) await put(`old/art/${name}`, name === '3.png' ? 'another' : name)
    return { ...one, rows: rowsIn('old', false, 'art') }
  }

  test('is refused as an edit', async () => {
    const { machine, at, rows, expectOnce } = await edited()
    await expect(machine.mint(rows, at('old'))).rejects.toMatchObject({
      code: 'edited_rows',
      details: { vanished: 1, new: 1 },
    })
    await expectOnce(3, 'old')
  })

  test.runIf(isOurs)('keeps its NFT with --adopt, and is counted as edited', async () => {
    const { machine, at, rows, changesOf, expectOnce } = await edited()
    const adopt = { adopt: true, newRows: true }
    expect(await changesOf(rows, 'old', adopt)).toEqual({ ...NONE, changed: 1, kept: 1 })
    await machine.mint(rows, { ...at('old'), ...adopt })
    await expectOnce(3, 'old')
    const finished = { code: 'run_finished', details: { deployed: 3, kept_accepted: 1 } }
    await expect(machine.mint(rows, at('old'))).rejects.toMatchObject(finished)
  })
})
