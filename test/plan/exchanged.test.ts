/** @module-tag slow */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { refuseExchanged } from '../../src/batch/identity/exchanged.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import type { Drop } from '../../src/state/drops.ts'
import { addChanges } from '../../src/state/plan-tables.ts'
import { addRows } from '../../src/state/rows.ts'
import { createTables } from '../../src/state/temporary-tables.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, Machine, row, Server } from './world.ts'

let server: Server
let machine: Machine
beforeEach(async () => {
  server = new Server()
  machine = await Machine.start(server)
})

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const WALLETS = IDS.map((_, at) => `0x${String(at + 1).repeat(40)}`)
const rows = IDS.map((id, at): ManifestRow => {
  const one = row(id, WALLETS[at])
  const file_fields = [{ key: 'image', url: `https://files.example/${id}.png` }]
  const attribute = [{ tag: 'rank', value: String(at) }]
  return { ...one, metadata: { title: `Title ${id}`, description: `About ${id}`, file_fields, attribute } }
})

type Field = 'title' | 'description' | 'file_fields' | 'attribute' | 'receiver'

/** The rows with one column of them in the opposite order. */
const reversed = (field: Field): ManifestRow[] =>
  rows.map((one, at) => {
    const other = rows.at(-1 - at) ?? one
    if (field === 'receiver') return { ...one, receiver: other.receiver }
    return { ...one, metadata: { ...one.metadata, [field]: other.metadata[field] } }
  })

describe('a column that was sorted without the others', () => {
  test.each([
    ['title', 'title'],
    ['description', 'description'],
    ['file_fields', 'image'],
    ['receiver', 'receiver'],
  ] as const)('stops a plan and names the %s, on each machine, until --allow-exchanged', async (field, name) => {
    await machine.mint(rows)
    const sent = server.sent.length
    const refused = {
      code: 'edited_rows',
      message: expect.stringContaining(`8 of 8 rows with a changed ${name} get the ${name} of another row`),
      hint: expect.stringContaining(`Row a gets the ${name} of row h.`),
      details: { count: 8, field: expect.stringContaining(name) },
    }
    for (const each of [machine, await Machine.start(server)]) {
      await expect(each.plan(reversed(field))).rejects.toMatchObject(refused)
      await expect(each.apply(reversed(field), { adopt: true })).rejects.toMatchObject(refused)
      const change = field === 'receiver' ? 'transfer' : 'update'
      expect((await each.plan(reversed(field), { allowExchanged: true })).counts).toMatchObject({ [change]: 8 })
    }
    expect(server.sent).toHaveLength(sent)
  })

  test('has a note if its values are attributes, which dynamic NFTs may exchange', async () => {
    await machine.mint(rows)
    const { counts, notes } = await machine.plan(reversed('attribute'))
    expect(counts).toMatchObject({ update: 8 })
    expect(notes).toEqual([
      '8 of 8 rows with a changed attr:rank get the attr:rank of another row. If only one column was sorted, restore it',
    ])
  })

  test('has a note if its values are receivers of which there are few', async () => {
    const few = rows.map((one, at) => ({ ...one, receiver: WALLETS[at % 3] ?? '' }))
    const byWallet = few.map(({ receiver }) => receiver).sort()
    await machine.mint(few)
    // Another spelling of an address is the same address.
    const spelled = byWallet.map((wallet) => wallet.toUpperCase().replace('0X', '0x'))
    const sorted = few.map((one, at) => ({ ...one, receiver: spelled[at] ?? '' }))
    const { counts, notes } = await machine.plan(sorted)
    expect(counts).toMatchObject({ transfer: 6, unchanged: 2 })
    expect(notes).toEqual([
      "6 of 6 transfers exchange receivers among rows. If only the receiver column was sorted, restore it: transfers can't be undone",
    ])
  })

  test('has a note if a few of its rows are frozen', async () => {
    await machine.mint(rows)
    for (const title of ['Title a', 'Title b']) server.nft(title).isFrozen = true
    const { counts, notes } = await machine.plan(reversed('attribute'))
    expect(counts).toMatchObject({ update: 6, impossible: 2 })
    expect(notes).toEqual([
      '8 of 8 rows with a changed attr:rank get the attr:rank of another row. If only one column was sorted, restore it',
    ])
  })

  test('stops nothing if all of its rows are frozen', async () => {
    await machine.mint(rows)
    for (const nft of server.nfts) nft.isFrozen = true
    const { counts, notes } = await machine.plan(reversed('title'))
    expect([counts.impossible, notes]).toEqual([8, []])
  })

  test.each([
    ['from one wallet to another', 4, (at: number) => (at < 4 ? WALLETS[0] : WALLETS[1]), () => WALLETS[1]],
    [
      'between the wallets of four rows',
      4,
      (at: number) => WALLETS[at % 2],
      (at: number) => WALLETS[(at + +(at < 4)) % 2],
    ],
    [
      'of which a quarter is to new wallets',
      8,
      (at: number) => WALLETS[at % 2],
      (at: number) => WALLETS[at < 6 ? (at + 1) % 2 : at],
    ],
  ])('has no note beside transfers %s', async (_, transfers, before, after) => {
    const at = (of: (at: number) => string | undefined) => rows.map((one, n) => ({ ...one, receiver: of(n) ?? '' }))
    await machine.mint(at(before))
    const { counts, notes } = await machine.plan(at(after))
    expect([counts.transfer, notes]).toEqual([transfers, []])
  })

  test('is named with the other columns that moved with it', async () => {
    await machine.mint(rows)
    const both = reversed('title').map((one, at) => ({ ...one, receiver: rows.at(-1 - at)?.receiver ?? ALICE }))
    await expect(machine.plan(both)).rejects.toMatchObject({
      hint: expect.stringContaining('The same applies to title.'),
    })
  })
})

/** 24 rows, four for each of six receivers, and a copy of their receivers in order. */
const held = Array.from({ length: 24 }, (_, at) => row(`x${at}`, WALLETS[at % 6]))
const withReceivers = (of: readonly ManifestRow[], receivers: readonly string[]): ManifestRow[] =>
  of.map((one, at) => ({ ...one, receiver: receivers[at] ?? '' }))
const receiversOf = (of: readonly ManifestRow[]) => of.map(({ receiver }) => receiver)
const moveOne = (receiver = ''): ManifestRow[] => held.map((one, at) => (at === 3 ? { ...one, receiver } : one))

describe('receivers that were sorted after a change of an owner stop a plan', () => {
  const refused = { code: 'edited_rows', message: expect.stringContaining('with a changed receiver') }

  test('receivers that were sorted after a change of an owner was applied stop a plan in a copy without it', async () => {
    await machine.mint(held)
    await machine.applyAndNote(moveOne(WALLETS[0]), ['transfer'])
    const sorted = withReceivers(held, receiversOf(held).sort())
    for (const each of [machine, await Machine.start(server)]) {
      await expect(each.plan(sorted)).rejects.toMatchObject(refused)
    }
  })

  test('receivers that were sorted after a change of an owner by hand stop a plan, with that row edited to match', async () => {
    await machine.mint(held)
    server.transfer('x3', WALLETS[5] ?? '')
    const edited = moveOne(WALLETS[5])
    await machine.applyAndNote(edited, [])
    const sorted = withReceivers(edited, receiversOf(edited).sort())
    for (const each of [machine, await Machine.start(server)]) {
      await expect(each.plan(sorted)).rejects.toMatchObject(refused)
    }
  })

  test('receivers of which a third are sales stop a plan when sorted, with and without --take-over', async () => {
    await machine.mint(held)
    for (const at of [0, 1, 2, 3, 4, 5, 11, 16]) server.sell(`x${at}`, `0x${String(at).padStart(40, 'b')}`)
    const sorted = withReceivers(held, receiversOf(held).sort())
    for (const each of [machine, await Machine.start(server)]) {
      for (const takeOver of [false, true]) {
        await expect(each.plan(sorted, { takeOver })).rejects.toMatchObject(refused)
        expect((await each.plan(held, { takeOver })).notes.join()).not.toContain('exchange')
      }
    }
  })
})

/** 302 rows, 60 or less for each of six receivers. */
const many = Array.from({ length: 302 }, (_, at) => row(`y${at}`, WALLETS[(at * 5) % 6]))
const added = Array.from({ length: 40 }, (_, at) => row(`z${at}`, WALLETS[(at * 5) % 6]))
const sorted = (of: readonly ManifestRow[]) => withReceivers(of, receiversOf(of).sort())

describe('receivers that were sorted stop a plan', () => {
  test.each([
    [
      'after rows for one wallet were added',
      () => sorted([...many, ...added.slice(0, 25).map((one) => ({ ...one, receiver: WALLETS[2] ?? '' }))]),
    ],
    ['after rows for all wallets were added', () => sorted([...many, ...added.slice(0, 30)])],
    [
      'after as many rows for the first wallet were added',
      () => sorted([...many, ...many.map((one) => ({ ...one, id: `+${one.id}`, receiver: WALLETS[0] ?? '' }))]),
    ],
    ['before rows were removed', () => sorted(many).slice(30)],
    ['before a third of the rows was removed', () => sorted(many).slice(100)],
    ['before rows were removed and others added', () => [...sorted(many).slice(60), ...added]],
  ])('%s', async (_, edited) => {
    await machine.mint(many)
    for (const each of [machine, await Machine.start(server)]) {
      for (const adopt of [false, true]) {
        const refused = { code: 'edited_rows', message: expect.stringContaining('rows with a changed receiver ') }
        await expect(each.plan(edited(), { adopt, newRows: true })).rejects.toMatchObject(refused)
      }
    }
  })
})

const COLUMNS = ['title', 'description', 'image', 'receiver'] as const
type Sheet = Record<(typeof COLUMNS)[number], string>[]
const at = fc.nat(11)
const wallet = fc.nat(7).map((n) => WALLETS[n] ?? '')
const fresh = fc.nat(99).map((n) => `0x${String(n).padStart(40, 'c')}`)

/** Drops with what happens before the manifest is edited, and the edits. */
const drops = fc.record({
  size: fc.integer({ min: 12, max: 30 }),
  receivers: fc.integer({ min: 2, max: 8 }),
  /** Rows per title, description and file. */
  copies: fc.integer({ min: 1, max: 3 }),
  events: fc.array(fc.record({ kind: fc.constantFrom('apply', 'by hand', 'sale'), at, to: fc.oneof(wallet, fresh) }), {
    maxLength: 2,
  }),
  edits: fc.array(fc.record({ column: fc.constantFrom(...COLUMNS), at }), { maxLength: 2 }),
  isElsewhere: fc.boolean(),
  column: fc.constantFrom(...COLUMNS),
  order: fc.constantFrom('sorted', 'descending', 'shuffled' as const),
  seed: fc.nat(),
})
type DropCase = typeof drops extends fc.Arbitrary<infer Case> ? Case : never

const manifestOf = (sheet: Sheet): ManifestRow[] =>
  sheet.map(({ title, description, image, receiver }, n) => {
    const one = row(`x${n}`, receiver)
    return { ...one, metadata: { title, description, file_fields: [{ key: 'image', url: image }] } }
  })

/** Mints a drop on a machine. Its receivers are then changed by it, by hand with the same edit, and by sales. */
async function mintDrop({ size, receivers, copies, events }: DropCase) {
  const world = new Server()
  const minter = await Machine.start(world)
  const sheet: Sheet = Array.from({ length: size }, (_, n) => {
    const value = `${(Math.floor(n / copies) * 7) % 31}`
    const receiver = WALLETS[(n * 5) % receivers] ?? ''
    return {
      title: `Title ${value}`,
      description: `About ${value}`,
      image: `https://files.example/${value}.png`,
      receiver,
    }
  })
  await minter.mint(manifestOf(sheet))
  for (const { kind, at, to } of events) {
    const [line, nft] = [sheet[at], world.nfts[at]]
    if (line === undefined || nft === undefined) throw new Error('no such row')
    if (kind !== 'apply') nft.owner = to
    if (kind === 'by hand') nft.transfers++
    if (kind !== 'sale') line.receiver = to
    await minter.applyAndNote(manifestOf(sheet), ['transfer'])
  }
  return { world, minter, sheet }
}

function reordered(values: readonly string[], { order, seed }: Pick<DropCase, 'order' | 'seed'>): string[] {
  if (order !== 'shuffled') return order === 'sorted' ? values.toSorted() : values.toSorted().reverse()
  const rank = (n: number) => createHash('sha256').update(`${seed} ${n}`).digest('hex')
  return values
    .map((value, n) => [rank(n), value] as const)
    .toSorted()
    .map(([, value]) => value)
}

/** The thresholds of the documentation: half of the changed rows, and five values. */
function isDocumentedSwap(was: readonly string[], now: readonly string[]): boolean {
  const changed = was.flatMap((value, n) => (value === now[n] ? [] : [n]))
  const lost = changed.map((n) => was[n] ?? '')
  const free = [...lost]
  const moved = changed.filter((n) => {
    const index = free.indexOf(now[n] ?? '')
    if (index >= 0) free.splice(index, 1)
    return index >= 0
  })
  return moved.length * 2 >= changed.length && new Set(moved.map((n) => now[n])).size >= 5
}

test('a column that was reordered alone stops a plan, and plain edits do not, after any transfers', async () => {
  let swaps = 0
  await fc.assert(
    fc.asyncProperty(drops, async (drop) => {
      const { world, minter, sheet } = await mintDrop(drop)
      // Another machine doesn't know whether the manifest had the owner that somebody else transferred an NFT to.
      const others = new Set(drop.events.flatMap(({ kind, at }) => (kind === 'apply' ? [] : [at])))
      const knownReceiver = (n: number) =>
        (drop.isElsewhere && others.has(n) ? world.nfts[n]?.mintedTo : sheet[n]?.receiver) ?? ''
      const planner = drop.isElsewhere ? await Machine.start(world) : minter
      const edited = sheet.map((line) => ({ ...line }))
      for (const [n, { column, at }] of drop.edits.entries()) {
        Object.assign(edited[at] ?? {}, {
          [column]: column === 'receiver' ? `0x${String(n).padStart(40, 'e')}` : `${n}`,
        })
      }
      const { notes } = await planner.plan(manifestOf(edited))
      expect(notes.join()).not.toMatch(/exchange|of another row/u)
      const was = sheet.map((line, n) => (drop.column === 'receiver' ? knownReceiver(n) : line[drop.column]))
      const now = reordered(
        edited.map((line) => line[drop.column]),
        drop,
      )
      if (!isDocumentedSwap(was, now)) return
      swaps++
      const mixed = edited.map((line, n) => ({ ...line, [drop.column]: now[n] ?? '' }))
      await expect(planner.plan(manifestOf(mixed))).rejects.toMatchObject({ code: 'edited_rows' })
    }),
    { numRuns: runs(5) },
  )
  expect(swaps).toBeGreaterThan(0)
})

/** Drops with rows that are added before a column is reordered, and rows that are removed afterwards. */
const changing = fc.record({
  size: fc.integer({ min: 20, max: 50 }),
  values: fc.integer({ min: 5, max: 50 }),
  added: fc.nat(50),
  areNewValues: fc.boolean(),
  removed: fc.nat(10),
  adopt: fc.boolean(),
  isElsewhere: fc.boolean(),
  column: fc.constantFrom(...COLUMNS),
  order: fc.constantFrom('sorted', 'descending', 'shuffled' as const),
  seed: fc.nat(),
})

test('a column that was reordered alone stops a plan, even if rows were added and few were removed', async () => {
  let stopped = 0
  await fc.assert(
    fc.asyncProperty(changing, async (drop) => {
      const { size, values, added, areNewValues, removed, adopt, column } = drop
      const world = new Server()
      const minter = await Machine.start(world)
      const lineOf = (n: number): Sheet[number] => {
        const value = (n * 7) % values
        const receiver = `0x${String(value).padStart(40, 'd')}`
        return {
          title: `Title ${value}`,
          description: `About ${value}`,
          image: `https://files.example/${value}`,
          receiver,
        }
      }
      const minted = Array.from({ length: size }, (_, n) => lineOf(n))
      await minter.mint(manifestOf(minted))
      const planner = drop.isElsewhere ? await Machine.start(world) : minter
      const fresh = Array.from({ length: added }, (_, n) => lineOf(areNewValues ? n + size : n % 3))
      const all = [...minted, ...fresh]
      const now = reordered(
        all.map((line) => line[column]),
        drop,
      )
      const mixed = manifestOf(all.map((line, n) => ({ ...line, [column]: now[n] ?? '' })))
      const left = all.map((_, n) => n).filter((n) => (n * 13) % size >= removed)
      const named = left.filter((n) => n < size)
      const changed = named.filter((n) => now[n] !== minted[n]?.[column])
      const isStopped = changed.length * 2 >= named.length && changed.length - 2 * removed >= changed.length * 0.75
      if (!isStopped || new Set(changed.map((n) => minted[n]?.[column])).size < 5 + removed) return
      stopped++
      const manifest = left.flatMap((n) => mixed[n] ?? [])
      const planned = planner.plan(manifest, { adopt, newRows: true })
      await expect(planned).rejects.toMatchObject({ code: 'edited_rows' })
    }),
    { numRuns: runs(10) },
  )
  expect(stopped).toBeGreaterThan(0)
})

type Edit = readonly [from: string | null, to: string | null, field?: string]

/** Returns the notes of a plan that changes a field of rows from one value to another. Throws as the plan. */
async function judge(edits: readonly Edit[], named = edits.length): Promise<string[]> {
  return await machine.state((sql) => {
    createTables(sql, 'draft', 'changes', 'drifted')
    const bare = {
      reference: null,
      content: '',
      portable: null,
      plain: null,
      receivers: 0,
      files: 0,
      body: Buffer.from(''),
    }
    addRows(
      sql,
      edits.map((_, position) => ({ position, line: position + 2, key: `id:${position}`, ...bare })),
    )
    for (const [position, [from, to, field = 'title']] of edits.entries()) {
      if (from !== to) addChanges(sql, position, [{ action: 'update', fields: [{ field, from, to }] }])
    }
    return refuseExchanged(sql, { name: 'drop', setId: null } as Drop, {
      rows: 'draft',
      rowsWithNfts: named,
      isAllowed: false,
    }).notes
  })
}

/** Each of the values is replaced by the next one, and the last one by the first. */
const shifted = (values: readonly (string | null)[]): Edit[] =>
  values.map((from, at) => [from, values[(at + 1) % values.length] ?? null])
const letters = (count: number) => [...'abcdefghijklmnopqrstuvwxyz'].slice(0, count)
const renamed = (count: number): Edit[] => letters(count).map((letter) => [`old ${letter}`, `new ${letter}`])

describe('the values of one field', () => {
  test.each<[string, Edit[]]>([
    ['five values', shifted(letters(5))],
    ['five values beside as many new ones', [...shifted(letters(5)), ...renamed(5)]],
    ['numbers that were counted up', letters(10).map((_, at) => [`#${at + 1}`, `#${at + 2}`])],
  ])('are refused: %s', async (_, edits) => {
    const hint = expect.stringContaining(
      'intentionally, for example to renumber titles or to undo an exchange, add --allow-exchanged.',
    )
    await expect(judge(edits)).rejects.toMatchObject({ code: 'edited_rows', hint })
  })

  test.each<[string, Edit[]]>([
    ['four values', shifted(letters(4))],
    ['four values of two rows each', [...shifted(letters(4)), ...shifted(letters(4))]],
    ['five values beside more new ones', [...shifted(letters(5)), ...renamed(6)]],
    ['four values and an empty one', shifted([...letters(4), null])],
    [
      'values of another field',
      letters(5).flatMap((one) => [
        [one, `new ${one}`],
        [`old ${one}`, one, 'description'],
      ]),
    ],
  ])('are not refused: %s', async (_, edits) => {
    expect(await judge(edits)).toEqual([])
  })

  test('have a note where more rows get them than lose them, and where few of the rows have them', async () => {
    const unequal = letters(5).flatMap((one, at) => [
      ...shifted(letters(5)).slice(at, at + 1),
      [`old ${one}`, one] as const,
    ])
    const note = 'rows with a changed title get the title of another row. If only one column was sorted, restore it'
    expect(await judge(unequal)).toEqual([`5 of 10 ${note}`])
    expect(await judge([...unequal, ...shifted(letters(20).slice(5))], 100)).toEqual([`20 of 25 ${note}`])
  })

  test('are refused in any other order, whichever of them repeat', async () => {
    const order = fc
      .uniqueArray(fc.string(), { minLength: 5, maxLength: 20 })
      .chain((values) => fc.tuple(fc.constant(values), fc.nat(3), fc.integer({ min: 1, max: values.length - 1 })))
    await fc.assert(
      fc.asyncProperty(order, async ([values, copies, by]) => {
        const column = values.flatMap((value) => Array<string>(copies + 1).fill(value))
        const shift = by * (copies + 1)
        const edits = column.map((from, at) => [from, column[(at + shift) % column.length] ?? ''] as const)
        await expect(judge(edits)).rejects.toMatchObject({ code: 'edited_rows' })
      }),
      { numRuns: 50 },
    )
  })

  test('are not refused after usual edits', async () => {
    const few = fc.constantFrom('red', 'green', 'blue', 'gold')
    const old = fc.array(
      fc.string().map((text) => `old ${text}`),
      { minLength: 1, maxLength: 30 },
    )
    const usual = fc.oneof(
      // Traits that repeat across rows.
      fc.array(fc.tuple(few, few), { maxLength: 50 }),
      // New values, or one for all rows.
      old.map((from) => from.map((one) => [one, `new ${one}`] as const)),
      old.map((from) => from.map((one) => [one, 'old '] as const)),
      // Two rows that exchange theirs, beside new values.
      old.map((from) => [['x', 'y'] as const, ['y', 'x'] as const, ...from.map((one) => [one, `${one}!`] as const)]),
    )
    await fc.assert(
      fc.asyncProperty(usual, async (edits) => {
        expect(await judge(edits)).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})
