import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dryRunBatch } from '../../src/batch/dry-run.ts'
import { listRuns, openRun, runStatus } from '../../src/batch/runs/runs.ts'
import type { GdnError } from '../../src/core/errors.ts'
import { LocalContents } from '../../src/files/local-content.ts'
import { LISTING_LAG_MS } from '../../src/operations/reconcile/listing.ts'
import type { PlanOptions } from '../../src/plan/planned.ts'
import { ALICE, Machine, row, Server } from './world.ts'

let server: Server
let machine: Machine
const machines: Machine[] = []
const start = async () => {
  const started = await Machine.start(server)
  machines.push(started)
  return started
}
beforeEach(async () => {
  server = new Server()
  machine = await start()
})
afterEach(async () => {
  for (const each of machines.splice(0)) await each.stop()
})

const titles = () => server.nfts.map(({ metadata }) => (metadata as { title: string }).title)
const ROWS = [row('a', ALICE, 'A'), row('b', ALICE, 'B'), row('c', ALICE, 'C')]
const EDITED = [row('a', ALICE, 'A!'), ...ROWS.slice(1)]

/** A manifest in the folder of the machine, and how it is used. */
const at = (name: string): Partial<PlanOptions> & { manifestPath: string } => ({
  manifestPath: join(machine.stateDir, name),
  label: name,
})
const write = async ({ manifestPath }: { manifestPath: string }) => {
  await mkdir(dirname(manifestPath), { recursive: true })
  await writeFile(manifestPath, '')
}
const move = async (from: { manifestPath: string }, to: { manifestPath: string }) => {
  await mkdir(dirname(to.manifestPath), { recursive: true })
  await rename(from.manifestPath, to.manifestPath)
}

/** Mints the rows from mar/drop.csv, and moves that to maerz/drop.csv. */
async function moved() {
  const [mar, maerz] = [at('mar/drop.csv'), at('maerz/drop.csv')]
  await write(mar)
  await machine.mint(ROWS, mar)
  await move(mar, maerz)
  const [run] = await listRuns(machine.stateDir)
  return { mar, maerz, run: run?.id ?? '' }
}

/** The commands that adopt. */
const ADOPTING = {
  apply: async (options: Partial<PlanOptions>) => await machine.apply(EDITED, options),
  mint: async (options: Partial<PlanOptions>) => await machine.mint(ROWS, options),
}

describe('a manifest that was moved on the machine that minted it', () => {
  test.each(['plan', 'mint', 'apply'] as const)('is stopped by %s, which names --adopt', async (command) => {
    const { maerz } = await moved()
    await expect(machine[command](EDITED, maerz)).rejects.toMatchObject({
      code: 'already_accepted',
      hint: expect.stringContaining('If this manifest was moved, add --adopt.'),
    })
  })

  test.each(Object.entries(ADOPTING))('keeps its run with %s --adopt, under its new path', async (command, adopt) => {
    const { mar, maerz, run } = await moved()
    await adopt({ ...maerz, adopt: true })
    expect(server.labels).toEqual(Array(3).fill('maerz/drop.csv'))
    expect(titles()).toEqual([command === 'apply' ? 'A!' : 'A', 'B', 'C'])
    const found = await openRun(machine.stateDir, maerz.manifestPath)
    expect(found).toMatchObject({ id: run, manifestPath: maerz.manifestPath })
    expect((await runStatus(found)).counts).toMatchObject({ deployed: 3, total: 3 })
    await expect(openRun(machine.stateDir, mar.manifestPath)).rejects.toMatchObject({ code: 'not_found_locally' })
    // It is used without the flag from now on, on every machine.
    const rows = [...EDITED, row('d', ALICE, 'D')]
    await machine.mint(rows, { ...maerz, keepEdited: true })
    await machine.apply(rows, maerz)
    for (const each of [machine, await start()]) {
      expect((await each.plan(rows, maerz)).counts).toMatchObject({ unchanged: 4 })
    }
    expect(titles()).toEqual(['A!', 'B', 'C', 'D'])
    expect(await listRuns(machine.stateDir)).toHaveLength(1)
  })

  test('is planned with --adopt as its run, which stays as it is', async () => {
    const { mar, maerz } = await moved()
    const { changes, notes } = await machine.plan(EDITED, { ...maerz, adopt: true })
    expect(changes).toEqual(['update update a: title A → A!'])
    expect(notes.join('\n')).toContain(`The manifest was moved from ${mar.manifestPath}. gdn apply stores the new path`)
    expect(server.labels).toEqual(Array(3).fill('mar/drop.csv'))
    expect(await openRun(machine.stateDir, mar.manifestPath)).toBeDefined()
  })

  test('is planned without a difference, and the plan names the run that may be its own', async () => {
    const { mar, maerz } = await moved()
    const { counts, notes } = await machine.plan(ROWS, maerz)
    expect(counts).toMatchObject({ unchanged: 3 })
    expect(notes).toEqual([
      expect.stringMatching(
        `^The manifest of the run drop-.* no longer exists: ${mar.manifestPath}. If it was moved here, `,
      ),
    ])
  })

  test('is planned for another collection with a note that names the collection of its run', async () => {
    const { mar, maerz } = await moved()
    const elsewhere = { ...maerz, adopt: true, contractAddress: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' } as const
    const { notes } = await machine.plan(ROWS, elsewhere)
    expect(notes.join('\n')).toContain(
      `no longer exists: ${mar.manifestPath}. The run is in another collection. If the manifest was moved to this path, use -c 0x`,
    )
  })

  test('is said by a dry run to keep its run', async () => {
    const { maerz } = await moved()
    const readManifest = async function* () {
      for (const each of ROWS) yield { row: each }
    }
    const options = machine.options({ ...maerz, adopt: true })
    const { notes } = await dryRunBatch(options, { client: machine.client, readManifest, ...machine.time })
    expect(notes).toEqual([
      expect.stringMatching(/^The run drop-.* continues with its manifest, which was moved from .*mar\/drop\.csv$/),
    ])
    expect(server.labels).toEqual(Array(3).fill('mar/drop.csv'))
  })

  test('leaves its earlier path to another drop', async () => {
    const { mar, maerz, run } = await moved()
    await machine.mint(ROWS, { ...maerz, adopt: true })
    await write(mar)
    await machine.mint([row('x', ALICE, 'X')], mar)
    expect(await openRun(machine.stateDir, maerz.manifestPath)).toMatchObject({ id: run })
    const other = await openRun(machine.stateDir, mar.manifestPath)
    expect(other.id).not.toBe(run)
    expect((await runStatus(await openRun(machine.stateDir, run))).counts.deployed).toBe(3)
    expect(titles()).toEqual(['A', 'B', 'C', 'X'])
  })

  test('keeps all drops of its run', async () => {
    const [mar, maerz] = [at('mar/drop.csv'), at('maerz/drop.csv')]
    await machine.mint(ROWS, mar)
    await machine.mint(ROWS, { ...mar, again: true })
    await machine.mint(ROWS, { ...maerz, adopt: true })
    const runs = await listRuns(machine.stateDir)
    expect(runs.map(({ manifestPath, generation }) => [manifestPath, generation])).toEqual([
      [maerz.manifestPath, 2],
      [maerz.manifestPath, 1],
    ])
    expect(new Set(runs.map(({ family }) => family)).size).toBe(1)
    expect(titles()).toHaveLength(6)
  })

  test('is adopted by the same command after an interruption', async () => {
    const { maerz, run } = await moved()
    server.onRequest = (endpoint) => {
      if (endpoint === 'relabelreferences') throw new Error('killed')
      return undefined
    }
    await expect(machine.mint(ROWS, { ...maerz, adopt: true })).rejects.toThrow()
    server.onRequest = () => undefined
    await machine.mint(ROWS, { ...maerz, adopt: true })
    expect(await openRun(machine.stateDir, maerz.manifestPath)).toMatchObject({ id: run })
  })

  test('a manifest that was moved and renamed is adopted with its earlier name, as the error says', async () => {
    const [drop, later] = [at('drop.csv'), at('later.csv')]
    await machine.mint(ROWS, drop)
    await expect(machine.mint(EDITED, later)).rejects.toMatchObject({
      hint: expect.stringContaining('If this manifest was renamed, add --run drop.csv --adopt.'),
    })
    const named = { manifestPath: later.manifestPath, runName: 'drop.csv', label: 'drop.csv' }
    await machine.apply(EDITED, { ...named, adopt: true })
    for (const each of [machine, await start()]) {
      expect((await each.plan(EDITED, named)).counts).toMatchObject({ unchanged: 3 })
    }
    expect(await listRuns(machine.stateDir)).toMatchObject([{ runName: 'drop.csv', manifestPath: later.manifestPath }])
  })

  test('is adopted without waiting for the listing where the server has reference IDs', async () => {
    const { maerz } = await moved()
    const began = machine.time.now()
    await machine.mint([...ROWS, row('d', ALICE, 'D')], { ...maerz, adopt: true })
    expect(machine.time.now() - began).toBeLessThan(LISTING_LAG_MS)
    expect(titles()).toEqual(['A', 'B', 'C', 'D'])
  })

  const withFiles = ({ manifestPath }: { manifestPath: string }, names = ['A', 'B', 'B']) =>
    names.map((title, n) => ({
      ...row(String.fromCharCode(97 + n), ALICE, title),
      metadata: { title, description: '', file_fields: [{ key: 'image', url: '' }] },
      localFiles: [{ key: 'image', path: join(dirname(manifestPath), `${n}.png`) }],
    }))

  test('counts no row as changed because its files were moved with it', async () => {
    const [mar, maerz] = [at('mar/drop.csv'), at('maerz/drop.csv')]
    machine.upload = async (path) => ({ url: (await new LocalContents().read(path)).url })
    await write(mar)
    for (const n of [0, 1, 2]) await writeFile(join(dirname(mar.manifestPath), `${n}.png`), `${n}`)
    await machine.mint(withFiles(mar), mar)
    await rename(dirname(mar.manifestPath), dirname(maerz.manifestPath))
    const changesOf = async (rows: ReturnType<typeof withFiles>, more: Partial<PlanOptions> = {}) => {
      const readManifest = async function* () {
        for (const each of rows) yield { row: each }
      }
      const options = machine.options({ ...maerz, ...more })
      return (await dryRunBatch(options, { client: machine.client, readManifest, ...machine.time })).changes
    }
    expect(await changesOf(withFiles(maerz), { adopt: true })).toMatchObject({ changed: 0, examples: [] })
    await machine.mint(withFiles(maerz), { ...maerz, adopt: true })
    // The new paths are stored: other files at the old ones count as an edit.
    const finished = { code: 'run_finished', details: { kept_accepted: 0 } }
    await expect(machine.mint(withFiles(maerz), maerz)).rejects.toMatchObject(finished)
    await mkdir(dirname(mar.manifestPath))
    expect(await changesOf([...withFiles(maerz, ['A', 'B!', 'B']), row('d', ALICE, 'D')])).toMatchObject({
      ...{ added: 1, changed: 1, keptAccepted: 1 },
      examples: [{ kind: 'changed', key: 'b' }, { kind: 'added' }],
    })
    for (const n of [0, 1, 2]) await writeFile(join(dirname(mar.manifestPath), `${n}.png`), n === 0 ? '0' : 'other')
    expect(await changesOf([...withFiles(mar), row('d', ALICE, 'D')])).toMatchObject({ changed: 2 })
  })

  test('keeps rows without an ID whose files were moved with it', async () => {
    const [mar, maerz] = [at('mar/drop.csv'), at('maerz/drop.csv')]
    const rowsIn = (manifest: { manifestPath: string }) => withFiles(manifest).map((each) => ({ ...each, id: null }))
    // As a backend of gdn, which returns the address of the content.
    machine.upload = async (path) => ({ url: (await new LocalContents().read(path)).url })
    await write(mar)
    for (const n of [0, 1, 2]) await writeFile(join(dirname(mar.manifestPath), `${n}.png`), `${n}`)
    await machine.mint(rowsIn(mar), mar)
    await rename(dirname(mar.manifestPath), dirname(maerz.manifestPath))
    expect((await machine.plan(rowsIn(maerz), { ...maerz, adopt: true })).notes).toEqual([
      expect.stringContaining('was moved from'),
      expect.stringContaining('3 NFTs have the label'),
    ])
    await machine.mint(rowsIn(maerz), { ...maerz, adopt: true })
    expect(titles()).toEqual(['A', 'B', 'B'])
    await expect(machine.mint(rowsIn(maerz), maerz)).rejects.toMatchObject({ code: 'run_finished' })
  })
})

describe('a manifest that was renamed and taken over with --run', () => {
  test.each(['plan', 'mint', 'apply'] as const)(
    'is found with that name, which %s without it names',
    async (command) => {
      const [birds, renamed] = [at('birds.csv'), at('renamed.csv')]
      await write(birds)
      await machine.mint(ROWS, birds)
      await move(birds, renamed)
      await machine.mint(EDITED, { ...renamed, runName: 'birds.csv', adopt: true })
      await expect(machine[command](ROWS, renamed)).rejects.toMatchObject({
        code: 'already_accepted',
        hint: expect.stringContaining('To use the run of this manifest, add --run birds.csv.'),
      })
      const found = await openRun(machine.stateDir, renamed.manifestPath)
      expect(found).toMatchObject({ runName: 'birds.csv', manifestPath: renamed.manifestPath })
    },
  )

  test('is found by its path before a run of another manifest that has this path as its name', async () => {
    const [one, two] = [at('one.csv'), at('two.csv')]
    for (const each of [one, two]) await write(each)
    await machine.mint([ROWS[0] as (typeof ROWS)[0]], one)
    await machine.mint([ROWS[1] as (typeof ROWS)[0]], { ...two, runName: one.manifestPath })
    expect(await openRun(machine.stateDir, one.manifestPath)).toMatchObject({ manifestPath: one.manifestPath })
  })
})

describe('a folder with two runs that was moved', () => {
  const [janRows, febRows] = [ROWS, [row('a', ALICE, 'Feb A'), row('b', ALICE, 'Feb B')]]
  /** Mints jan/drop.csv, and feb/drop.csv with --run feb, and moves both. */
  async function movedBoth() {
    const [jan, feb] = [at('old/jan/drop.csv'), { ...at('old/feb/drop.csv'), runName: 'feb', label: 'feb' }]
    for (const each of [jan, feb]) await write(each)
    await machine.mint(janRows, jan)
    await machine.mint(febRows, feb)
    await rename(join(machine.stateDir, 'old'), join(machine.stateDir, 'new'))
    return { jan: at('new/jan/drop.csv'), feb: at('new/feb/drop.csv') }
  }

  test.each(['plan', 'mint', 'apply'] as const)(
    'is not taken for the other by %s, which names the run whose path is most alike',
    async (command) => {
      const { feb } = await movedBoth()
      for (const adopt of [false, true]) {
        const error = await machine[command](febRows, { ...feb, adopt }).then(
          () => null,
          (reason: unknown) => reason as GdnError,
        )
        expect(error).toMatchObject({ code: 'already_accepted' })
        expect(error?.hint).toContain('If this manifest was moved, add --run feb.')
        expect(error?.hint).not.toContain('--adopt')
      }
      expect(titles()).toEqual(['A', 'B', 'C', 'Feb A', 'Feb B'])
    },
  )

  test('follows its manifest with its name alone, and with --adopt without one', async () => {
    const { jan, feb } = await movedBoth()
    const named = { ...feb, runName: 'feb', label: 'feb' }
    expect((await machine.plan(febRows, named)).notes.join()).toContain('The manifest was moved from')
    await machine.apply(febRows, named)
    expect(await openRun(machine.stateDir, feb.manifestPath)).toMatchObject({ runName: 'feb' })
    expect((await machine.plan(janRows, { ...jan, adopt: true })).counts).toMatchObject({ unchanged: 3 })
    await machine.apply(janRows, { ...jan, adopt: true })
    expect(await openRun(machine.stateDir, jan.manifestPath)).toMatchObject({ runName: null })
    expect(titles()).toEqual(['A', 'B', 'C', 'Feb A', 'Feb B'])
  })

  test('has to be chosen by name where the paths tell nothing', async () => {
    await movedBoth()
    const other = { ...at('else/drop.csv'), adopt: true }
    await expect(machine.mint(janRows, other)).rejects.toMatchObject({
      code: 'usage',
      hint: 'Nothing was sent. Choose one: add --run drop.csv or --run feb.',
    })
    await machine.mint(janRows, { ...other, runName: 'drop.csv', label: 'drop.csv' })
    expect(await openRun(machine.stateDir, other.manifestPath)).toMatchObject({ runName: 'drop.csv' })
    expect(titles()).toEqual(['A', 'B', 'C', 'Feb A', 'Feb B'])
  })
})

describe('a copy of a manifest', () => {
  test.each(['plan', 'mint', 'apply'] as const)('takes over no run by %s --adopt', async (command) => {
    const [mar, maerz] = [at('mar/drop.csv'), at('maerz/drop.csv')]
    await write(mar)
    await machine.mint(ROWS, mar)
    for (const adopt of [false, true]) {
      await expect(machine[command](EDITED, { ...maerz, adopt })).rejects.toMatchObject({
        code: 'already_accepted',
        hint: expect.stringContaining(
          `The run of ${mar.manifestPath} can't use this manifest, because the manifest of the run still exists.`,
        ),
      })
    }
    expect(server.labels).toEqual(Array(3).fill('mar/drop.csv'))
  })
})

describe('manifests of several runs that are gone', () => {
  const [jan, feb] = [() => at('jan/drop.csv'), () => at('feb/drop.csv')]
  const others = [row('x', ALICE, 'X')]

  test('are told apart by the end of their paths', async () => {
    await machine.mint(ROWS, jan())
    await machine.mint(others, feb())
    await machine.mint(others, { ...at('archive/feb/drop.csv'), adopt: true })
    await machine.mint(ROWS, { ...at('archive/jan/drop.csv'), adopt: true })
    const runs = await listRuns(machine.stateDir)
    expect(runs.map(({ manifestPath }) => basename(dirname(manifestPath ?? '')))).toEqual(['feb', 'jan'])
    expect(titles()).toEqual(['A', 'B', 'C', 'X'])
  })

  test('are all named where that decides nothing', async () => {
    await machine.mint(ROWS, jan())
    await write(feb())
    await machine.mint(others, feb())
    await rm(feb().manifestPath)
    for (const command of ['plan', 'mint'] as const) {
      await expect(machine[command](ROWS, { ...at('new/drop.csv'), adopt: true })).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringMatching(
          /^the manifests of several runs no longer exist.*\n.*jan\/drop\.csv\)\n.*feb\/drop\.csv\)$/,
        ),
      })
    }
  })
})
