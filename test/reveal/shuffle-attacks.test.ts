/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import {
  backendForFile,
  createTestCollection,
  provenancesOf,
  type TestBackend,
  type TestCollection,
  until,
  withStore,
} from '../helpers/backend.ts'
import { holdSigning } from '../helpers/hold.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { forward } from '../helpers/killing-relay.ts'
import { BEACON, nftsOf, rowsOf, type ShuffledMachine, shuffledMachine } from '../helpers/shuffled-machine.ts'

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

/** Prevents commitments from being sent until the returned function is called. */
async function heldCommitments() {
  let letGo: (() => Promise<void>) | null = await holdSigning(backend.dataDir, 'provenance')
  const release = async () => {
    await letGo?.()
    letGo = null
  }
  onTestFinished(release)
  return release
}

/** Commits to the rows of a shuffled drop, and mints none of them. */
async function commitOnly(collection: TestCollection, rows: string): Promise<void> {
  const stop = new AbortController()
  const machine = await shuffledMachine(backend, collection, () => stop.signal)
  const release = await heldCommitments()
  const minting = machine.shuffle(rows)
  await until(
    () => provenancesOf(backend, collection),
    ({ length }) => length === 1,
  )
  stop.abort(new GdnError('interrupted', 'interrupted by this test'))
  expect((await minting).error).toMatchObject({ code: 'interrupted' })
  await release()
  await until(
    () => provenancesOf(backend, collection),
    ([first]) => first?.status === 'deployed',
  )
}

/** Expects that a command refuses, and changes no NFT and no commitment. */
async function refuses(
  collection: TestCollection,
  asking: () => Promise<{ error: unknown; stderr: string }>,
  error: { code: string; message: string },
) {
  const before = [await nftsOf(backend, collection), await provenancesOf(backend, collection)]
  const { error: found, stderr } = await asking()
  expect(found, stderr).toMatchObject({ code: error.code, message: expect.stringContaining(error.message) })
  expect([await nftsOf(backend, collection), await provenancesOf(backend, collection)]).toEqual(before)
}

test('mints rows only by the first rule that the collection committed to', async () => {
  const collection = await createTestCollection(backend)
  const [one, other] = [await shuffledMachine(backend, collection), await shuffledMachine(backend, collection)]
  const rows = rowsOf(3)
  await commitOnly(collection, rows)
  const committed = 'is committed to the rows of this manifest with --shuffle --shuffle-margin 1s'
  const refused = { code: 'refused', message: committed }
  await refuses(collection, () => other.run(['batch', 'mint'], rows), refused)
  await refuses(collection, () => other.mint(rows), refused)
  await refuses(collection, () => other.mint(rows, '--run', 'other', '--adopt', '--no-lookup'), refused)
  await refuses(collection, () => other.mint(rows, '--shuffle', '--shuffle-margin', '2s'), refused)
  const planned = JSON.parse((await other.plan(rows)).stdout)
  expect(planned.map(({ action }: { action: string }) => action)).toEqual(Array(3).fill('impossible'))
  expect(planned[0].reason).toContain('is committed to this manifest')
  expect(await nftsOf(backend, collection)).toEqual([])
  expect(await other.shuffle(rows)).toMatchObject({ code: 0, error: null })
  expect(JSON.parse((await one.reveal(rows)).stdout)).toMatchObject({ revealed: 3 })
})

test('of two machines that commit to rows with different rules at once, one mints', async () => {
  const collection = await createTestCollection(backend)
  const rows = rowsOf(3)
  const release = await heldCommitments()
  // Each machine sees no commitment of the other one before it makes its own.
  const barrier = await startHttpServer(async (request) => {
    if (request.path.endsWith('/commitprovenance')) await arrived()
    return await forward(backend.url, request)
  })
  onTestFinished(() => barrier.close())
  let waiting = 0
  let open = () => {}
  const both = new Promise<void>((resolve) => {
    open = resolve
  })
  const arrived = async () => {
    if (++waiting === 2) open()
    await both
  }
  const through = { ...backend, url: barrier.url }
  const [one, other] = [await shuffledMachine(through, collection), await shuffledMachine(through, collection)]
  const minting = [one.shuffle(rows), other.mint(rows)]
  await until(
    () => provenancesOf(backend, collection),
    ({ length }) => length === 2,
  )
  await release()
  const results = await Promise.all(minting)
  expect(results.map(({ code }) => code).sort()).toEqual([0, 5])
  expect(results.find(({ code }) => code === 5)?.error).toMatchObject({
    code: 'refused',
    message: expect.stringContaining('is committed to the rows of this manifest with'),
  })
  expect(await nftsOf(backend, collection)).toHaveLength(3)
  expect(JSON.parse((await one.reveal(rows)).stdout)).toMatchObject({ revealed: 3, left: 0 })
})

test('mints no copies of the rows of a shuffled drop, with any flags and on any machine', async () => {
  const collection = await createTestCollection(backend)
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
  const once = { code: 'refused', message: 'the rows of a shuffled drop can be minted only once' }
  const refused = async () => {
    for (const machine of [one, await shuffledMachine(backend, collection)]) {
      await refuses(collection, () => machine.mint(rows, '--again'), once)
      await refuses(collection, () => machine.mint(rows, '--again', '--run', 'other', '--no-lookup'), once)
      await refuses(collection, () => machine.shuffle(rows, '--again'), once)
      await refuses(collection, () => machine.run(['batch', 'mint'], rows, '--again'), once)
    }
  }
  await refused()
  expect(await one.reveal(rows)).toMatchObject({ code: 0, error: null })
  await refused()
  const other = await shuffledMachine(backend, collection)
  await refuses(collection, () => other.run(['batch', 'mint'], rows), {
    code: 'refused',
    message: 'all its rows are minted',
  })
  // Other rows are another drop.
  const edited = rowsOf(3, (row) => `Other ${row}`).replaceAll('\nr', '\ns')
  expect(await one.mint(edited, '--again')).toMatchObject({ code: 0, error: null })
})

const moved = (rows: string, order: (lines: string[]) => string[]): string => {
  const [head = '', ...lines] = rows.split('\n')
  return [head, ...order(lines)].join('\n')
}

test('refuses a plan of rows that are no longer at their positions', async () => {
  const collection = await createTestCollection(backend, { enable_transfer: true })
  const one = await shuffledMachine(backend, collection)
  // Rows 4 and 5 have the same content.
  const rows = rowsOf(6, (row) => `Row ${row === 5 ? 4 : row}`).replace('art/2.txt,0x105', 'art/1.txt,0x105')
  expect(await one.shuffle(rows, '--allow-duplicates')).toMatchObject({ code: 0, error: null })
  expect(await one.reveal(rows)).toMatchObject({ code: 0, error: null })
  const attacks: [string, string][] = [
    ['exchanged', moved(rows, ([a = '', b = '', ...more]) => [b, a, ...more])],
    ['reversed', moved(rows, (lines) => lines.reverse())],
    ['exchanged IDs', rows.replace('r1,', 'x,').replace('r2,', 'r1,').replace('x,', 'r2,')],
    ['inserted', moved(rows, (lines) => ['r9,New,x,art/1.txt,0x105BA2A3D820926739b9443a81fb7ab5C531e823', ...lines])],
    ['exchanged and edited', moved(rows, ([a = '', b = '', ...more]) => [b, a, ...more]).replace('Row 6', 'Edited')],
  ]
  const machines: ShuffledMachine[] = [one, await shuffledMachine(backend, collection)]
  const wrong = { code: 'edited_rows', message: 'rows of the shuffled drop were moved' }
  for (const machine of machines) {
    for (const [, manifest] of attacks) {
      await refuses(collection, () => machine.plan(manifest), wrong)
      await refuses(collection, () => machine.apply(manifest, '--allow-exchanged', '--take-over'), wrong)
    }
    await refuses(collection, () => machine.apply(moved(rows, (lines) => lines.slice(0, -1))), {
      code: 'edited_rows',
      message: 'the manifest has 5 rows, but its shuffled drop has 6',
    })
    const extended = JSON.parse((await machine.plan(`${rows}\nr9,New,x,art/1.txt,${'0x'.padEnd(42, '1')}`)).stdout)
    expect(extended).toMatchObject([{ action: 'impossible', want: 'mint', key: 'r9' }])
    expect(JSON.parse((await machine.plan(rows)).stdout)).toEqual([])
  }
  // An edit is no move, also on a machine that never had the manifest.
  const edited = rows.replace('Row 6', 'Edited')
  const third = await shuffledMachine(backend, collection)
  expect(JSON.parse((await third.apply(edited)).stdout)).toMatchObject({ updated: 1, transferred: 0 })
})

test('draws each of two drops with the same round by its own rows', async () => {
  const collection = await createTestCollection(backend)
  // One round an hour, and the next one is half an hour away, so that both seals have the same round.
  const genesis_time = Math.floor(Date.now() / 1000) - 1800
  const hourly = JSON.stringify({ ...JSON.parse(BEACON), genesis_time, period: 3600 })
  const machine = async () => {
    const made = await shuffledMachine(backend, collection)
    await writeFile(made.path('beacon.json'), hourly)
    return made
  }
  const [one, other] = [await machine(), await machine()]
  const drops = [
    ['a', rowsOf(4)],
    ['b', rowsOf(6, (row) => `Other ${row}`).replaceAll('\nr', '\ns')],
  ] as const
  for (const [run, rows] of drops) expect(await one.shuffle(rows, '--run', run)).toMatchObject({ code: 0, error: null })
  const release = await heldCommitments()
  const revealing = [
    one.reveal(drops[0][1], '--run', 'a'),
    until(
      () => provenancesOf(backend, collection),
      ({ length }) => length === 3,
    ).then(() => other.reveal(drops[1][1], '--run', 'b')),
  ] as const
  await until(
    () => provenancesOf(backend, collection),
    ({ length }) => length === 4,
  )
  await release()
  const rounds = (await Promise.all(revealing)).map(({ stdout }) => JSON.parse(stdout).round)
  expect(rounds[0]).toBe(rounds[1])
  const third = await machine()
  for (const [run, rows] of drops) {
    expect(JSON.parse((await third.plan(rows, '--run', run)).stdout), run).toEqual([])
    const edited = rows.replace(' 2,', ' 2 edited,')
    const changes = JSON.parse((await third.plan(edited, '--run', run)).stdout)
    expect(changes, run).toMatchObject([
      { action: 'update', title: rows.includes('Other') ? 'Other 2 edited' : 'Row 2 edited' },
      { action: 'note' },
    ])
  }
})

test('reveals nothing if the seal fails, and seals the drop afterwards', async () => {
  const collection = await createTestCollection(backend)
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(4)
  const late = rowsOf(1, () => 'Late').replaceAll('\nr', '\ns')
  expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
  const release = await heldCommitments()
  let isWaiting = () => {}
  const waits = new Promise<void>((resolve) => {
    isWaiting = resolve
  })
  const seals = new Promise<void>((resolve) => {
    void until(
      () => provenancesOf(backend, collection),
      ({ length }) => length === 2,
    ).then(() => resolve())
  })
  // The second machine polls a seal that it didn't send.
  let polls = 0
  const relay = await startHttpServer(async (request) => {
    if (request.path.endsWith('/getprovenances') && ++polls === 4) isWaiting()
    return await forward(backend.url, request)
  })
  onTestFinished(() => relay.close())
  const other = await shuffledMachine({ ...backend, url: relay.url }, collection)
  const sealing = one.reveal(rows)
  await seals
  const waiting = other.reveal(rows)
  await waits
  await withStore(backend.dataDir, ({ db }) =>
    sql`update updates set status = 'failed', step = 'done', error = 'broken by this test'
      where kind = 'provenance' and status = 'initiated'`.execute(db),
  )
  await release()
  expect((await sealing).error).toMatchObject({ code: 'refused', message: expect.stringContaining('failed') })
  expect((await waiting).error).toMatchObject({
    code: 'refused',
    message: 'the seal of the drop failed, so its rows are not drawn',
  })
  expect((await nftsOf(backend, collection)).map(({ revision }) => revision)).toEqual([0, 0, 0, 0])
  // A failed seal ends no mint.
  expect(await one.shuffle(late, '--run', 'late')).toMatchObject({ code: 0, error: null })
  expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
  const revealed = await other.reveal(rows)
  expect(revealed.code, revealed.stderr).toBe(0)
  expect(JSON.parse(revealed.stdout)).toMatchObject({ revealed: 4 })
  expect(await one.plan(rows)).toMatchObject({ code: 0, error: null })
})

test('seals nothing if no NFT of the drop can be revealed', async () => {
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  await commitOnly(collection, rows)
  // Another manifest mints rows with the same IDs as they are.
  const others = moved(rows, (lines) => lines.slice(1))
  expect(await machine.run(['batch', 'mint'], others, '--dynamic')).toMatchObject({ code: 0, error: null })
  const other = await shuffledMachine(backend, collection)
  const { code, stdout, stderr } = await other.reveal(rows, '--abandon-rows', '1')
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ seal: null, round: null, revealed: 0, not_minted: 1, left: 2 })
  expect(await provenancesOf(backend, collection)).toHaveLength(1)
})

test('reveals no row without a draw, even if the rows are minted while the command runs', async () => {
  const collection = await createTestCollection(backend)
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  await commitOnly(collection, rows)
  let [lookups, before] = [0, 0]
  const relay = await startHttpServer(async (request) => {
    // The first look at the rows finds no NFT, so there is nothing to seal.
    if (request.path.endsWith('/getreferences') && ++lookups === 2 * before + 1 && before > 0)
      expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
    return await forward(backend.url, request)
  })
  onTestFinished(() => relay.close())
  const other = await shuffledMachine({ ...backend, url: relay.url }, collection)
  expect((await other.reveal(rows, '--dry-run')).error).toMatchObject({ code: 'not_found' })
  before = lookups
  const early = await other.reveal(rows)
  expect(early.error).toMatchObject({ code: 'pending', message: 'the rows of the drop are not drawn yet' })
  expect((await nftsOf(backend, collection)).map(({ revision }) => revision)).toEqual([0, 0, 0])
  expect(JSON.parse((await other.reveal(rows)).stdout)).toMatchObject({ revealed: 3 })
})
