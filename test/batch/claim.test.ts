import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dryRunBatch } from '../../src/batch/dry-run.ts'
import { removeRun } from '../../src/batch/runs/remove-run.ts'
import { listRuns, openRun } from '../../src/batch/runs/runs.ts'
import type { BatchClient, BatchPacer, BatchSummary } from '../../src/batch/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { FakeHostedApi, type FakeOptions } from '../helpers/fake-hosted-api.ts'
import { gate } from '../helpers/gate.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { Machine } from './simulation.ts'
import { CONTRACT, row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const A = { manifestPath: '/a/drop.csv' }
const B = { manifestPath: '/b/drop.csv' }

const serverOf = (options: Partial<FakeOptions> = {}) =>
  new FakeHostedApi({ idempotency: false, now: machine.time.now, ...options })

/** A pacer that stops the first request at the gate, before or after it is recorded in the state. */
const pacerAt = ({ pass }: { pass(): Promise<void> }): BatchPacer => ({
  async take() {
    await pass()
    return { done: () => {} }
  },
  hold: () => {},
})

/** A pacer that never lets a request leave, so that the run ends as a killed one would. */
const stopped: BatchPacer = {
  take: () => Promise.reject(new GdnError('interrupted', 'interrupted')),
  hold: () => {},
}

const most = (server: FakeHostedApi) => Math.max(0, ...server.countsByTitle().values())

describe('two runs with the same rows in one collection', () => {
  test('mint each row once if both wait at their prompts', async () => {
    const server = serverOf()
    const [first, second] = [gate(), gate()]
    const runs = [
      machine.run(server, rowsUpTo(9), A, { confirm: first.pass }),
      machine.run(server, rowsUpTo(9), B, { confirm: second.pass }),
    ]
    await Promise.all([first.reached, second.reached])
    first.open()
    second.open()
    const ends = await Promise.allSettled(runs)
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(ends.find((end) => end.status === 'rejected')?.reason).toMatchObject({
      code: 'already_accepted',
      exitCode: 2,
      details: { count: 9 },
    })
    expect({ most: most(server), minted: server.minted.size }).toEqual({ most: 1, minted: 9 })
    expect(await listRuns(machine.stateDir)).toHaveLength(1)
  })

  describe('with the same IDs, of which one has a name', () => {
    const idsOf = (...numbers: number[]) => numbers.map((number, index) => row(number, { id: String(index) }))
    const manifest = async (name: string) => {
      const manifestPath = join(machine.stateDir, name)
      await writeFile(manifestPath, '')
      return { manifestPath }
    }
    const pairs: [string, object, object][] = [
      ['the first', { runName: 'jan' }, {}],
      ['the second', {}, { runName: 'feb' }],
      ['both', { runName: 'jan' }, { runName: 'feb' }],
    ]

    test.each(pairs)('mint the rows of both manifests, resume and add rows: %s', async (_, first, second) => {
      const server = serverOf()
      const jan = { ...(await manifest('jan.csv')), ...first }
      const feb = { ...(await manifest('feb.csv')), ...second }
      await machine.run(server, idsOf(1, 2), jan)
      await machine.run(server, idsOf(4, 5), feb, { pacer: stopped }).catch(() => {})
      await machine.run(server, idsOf(1, 2, 3), jan)
      await rm(jan.manifestPath)
      await machine.run(server, idsOf(4, 5, 6), feb)
      await machine.run(server, idsOf(1, 2, 3, 7), jan)
      expect({ most: most(server), minted: server.minted.size }).toEqual({ most: 1, minted: 7 })
    })

    test.each(pairs)('reject a row with the same ID and content: %s', async (_, first, second) => {
      const server = serverOf()
      await machine.run(server, idsOf(1, 2), { ...(await manifest('jan.csv')), ...first })
      const feb = { ...(await manifest('feb.csv')), ...second }
      const refusal = { code: 'already_accepted', details: { count: 1, rows: [{ key: '1' }] } }
      await expect(machine.run(server, idsOf(4, 2), feb)).rejects.toMatchObject(refusal)
      await machine.run(server, idsOf(4, 2), { ...feb, again: true })
      expect(server.minted.size).toBe(4)
    })

    test('reject rows of the same manifest, or of one that is gone, with any content', async () => {
      const server = serverOf()
      const jan = await manifest('jan.csv')
      await machine.run(server, idsOf(1, 2), jan)
      const refusal = { code: 'already_accepted', details: { count: 2 } }
      await expect(machine.run(server, idsOf(4, 5), { ...jan, runName: 'feb' })).rejects.toMatchObject(refusal)
      await rename(jan.manifestPath, join(machine.stateDir, 'feb.csv'))
      const feb = { ...(await manifest('feb.csv')), runName: 'feb' }
      await expect(machine.run(server, idsOf(4, 5), feb)).rejects.toMatchObject(refusal)
    })

    test('say that a name is not enough if the other manifest is gone, and mint with --again', async () => {
      const server = serverOf()
      const jan = await manifest('jan.csv')
      await machine.run(server, idsOf(1, 2), jan)
      await rm(jan.manifestPath)
      const feb = await manifest('feb.csv')
      const hint = expect.stringMatching(
        /^If this manifest is another drop, run `gdn batch mint` with --again\. --run <name> alone is not enough, .*jan\.csv$/m,
      )
      for (const options of [feb, { ...feb, runName: 'feb' }]) {
        await expect(machine.run(server, idsOf(4, 5), options)).rejects.toMatchObject({ hint })
      }
      await machine.run(server, idsOf(4, 5), { ...feb, again: true })
      expect({ most: most(server), minted: server.minted.size }).toEqual({ most: 1, minted: 4 })
    })

    test('reject rows with the same IDs as a manifest of another name if neither run has a name', async () => {
      const server = serverOf()
      await machine.run(server, idsOf(1), await manifest('jan.csv'))
      const feb = machine.run(server, idsOf(4), await manifest('feb.csv'))
      const hint = expect.stringMatching(/drop, add --run <name>\. gdn then mints every row whose content differs/)
      await expect(feb).rejects.toMatchObject({ code: 'already_accepted', hint })
    })
  })

  test('say how to mint another drop with the same IDs where the manifest is another file', async () => {
    const server = serverOf()
    const jan = { manifestPath: join(machine.stateDir, 'jan.csv') }
    await writeFile(jan.manifestPath, '')
    await machine.run(server, rowsUpTo(2), jan)
    const other =
      /^If this manifest is another drop, run `gdn batch mint` with --run <name> --again to mint them a second time\.\nIf this manifest is another edition of \S*jan\.csv, use only one of the two manifests\. To continue with that one, run `gdn plan \S*jan\.csv --contract 0x\w+ --blockchain \w+`\.$/m
    await expect(machine.run(server, rowsUpTo(2), B)).rejects.toMatchObject({ hint: expect.stringMatching(other) })
    await expect(machine.run(server, rowsUpTo(2), { ...jan, runName: 'feb' })).rejects.toMatchObject({
      hint: expect.stringMatching(/^To mint them a second time, run `gdn batch mint` with --again\.$/m),
    })
  })

  test('say that --again repeats their shared rows, and how to mint only the other ones', async () => {
    const server = serverOf()
    const jan = { manifestPath: join(machine.stateDir, 'jan.csv') }
    await writeFile(jan.manifestPath, '')
    await machine.run(server, rowsUpTo(2), jan)
    const more = machine.run(server, rowsUpTo(4), B)
    await expect(more).rejects.toMatchObject({
      hint: expect.stringMatching(
        /^To mint only the other 2 rows, remove these rows from the manifest\.\nIf this .* run `gdn batch mint` with --run <name> --again to mint all rows, including these a second time\.$/m,
      ),
    })
    await expect(machine.run(server, rowsUpTo(3), { ...B, runName: 'feb' })).rejects.toMatchObject({
      hint: expect.stringMatching(
        /^To mint only the other row, remove these rows from the manifest\.\nIf this .* use only one of the two manifests\..*\nTo mint all rows, including these a second time, run `gdn batch mint` with --again\.$/m,
      ),
    })
  })

  test('reject the second run while the first has sent nothing yet', async () => {
    const server = serverOf()
    const sending = gate()
    const first = machine.run(server, rowsUpTo(4), A, { pacer: pacerAt(sending) })
    await sending.reached
    await expect(machine.run(server, [row(4), row(5)], B)).rejects.toMatchObject({
      code: 'already_accepted',
      hint: expect.stringContaining('gdn batch resume drop-'),
      details: { count: 1, rows: [{ line: 5 }] },
    })
    sending.open()
    expect((await first).counts.deployed).toBe(4)
    expect(server.minted.size).toBe(4)
  })

  test('reject a dry run of rows that the other run has', async () => {
    const server = serverOf()
    await machine.run(server, rowsUpTo(2), A)
    const readManifest = async function* () {
      for (const each of rowsUpTo(3)) yield { row: each }
    }
    await expect(dryRunBatch(machine.options(B), { client: null, readManifest })).rejects.toMatchObject({
      code: 'already_accepted',
      details: { count: 2, rows: [{ line: 2 }, { line: 3 }] },
    })
  })

  test('reserve the rows that a killed run planned and did not send', async () => {
    const server = serverOf()
    await machine.run(server, rowsUpTo(4), A, { pacer: stopped }).catch(() => {})
    expect(server.minted.size).toBe(0)
    await expect(machine.run(server, rowsUpTo(4), B)).rejects.toMatchObject({ code: 'already_accepted' })
    expect((await machine.run(server, rowsUpTo(4), A)).counts.deployed).toBe(4)
    expect(most(server)).toBe(1)
  })

  test.each([
    ['name the command that sends the unsent rows of an unrevealed run', true],
    ['name no command that needs a missing manifest', false],
  ])('%s', async (_rule, exists) => {
    const server = serverOf()
    const folder = await temporaryFolder('gdn-claim-')
    const manifestPath = join(folder, 'drop.csv')
    if (exists) await writeFile(manifestPath, '')
    const unrevealed = { manifestPath, reading: { provenance: '0x1' } }
    await machine.run(server, rowsUpTo(2), unrevealed, { pacer: stopped }).catch(() => {})
    const finish = `\`gdn batch mint ${manifestPath} --contract ${CONTRACT} --blockchain polygon --unrevealed <file>\` to finish it.`
    await expect(machine.run(server, rowsUpTo(2), B)).rejects.toMatchObject({
      code: 'already_accepted',
      hint: exists ? expect.stringContaining(finish) : expect.not.stringContaining('to finish it'),
    })
  })

  test('check rows added to a resumed run like those of a new run', async () => {
    const server = serverOf()
    await machine.run(server, [row(1)], A)
    await machine.run(server, [row(2)], B)
    await expect(machine.run(server, rowsUpTo(3), A)).rejects.toMatchObject({
      code: 'already_accepted',
      details: { count: 1, rows: [{ line: 3 }] },
      hint: expect.stringContaining('remove these rows from the manifest'),
    })
    expect(most(server)).toBe(1)
  })

  test('do not retry a failed row that another run has minted since', async () => {
    const server = serverOf({ faultOf: (attempt) => (attempt === 1 ? { fault: 'refused', status: 400 } : null) })
    expect((await machine.run(server, [row(1)], A)).counts.failed).toBe(1)
    expect((await machine.run(server, [row(1)], B)).counts.deployed).toBe(1)
    await expect(machine.run(server, null, { ...A, retryFailed: true })).rejects.toMatchObject({
      code: 'already_accepted',
    })
    expect(most(server)).toBe(1)
  })

  test('do not send a failed row that another run is about to retry', async () => {
    const server = serverOf({ faultOf: (attempt) => (attempt === 1 ? { fault: 'refused', status: 400 } : null) })
    await machine.run(server, [row(1)], A)
    const sending = gate()
    const retry = machine.run(server, null, { ...A, retryFailed: true }, { pacer: pacerAt(sending) })
    await sending.reached
    await expect(machine.run(server, [row(1)], B)).rejects.toMatchObject({ code: 'already_accepted' })
    sending.open()
    expect((await retry).counts.deployed).toBe(1)
    expect(most(server)).toBe(1)
  })

  test('release a row whose retry was killed or failed again', async () => {
    const server = serverOf({ faultOf: (attempt) => (attempt <= 2 ? { fault: 'refused', status: 400 } : null) })
    await machine.run(server, [row(1)], A)
    const retried = { ...A, retryFailed: true }
    await machine.run(server, null, retried, { pacer: stopped }).catch(() => {})
    await expect(machine.run(server, [row(1)], B)).rejects.toMatchObject({
      hint: expect.stringMatching(/gdn batch resume drop-.*gdn batch rm drop-/s),
    })
    await machine.run(server, null, A)
    expect((await machine.run(server, null, retried)).counts.failed).toBe(1)
    expect((await machine.run(server, [row(1)], B)).counts.deployed).toBe(1)
  })

  test('reject a row that was removed from the manifest of the first run after it was minted', async () => {
    const server = serverOf({ pollsToDeploy: 1000 })
    const rows = ['a', 'b'].map((id, index) => row(index + 1, { id }))
    for (const left of [rows, rows.slice(1)]) await machine.run(server, left, { ...A, wait: false })
    const edited = row(3, { id: 'a' })
    await expect(machine.run(server, [edited], { ...B, lookup: false })).rejects.toMatchObject({
      code: 'already_accepted',
      details: { count: 1, rows: [{ key: 'a', line: 4 }] },
    })
  })

  test.each([
    ['its title', { metadata: { title: '#9', description: 'of a drop', file_fields: [] } }],
    ['its receiver', { receiver: row(2).receiver }],
  ])('reject a row that was minted before %s was edited in the first run', async (_, edit) => {
    const server = serverOf()
    for (const changes of [{}, edit]) await machine.run(server, [row(1, { id: 'a', ...changes })], A).catch(() => {})
    for (const options of [B, { ...B, runName: 'b' }]) {
      const refusal = { code: 'already_accepted', details: { count: 1 } }
      await expect(machine.run(server, [row(1)], options)).rejects.toMatchObject(refusal)
    }
    expect(server.minted.size).toBe(1)
  })

  test('mint no content twice, however the first manifest is edited in between', { tags: ['promise'] }, async () => {
    const { random } = seededRandom('edits before other manifests')
    const pick = (most: number) => Math.floor(random() * most)
    const outcomes: Record<string, number> = {}
    for (let drop = 0; drop < (process.env.GDN_SOAK === '1' ? 400 : 10); drop++) {
      const server = serverOf()
      await machine.stop()
      machine = await Machine.start()
      const contents = [1, 2, 3]
      let next = 4
      for (let step = 0; step < 10; step++) {
        const isEdit = step === 0 || random() < 0.5
        if (isEdit && step > 0) {
          // A new content, an earlier one, or another row.
          if (random() < 0.6) contents[pick(contents.length)] = random() < 0.7 ? next++ : 1 + pick(next - 1)
          else contents.push(next++)
        }
        const [rows, manifestPath] = isEdit
          ? [contents.map((content, id) => row(content, { id: String(id) })), '/a/drop.csv']
          : [[...new Set([1 + pick(next - 1), 1 + pick(next - 1)])].map((content) => row(content)), `/b/${step}.csv`]
        const runName = !isEdit && random() < 0.3 ? 'named' : undefined
        const outcome = await machine.run(server, rows, { manifestPath, runName }).then(
          () => 'minted',
          (error: unknown) => (error instanceof GdnError ? error.code : String(error)),
        )
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
        expect(most(server), `drop ${drop}, step ${step}: ${outcome}`).toBeLessThanOrEqual(1)
      }
    }
    report(outcomes)
    for (const common of ['already_accepted', 'minted', 'run_finished']) expect(outcomes[common]).toBeGreaterThan(0)
    const { already_accepted, minted, run_finished, edited_rows, ...others } = outcomes
    expect(others).toEqual({})
  })

  test('check a row added to a run against second drops too', async () => {
    const server = serverOf()
    await machine.run(server, [row(1)], A)
    await machine.run(server, [row(2)], { ...B, again: true })
    await expect(machine.run(server, rowsUpTo(3), A)).rejects.toMatchObject({
      code: 'already_accepted',
      details: { count: 1, rows: [{ line: 3 }] },
    })
    expect(most(server)).toBe(1)
  })

  test('check a row added to a second drop against the runs that have it', async () => {
    const server = serverOf()
    await machine.run(server, [row(1)], { ...A, again: true })
    await machine.run(server, [row(2)], B)
    await expect(machine.run(server, rowsUpTo(3), A)).rejects.toMatchObject({
      code: 'already_accepted',
      details: { count: 1 },
    })
    expect(most(server)).toBe(1)
  })

  test.each([false, true])(
    'name the other run if it mints the rows during the lookup (with --adopt: %s)',
    async (adopt) => {
      const server = serverOf()
      let first: Promise<BatchSummary> | null = null
      const client: BatchClient = {
        send: (...request) => server.send(...request),
        upload: (file) => server.upload(file),
        supports: (capability) => server.supports(capability),
        learnCapabilities: () => server.learnCapabilities(),
        async call(endpoint, request) {
          first ??= machine.run(server, rowsUpTo(3), A)
          await first
          return await server.call(endpoint, request)
        },
      }
      await expect(machine.run(server, rowsUpTo(3), { ...B, adopt }, { client })).rejects.toMatchObject({
        code: 'already_accepted',
        details: { count: 3 },
      })
      expect(await listRuns(machine.stateDir)).toHaveLength(1)
    },
  )

  describe('reject the second run if it is a copy of the first', () => {
    const traits = [
      { tag: 'Mood', value: 'calm' },
      { tag: 'Sky', value: 'clear' },
    ]
    const withTraits = (attribute: typeof traits) => [row(1, { metadata: { ...row(1).metadata, attribute } })]
    const withFile = (folder: string) => {
      const path = join(machine.stateDir, folder, 'image.png')
      return [row(1, { localFiles: [{ key: 'image', path }] })]
    }
    const write = async (folder: string, content: string) => {
      await mkdir(join(machine.stateDir, folder))
      await writeFile(join(machine.stateDir, folder, 'image.png'), content)
    }
    const COPIES: Record<string, () => [ManifestRow[], ManifestRow[]]> = {
      'in another folder, with its local files': () => [withFile('a'), withFile('b')],
      'with its columns in another order': () => [withTraits(traits), withTraits([...traits].reverse())],
      'without IDs': () => [[row(1, { id: 'one' })], [row(1)]],
    }
    test.each(Object.entries(COPIES))('%s', async (_what, rowsOf) => {
      for (const folder of ['a', 'b']) await write(folder, 'same')
      const server = serverOf()
      const [rows, copied] = rowsOf()
      await machine.run(server, rows, A, { pacer: stopped }).catch(() => {})
      await expect(machine.run(server, copied, { ...B, lookup: false })).rejects.toMatchObject({
        code: 'already_accepted',
        details: { count: 1, rows: [{ line: 2 }] },
      })
      expect((await machine.run(server, rows, A)).counts.deployed).toBe(1)
      await expect(machine.run(server, copied, B)).rejects.toMatchObject({ code: 'already_accepted' })
      expect(most(server)).toBe(1)
      expect((await machine.run(server, copied, { ...B, again: true })).counts.deployed).toBe(1)
    })

    test('reject it if a file no longer exists, because it may have been moved', async () => {
      await write('b', 'moved')
      const server = serverOf()
      await machine.run(server, withFile('a'), A, { pacer: stopped }).catch(() => {})
      await expect(machine.run(server, withFile('b'), { ...B, lookup: false })).rejects.toMatchObject({
        code: 'already_accepted',
      })
    })

    test('name the run with the content of the rows, not one with a similar path or the same IDs', async () => {
      const server = serverOf()
      const at = (path: string) => ({ manifestPath: join(machine.stateDir, path), lookup: false })
      const rows = [row(1, { id: '1' }), row(2, { id: '2' })]
      const others = [row(3, { id: '1' }), row(4, { id: '2' })]
      await mkdir(join(machine.stateDir, 'x'))
      await writeFile(join(machine.stateDir, 'x/old.csv'), '')
      await machine.run(server, rows, { ...A, ...at('x/old.csv') })
      await machine.run(server, others, { ...A, ...at('q/y/drop.csv'), runName: 'spring' })
      await rm(join(machine.stateDir, 'x'), { recursive: true })
      const moved = machine.run(server, rows, { ...A, ...at('y/drop.csv') })
      await expect(moved).rejects.toMatchObject({
        code: 'already_accepted',
        hint: expect.stringMatching(/^(?!.*--run spring).*If this manifest was renamed, add --run old\.csv --adopt\./s),
      })
    })

    test('reject it under the name of the first run if at least half of its rows differ', async () => {
      const server = serverOf()
      const first = { ...A, runName: 'spring', manifestPath: join(machine.stateDir, 'jan.csv') }
      const second = { ...first, manifestPath: join(machine.stateDir, 'feb.csv') }
      for (const { manifestPath } of [first, second]) await writeFile(manifestPath, '')
      const rowsOf = (...contents: number[]) => contents.map((content, at) => row(content, { id: String(at + 1) }))
      await machine.run(server, rowsOf(1, 2, 3, 4), first)
      for (const others of [rowsOf(5, 6, 7, 8), rowsOf(5, 6, 3, 4)]) {
        await expect(machine.run(server, others, second)).rejects.toMatchObject({ code: 'edited_rows' })
      }
      expect((await machine.run(server, rowsOf(1, 2, 3, 8, 9), second)).counts.deployed).toBe(5)
      const other = { ...second, runName: 'feb', manifestPath: join(machine.stateDir, 'mar.csv') }
      expect((await machine.run(server, [row(0, { id: '1' })], other)).counts.deployed).toBe(1)
    })

    test('reject it if the first file was replaced after its upload', async () => {
      for (const folder of ['a', 'b']) await write(folder, 'same')
      const server = serverOf()
      await machine.run(server, withFile('a'), A)
      await writeFile(join(machine.stateDir, 'a', 'image.png'), 'replaced')
      for (const options of [B, { ...B, runName: 'b' }]) {
        const copy = machine.run(server, withFile('b'), { ...options, lookup: false })
        await expect(copy).rejects.toMatchObject({ code: 'already_accepted' })
      }
      expect(server.minted.size).toBe(1)
    })

    test('reject it if the first file was replaced, and the first run only adopted the NFT', async () => {
      for (const folder of ['a', 'b']) await write(folder, 'same')
      const server = serverOf()
      await machine.run(server, withFile('a'), A)
      await machine.lose()
      await writeFile(join(machine.stateDir, 'a', 'image.png'), 'replaced')
      await machine.run(server, withFile('a'), { ...A, adopt: true })
      const second = machine.run(server, withFile('b'), { ...B, runName: 'b', lookup: false })
      await expect(second).rejects.toMatchObject({ code: 'already_accepted' })
      expect(server.minted.size).toBe(1)
    })

    test('accept it if a file of the same name has another size, or if both rows have IDs', async () => {
      for (const folder of ['a', 'b']) await write(folder, folder.repeat(folder === 'a' ? 1 : 2))
      const server = serverOf()
      await machine.run(server, withFile('a'), A)
      expect((await machine.run(server, withFile('b'), { ...B, lookup: false })).counts.deployed).toBe(1)
      const named = (id: string) => [row(2, { id })]
      await machine.run(server, named('one'), { ...A, runName: 'one' })
      const other = { ...B, runName: 'two', lookup: false }
      expect((await machine.run(server, named('two'), other)).counts.deployed).toBe(1)
    })
  })

  test('resume a stopped second drop, although the first drop has all its rows', async () => {
    const server = serverOf()
    await machine.run(server, rowsUpTo(3), A)
    await machine.run(server, rowsUpTo(3), { ...B, again: true }, { pacer: stopped }).catch(() => {})
    expect((await machine.run(server, rowsUpTo(3), B)).counts.deployed).toBe(3)
    expect(server.minted.size).toBe(6)
  })
})

describe('a failed or absent row that another run has minted since', () => {
  const backend = (incarnation: string) => ({
    ...{ url: 'http://127.0.0.1:4680', id: 'the backend', incarnation },
    ...{ silence: null, isLocal: true },
  })
  const rows = [row(1, { id: 'a' }), row(2, { id: 'b' })]
  const twice = (id: string) => ({
    key: 'a',
    line: 2,
    reason: expect.stringMatching(`^the run drop-.* minted the same row: ${id}$`),
    nft_gdn_id: id,
  })

  /** Mints the rows. The first one fails, and another run mints it. */
  async function failedThenMinted() {
    const failing = new Set(['nft-1'])
    const server = serverOf({
      idempotency: true,
      record: (record) => (failing.has(String(record.nft_gdn_id)) ? { ...record, status: 'failed' } : record),
    })
    const first = await machine.run(server, rows, { ...A, backend: backend('first') })
    expect(first.counts).toMatchObject({ deployed: 1, failed: 1 })
    const second = await machine.run(server, rows.slice(0, 1), { ...B, backend: backend('first') })
    expect(second.counts).toMatchObject({ deployed: 1 })
    return { server, failing }
  }

  /** Mints the rows. The first one is absent, and another run mints it. */
  async function absentThenMinted() {
    const server = serverOf({ faultOf: (attempt) => (attempt === 1 ? { fault: 'cut_before' } : null) })
    const first = await machine.run(server, rows, { ...A, inFlight: 1 })
    expect(first.absentRows).toMatchObject([{ key: 'a' }])
    expect((await machine.run(server, rows.slice(0, 1), B)).counts).toMatchObject({ deployed: 1 })
    return server
  }

  const reconcile = { ...A, reconcileOnly: true }

  test('is polled again after a restore, and stays failed', async () => {
    const { server } = await failedThenMinted()
    const third = await machine.run(server, rows, { ...A, backend: backend('second') })
    expect(third).toMatchObject({ exitCode: 7, counts: { deployed: 1, failed: 1 }, doubledRows: [] })
    expect(server.attempts).toBe(3)
  })

  test('is reported with that run if it is deployed after a restore', async () => {
    const { server, failing } = await failedThenMinted()
    failing.clear()
    const third = await machine.run(server, rows, { ...A, backend: backend('second') })
    expect(third).toMatchObject({ exitCode: 7, counts: { deployed: 2 }, doubledRows: [twice('nft-3')] })
  })

  test('stops that run with an error if it is reopened before that run sends it', async () => {
    const failing = new Set(['nft-1'])
    const server = serverOf({
      idempotency: true,
      record: (record) => (failing.has(String(record.nft_gdn_id)) ? { ...record, status: 'failed' } : record),
    })
    await machine.run(server, rows, { ...A, backend: backend('first') })
    const sending = gate()
    const second = machine.run(
      server,
      rows.slice(0, 1),
      { ...B, backend: backend('second') },
      { pacer: pacerAt(sending) },
    )
    await sending.reached
    await machine.run(server, rows, { ...A, backend: backend('second'), wait: false })
    sending.open()
    await expect(second).rejects.toMatchObject({ code: 'already_accepted' })
    expect(server.attempts).toBe(2)
  })

  test('is unknown if a restored backend does not know it', async () => {
    const { server } = await failedThenMinted()
    server.minted.delete('nft-1')
    const third = await machine.run(server, rows, { ...A, backend: backend('second') })
    expect(third).toMatchObject({ exitCode: 9, counts: { deployed: 1, unknown: 1 } })
  })

  test('is reported with that run if its own request turns up late', async () => {
    const server = await absentThenMinted()
    server.mintByOther(row(1).receiver, row(1).metadata)
    const third = await machine.run(server, null, reconcile)
    expect(third).toMatchObject({ exitCode: 7, counts: { deployed: 2 }, doubledRows: [twice('nft-2')] })
    // The report stays, even if that run is removed.
    expect((await machine.run(server, null, reconcile)).doubledRows).toHaveLength(1)
    await removeRun(await openRun(machine.stateDir, machine.runId(B)))
    const fourth = await machine.run(server, null, reconcile)
    expect(fourth).toMatchObject({ exitCode: 7, counts: { deployed: 2 }, doubledRows: [twice('nft-2')] })
  })

  test('is undecided if another wallet has an NFT with its content', async () => {
    const server = await absentThenMinted()
    server.mintByOther(row(2).receiver, row(1).metadata)
    const third = await machine.run(server, null, reconcile)
    expect(third).toMatchObject({ exitCode: 9, counts: { deployed: 1, unknown: 1 }, absentRows: [] })
  })

  test('is reported with that run if a person assigns an NFT to it', async () => {
    const server = await absentThenMinted()
    const nftGdnId = server.mintByOther(row(2).receiver, row(1).metadata)
    const third = await machine.run(server, null, { ...reconcile, settle: [{ key: 'a', nftGdnId }] })
    expect(third).toMatchObject({ exitCode: 7, counts: { deployed: 2 }, doubledRows: [twice('nft-2')] })
  })
})

test('rejects an ID that a minted row gets if another run has it', async () => {
  const server = serverOf()
  await machine.run(server, [row(1)], A)
  await machine.run(server, [row(2, { id: 'a' })], B)
  const renamed = machine.run(server, [row(1, { id: 'a' })], A)
  await expect(renamed).rejects.toMatchObject({ code: 'already_accepted', details: { rows: [{ key: 'a', line: 2 }] } })
  expect((await machine.run(server, [row(1, { id: 'b' }), row(3)], A)).counts).toMatchObject({ deployed: 2 })
})

test('accepts an ID that minted rows of two drops of a manifest get', async () => {
  const server = serverOf()
  await machine.run(server, [row(1)], A)
  await machine.run(server, [row(1)], { ...A, again: true })
  for (const generation of [2, 1]) {
    const summary = await machine.run(server, [row(1, { id: 'a' }), row(1 + generation)], { ...A, generation })
    expect(summary.counts).toMatchObject({ deployed: 2 })
  }
})

describe('the lock of a collection', () => {
  test('is released while rows are sent, so that other rows can be sent at the same time', async () => {
    const server = serverOf()
    const sending = gate()
    const first = machine.run(server, rowsUpTo(2), A, { pacer: pacerAt(sending) })
    await sending.reached
    expect((await machine.run(server, [row(3)], B)).counts.deployed).toBe(1)
    sending.open()
    expect((await first).counts.deployed).toBe(2)
  })
})
