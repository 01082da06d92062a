import { beforeEach, expect, test } from 'vitest'
import { storeAliases, storePairs } from '../../src/batch/identity/store-pairs.ts'
import type { BatchOptions } from '../../src/batch/types.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import type { Update } from '../../src/plan/apply-updates.ts'
import { type RevealPlan, type SkippedRow, withRevealPlan } from '../../src/reveal/plan-reveal.ts'
import { readCommitment } from '../../src/reveal/read-commitment.ts'
import { BOB, Machine, type Nft, row, Server } from '../plan/world.ts'

const ROWS = [row('a'), row('b'), row('c')]

let server: Server
let machine: Machine
beforeEach(() => start(new Server()))

async function start(on: Server): Promise<void> {
  server = on
  machine = await Machine.start(server)
}

async function* itemsOf(rows: readonly ManifestRow[]) {
  for (const one of rows) yield { row: one }
}

/** Mints rows unrevealed, as numbered rows of a manifest. */
const mint = (rows: readonly ManifestRow[], numbers = rows.map((_, n) => n + 1), more: Partial<BatchOptions> = {}) =>
  machine.mint(
    rows.map((one, n) => ({
      ...one,
      identity: one,
      metadata: { title: 'Hidden', description: '', file_fields: [], provenance_row: String(numbers[n]) },
    })),
    more,
  )

interface Revealing extends Pick<RevealPlan, 'rows' | 'revealed' | 'pending' | 'notMinted' | 'left'> {
  reasons: string[]
  updates: Update[]
  /** The labels of the NFTs that are to be replaced. */
  replaced?: string[]
  /** The earlier path of the manifest, if it was moved. */
  movedFrom?: string
  /** Rows that got an ID after their mint. */
  paired: RevealPlan['paired']
}

async function plan(rows: readonly ManifestRow[] = ROWS, more: Partial<BatchOptions> = {}): Promise<Revealing> {
  const commitment = await readCommitment(itemsOf(rows))
  if (commitment === null) throw new Error('the manifest has problems')
  const deps = { client: machine.client, readManifest: () => itemsOf(rows), rows: commitment }
  return await withRevealPlan({ ...machine.options(), ...more }, deps, async (found) => {
    const { run: _, leftRows, updates: find, seen: __, relabeled, paired, movedFrom, ...counts } = found
    const updates: Update[] = []
    for await (const update of find()) updates.push(update)
    const replaced: string[] = []
    for await (const page of relabeled.pages()) replaced.push(...page.map(({ label }) => label))
    return {
      ...counts,
      ...(replaced.length > 0 ? { replaced } : {}),
      ...(movedFrom === null ? {} : { movedFrom }),
      updates,
      paired,
      reasons: leftRows.map(({ key, line, reason }: SkippedRow) => `${line} ${key}: ${reason}`),
    }
  })
}

const change = (n: number, more: Partial<Nft>) => Object.assign(server.nfts[n - 1] as Nft, more)

test('finds the run of a manifest that was moved', async () => {
  await mint(ROWS)
  const moved = { manifestPath: '/drops/later/drop.csv', adopt: true }
  expect(await plan(ROWS, moved)).toMatchObject({ pending: 3, movedFrom: '/drops/drop.csv' })
})

test('reveals each row once', async () => {
  await mint(ROWS)
  const { updates, paired: _, ...counts } = await plan()
  expect(counts).toEqual({
    rows: 3,
    revealed: 0,
    pending: 3,
    accepted: 0,
    notMinted: 0,
    withoutNft: 0,
    undeployed: 0,
    left: 0,
    reasons: [],
    renamed: [],
  })
  expect(
    updates.map(({ nftGdnId, metadata, replacesRevision }) => [nftGdnId, metadata.title, replacesRevision]),
  ).toEqual([
    ['nft-1', 'a', 0],
    ['nft-2', 'b', 0],
    ['nft-3', 'c', 0],
  ])
  expect(new Set(updates.map(({ metadata }) => metadata.provenance_salt)).size).toBe(3)
  async function* first() {
    yield updates[0] as Update
  }
  expect(await machine.update(first())).toMatchObject({ done: 1 })
  expect(await plan()).toMatchObject({ revealed: 1, pending: 2, updates: updates.slice(1) })
})

test('stops at NFTs of another label that this machine does not know, unless they are adopted', async () => {
  await mint(ROWS)
  server.label('jan/drop.csv')
  const own = { label: 'feb/drop.csv' }
  // The state knows the NFTs here.
  expect(await plan(ROWS, own)).toMatchObject({ pending: 3 })
  machine = await Machine.start(server)
  await expect(plan(ROWS, own)).rejects.toMatchObject({
    code: 'seems_minted',
    message: '3 rows were minted by the run "jan/drop.csv", but this run is "feb/drop.csv"',
    hint: expect.stringMatching(/add --adopt[\s\S]*add --run <name>/),
  })
  for (const agreeing of [{ label: 'jan/drop.csv' }, {}]) {
    const found = await plan(ROWS, agreeing)
    expect(found).toMatchObject({ pending: 3 })
    expect(found.replaced).toBeUndefined()
  }
  const adopted = await plan(ROWS, { ...own, adopt: true })
  expect(adopted).toMatchObject({ pending: 3, replaced: Array(3).fill('jan/drop.csv') })
})

test.each([
  ['where they were minted', true],
  ['on a machine without a state', false],
])('reveals rows that got their IDs after the mint, and stores which NFTs they are, %s', async (_, hasState) => {
  const own = { label: 'jan/drop.csv' }
  await mint(
    ROWS.map((one) => ({ ...one, id: null })),
    undefined,
    own,
  )
  if (!hasState) {
    machine = await Machine.start(server)
  }
  const { pending, notMinted, updates, paired } = await plan(ROWS, own)
  expect({ pending, notMinted }).toEqual({ pending: 3, notMinted: 0 })
  expect(updates.map(({ key, nftGdnId, metadata: { title } }) => [key, nftGdnId, title])).toEqual([
    ['a', 'nft-1', 'a'],
    ['b', 'nft-2', 'b'],
    ['c', 'nft-3', 'c'],
  ])
  const options = machine.options(own)
  await storeAliases(machine.client, options, paired)
  await storePairs(options, paired)
  expect(await plan(ROWS, own)).toMatchObject({ pending: 3, paired: [] })
})

test('counts a row that was edited and got its ID at once as not minted', async () => {
  const [a, b] = ROWS as [ManifestRow, ManifestRow]
  await mint([a, { ...b, id: null }])
  const edited = { ...b, receiver: BOB }
  expect(await plan([a, edited])).toMatchObject({ pending: 1, notMinted: 1, reasons: ['3 b: the row is not minted'] })
})

test('counts rows again while it finds the updates, because they may be revealed by now', async () => {
  await mint(ROWS)
  const commitment = await readCommitment(itemsOf(ROWS))
  if (commitment === null) throw new Error('the manifest has problems')
  const deps = { client: machine.client, readManifest: () => itemsOf(ROWS), rows: commitment }
  await withRevealPlan(machine.options(), deps, async (found) => {
    change(1, { isBurned: true })
    const updates: string[] = []
    for await (const { key } of found.updates()) updates.push(key)
    expect(updates).toEqual(['b', 'c'])
    expect(found).toMatchObject({ rows: 3, pending: 2, left: 1, leftRows: [{ key: 'a', reason: 'the NFT is burned' }] })
  })
})

test.each<[string, Partial<Nft>, string]>([
  ['is burned', { isBurned: true }, 'the NFT is burned'],
  [
    'has other metadata',
    { revision: 1, metadata: { title: 'a' } },
    'the metadata of the NFT was changed outside the manifest',
  ],
  ['was minted as it is', { metadata: { title: 'a' } }, 'the NFT was minted revealed'],
  ['is frozen', { isFrozen: true }, 'the NFT is frozen'],
  ['is not dynamic', { isDynamic: false }, 'the NFT is not dynamic'],
])('leaves an NFT as it is that %s', async (_, more, reason) => {
  await mint(ROWS)
  change(1, more)
  expect(await plan()).toMatchObject({ pending: 2, left: 1, notMinted: 0, reasons: [`2 a: ${reason}`] })
})

test('leaves an NFT as it is that was revealed with other files', async () => {
  await mint(ROWS)
  const [update] = (await plan()).updates
  change(1, { revision: 1, metadata: { ...update?.metadata, file_fields: [{ key: 'image', url: 'ipfs://x' }] } })
  expect(await plan()).toMatchObject({
    revealed: 0,
    left: 1,
    reasons: ['2 a: the metadata of the NFT was changed outside the manifest'],
  })
})

test.each([
  ['failed', 'the mint of the row failed'],
  ['error', 'the mint of the row failed'],
  ['initiated', 'the NFT is not deployed yet'],
])('counts a row as not minted whose NFT is %s', async (status, reason) => {
  await mint(ROWS)
  change(1, { status: status as Nft['status'] })
  expect(await plan()).toMatchObject({ pending: 2, left: 0, notMinted: 1, reasons: [`2 a: ${reason}`] })
})

test('counts a row as not minted that has no NFT', async () => {
  await mint(ROWS.slice(0, 2))
  expect(await plan()).toMatchObject({ rows: 3, pending: 2, notMinted: 1, reasons: ['4 c: the row is not minted'] })
})

test('refuses a manifest whose rows were minted as others, and names them', async () => {
  await mint(ROWS, [2, 1, 3])
  await expect(plan()).rejects.toMatchObject({
    code: 'refused',
    place: { line: 2 },
    message:
      'the manifest differs from the one that was minted: line 2 was minted as row 2, line 3 was minted as row 1',
    details: {
      count: 2,
      rows: [
        { line: 2, row: '2' },
        { line: 3, row: '1' },
      ],
    },
  })
})

test('names the first 10 of many rows that were minted as others', async () => {
  const rows = Array.from({ length: 12 }, (_, n) => row(String.fromCharCode(97 + n)))
  await mint(
    rows,
    rows.map((_, n) => ((n + 1) % 12) + 1),
  )
  await expect(plan(rows)).rejects.toMatchObject({
    message: expect.stringMatching(/line 11 was minted as row 11, …$/),
    details: { count: 12 },
  })
})

test('names the first 100 rows that are not revealed, and counts all', async () => {
  await mint(ROWS)
  const rows = [...ROWS, ...Array.from({ length: 101 }, (_, n) => row(`r${n}`))]
  const { notMinted, reasons } = await plan(rows)
  expect([notMinted, reasons.length]).toEqual([101, 100])
})

test('refuses a server that can not update NFTs', async () => {
  await start(new Server({ isOurs: false }))
  await mint(ROWS)
  await expect(plan()).rejects.toMatchObject({ code: 'refused', message: "the server can't update NFTs" })
})
