/** @module-tag slow */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { NOTHING_SENT_HINT } from '../../src/core/nothing-sent.ts'
import { COMMANDS, DROPS, run, writeShop } from './two-drops.ts'
import { ALICE, Machine, row, Server } from './world.ts'

const { jan, feb } = DROPS

beforeAll(writeShop)

let server: Server
const start = () => Machine.start(server)
beforeEach(() => {
  server = new Server()
})

const refusal = (count: number, found: string, own: string) => ({
  code: 'seems_minted',
  message: `${count} rows were minted by the run "${found}", but this run is "${own}"`,
  hint: expect.stringMatching(/add --adopt[\s\S]*add --run <name>/),
})

describe('another drop of the same file name', () => {
  test.each(COMMANDS)('is stopped by %s on a machine that does not know the first', async (command) => {
    await run(await start(), 'mint', 'jan')
    const other = await start()
    await expect(run(other, command, 'feb')).rejects.toMatchObject({
      ...refusal(2, 'jan/drop.csv', 'feb/drop.csv'),
      details: {
        rows: [
          { key: 'a', nft_gdn_id: 'nft-1', label: 'jan/drop.csv' },
          { key: 'b', nft_gdn_id: 'nft-2', label: 'jan/drop.csv' },
        ],
        ...{ count: 2, label: 'feb/drop.csv' },
      },
    })
    expect(server.titles).toEqual(['January 1', 'January 2'])
    expect(server.sent).toHaveLength(1)
  })

  describe.each([
    ['with a label', feb.options],
    ['without one', { ...feb.options, label: null }],
  ])('%s', (_, options) => {
    test.each(COMMANDS)('is stopped by %s where the first got its IDs on another machine', async (command) => {
      const own = await start()
      const unnamed = jan.rows.map((one) => ({ ...one, id: null }))
      await own.mint(unnamed, jan.options)
      await (await start()).apply(jan.rows, jan.options)
      await expect(run(own, command, 'feb', options)).rejects.toMatchObject(
        command === 'mint'
          ? { code: 'seems_minted' }
          : {
              code: 'already_accepted',
              message: expect.stringMatching(
                /^2 NFTs that would change belong to another run of this collection: drop-/,
              ),
              details: { rows: [{ key: 'a' }, { key: 'b' }] },
            },
      )
      expect(server.nfts).toMatchObject([
        { metadata: { title: 'January 1' }, owner: ALICE },
        { metadata: { title: 'January 2' }, owner: ALICE },
      ])
      // Nothing of it is left behind that would stop the first.
      const edited = [row('a', ALICE, 'January 1!'), row('b', ALICE, 'January 2')]
      await own.apply(edited, jan.options)
      expect(server.titles).toEqual(['January 1!', 'January 2'])
    })
  })

  test('is minted as a run of its own with --run', async () => {
    await run(await start(), 'mint', 'jan')
    const other = await start()
    await run(other, 'mint', 'feb', { runName: 'february', label: 'february' })
    expect(server.titles).toEqual(['January 1', 'January 2', 'February 1', 'February 2', 'February 3'])
    expect(server.labels).toEqual([...Array(2).fill('jan/drop.csv'), ...Array(3).fill('february')])
  })

  describe.each([{ again: true }, { again: false }])('with --run on the machine of the first, and %o', ({ again }) => {
    const february = { runName: 'february', label: 'february' }
    const edited = feb.rows.map(({ id, receiver }) => row(id ?? '', receiver, `${id}!`))

    test('is found on every machine', async () => {
      const first = await start()
      await run(first, 'mint', 'jan')
      await run(first, 'mint', 'feb', { ...february, again })
      const known = { unchanged: 3, mint: 0 }
      for (const machine of [first, await start()]) {
        expect((await machine.plan(feb.rows, { ...feb.options, ...february })).counts).toMatchObject(known)
      }
      expect(await (await start()).apply(edited, { ...feb.options, ...february })).toMatchObject({
        update: { done: 3 },
      })
      expect(server.titles).toEqual(['January 1', 'January 2', 'a!', 'b!', 'c!'])
    })

    test('is not minted a second time by another machine with --again', async () => {
      const first = await start()
      await run(first, 'mint', 'jan')
      await run(first, 'mint', 'feb', { ...february, again })
      const second = await start()
      await run(second, 'mint', 'jan')
      await run(second, 'mint', 'feb', { ...february, again: true })
      await expect((await start()).mint(edited, { ...feb.options, ...february, again: true })).rejects.toMatchObject({
        code: 'seems_minted',
      })
      expect(server.titles).toHaveLength(5)
      // Once it knows the run as finished, that is a second drop.
      await run(second, 'mint', 'feb', { ...february, again: true })
      expect(server.titles).toHaveLength(8)
    })
  })
})

describe('the same drop', () => {
  test.each(COMMANDS)('is known by its label to %s on any machine', async (command) => {
    await run(await start(), 'mint', 'jan')
    await run(await start(), command, 'jan')
    expect(server.titles).toEqual(['January 1', 'January 2'])
  })

  test.each([
    ['no label here', { own: null, found: 'jan/drop.csv' }],
    ['no label on the server', { own: 'feb/drop.csv', found: null }],
  ])('is compared as before with %s', async (_, { own, found }) => {
    await run(await start(), 'mint', 'jan')
    server.label(found)
    const { changes } = await (await start()).plan(feb.rows, { ...feb.options, label: own })
    expect(changes).toHaveLength(5)
    await expect((await start()).mint(feb.rows, { ...feb.options, label: own })).rejects.toMatchObject({
      message: '2 rows have the IDs of NFTs in this collection, but different content',
    })
  })

  test('is not said to have other content if its comparison is interrupted', async () => {
    await run(await start(), 'mint', 'jan')
    const stop = new AbortController()
    server.onRequest = (endpoint) => {
      if (endpoint === 'getreferences') stop.abort(new GdnError('interrupted', 'interrupted'))
      return undefined
    }
    const options = { ...jan.options, signal: stop.signal }
    await expect((await start()).mint(jan.rows, options)).rejects.toMatchObject({
      code: 'interrupted',
      hint: NOTHING_SENT_HINT,
    })
    expect(server.sent).toHaveLength(1)
  })

  test('is changed by the machine that minted it where the path has another label since', async () => {
    const machine = await start()
    await run(machine, 'mint', 'jan')
    const edited = [row('a', ALICE, 'New'), row('b', ALICE, 'January 2')]
    expect(await machine.apply(edited, { ...jan.options, label: 'shop/jan/drop.csv' })).toMatchObject({
      update: { done: 1 },
    })
    expect(server.titles).toEqual(['New', 'January 2'])
  })

  test.each(['plan', 'apply'] as const)(
    'stops %s on the machine that minted it once another one has adopted its NFTs, until --adopt',
    async (command) => {
      const machine = await start()
      await run(machine, 'mint', 'jan')
      await run(await start(), 'apply', 'feb', { adopt: true })
      expect(server.titles.slice(0, 2)).toEqual(['February 1', 'February 2'])
      await expect(run(machine, command, 'jan')).rejects.toMatchObject({
        code: 'seems_minted',
        message: 'the NFTs of 2 rows now belong to the run "feb/drop.csv", but this run is "jan/drop.csv"',
        hint: expect.stringContaining('add --adopt'),
        details: { rows: [{ key: 'a', label: 'feb/drop.csv' }, { key: 'b' }], count: 2, label: 'jan/drop.csv' },
      })
      expect(server.titles.slice(0, 2)).toEqual(['February 1', 'February 2'])
      await run(machine, command, 'jan', { adopt: true })
    },
  )
})

describe('a server without labels', () => {
  test('gets none, and the drop is compared as before', async () => {
    server = new Server({ hasLabels: false })
    await run(await start(), 'mint', 'jan')
    expect(Object.keys(server.bodies('createnft')[0] ?? {})).not.toContain('reference_label')
    expect(Object.keys(server.bodies('createnft')[0] ?? {})).not.toContain('reference_kinds')
    const { changes } = await (await start()).plan(feb.rows, feb.options)
    expect(changes).toHaveLength(5)
  })

  test('a server without labels gets none for rows without reference IDs either', async () => {
    server = new Server({ isOurs: false })
    await run(await start(), 'mint', 'jan')
    const [{ reference_ids, reference_label, reference_kinds } = {}] = server.bodies('createnft')
    expect([reference_ids, reference_label, reference_kinds]).toEqual([undefined, undefined, undefined])
  })
})

describe('a request', () => {
  test('has the label, and whether each reference ID is made from an ID or from content', async () => {
    const unnamed = { ...row('a'), id: null, metadata: { ...row('a').metadata, title: 'Without' } }
    await (await start()).mint([row('b'), unnamed], jan.options)
    expect(server.bodies('createnft')).toMatchObject([
      { reference_label: 'jan/drop.csv', reference_kinds: ['id', 'content'] },
    ])
  })

  test('a request of a run without a label has only the kinds', async () => {
    await (await start()).mint([row('a')], { ...jan.options, label: null })
    expect(server.bodies('createnft')).toMatchObject([{ reference_kinds: ['id'] }])
    expect(server.bodies('createnft')[0]).not.toHaveProperty('reference_label')
  })

  test('a request that the server rejects for its label stops the run, and its rows stay planned', async () => {
    await run(await start(), 'mint', 'jan')
    const machine = await start()
    // Without a look at what is there, the server decides.
    const ends = machine.mint(feb.rows, { ...feb.options, lookup: false })
    const stopped = { code: 'seems_minted', hint: expect.stringMatching(/add --adopt[\s\S]*--run <name>/) }
    await expect(ends).rejects.toMatchObject(stopped)
    expect(await machine.live('createnft')).toEqual([])
    await expect(machine.mint(feb.rows, feb.options)).rejects.toMatchObject(stopped)
    expect(server.titles).toEqual(['January 1', 'January 2'])
    await machine.mint(feb.rows, { ...feb.options, adopt: true })
    expect(server.labels).toEqual(Array(3).fill('feb/drop.csv'))
    expect(server.titles).toEqual(['January 1', 'January 2', 'February 3'])
  })
})

describe('--adopt', () => {
  const moved = { manifestPath: '/shop/archive/drop.csv', label: 'archive/drop.csv' }

  test('lets mint take over a drop that was moved, and replaces its label', async () => {
    await run(await start(), 'mint', 'jan')
    const machine = await start()
    await machine.mint([...jan.rows, row('c')], { ...moved, adopt: true })
    expect(server.titles).toEqual(['January 1', 'January 2', 'c'])
    expect(server.labels).toEqual(Array(3).fill('archive/drop.csv'))
    // The first place is another drop now.
    await expect((await start()).mint(jan.rows, jan.options)).rejects.toMatchObject(
      refusal(2, 'archive/drop.csv', 'jan/drop.csv'),
    )
  })

  test('lets plan show the changes and say what it replaces; apply makes them', async () => {
    await run(await start(), 'mint', 'jan')
    const edited = [row('a', ALICE, 'New'), row('b', ALICE, 'January 2')]
    const machine = await start()
    const { changes, notes } = await machine.plan(edited, { ...moved, adopt: true })
    expect(changes).toEqual(['update update a: title January 1 → New'])
    expect(notes).toEqual(['2 NFTs have the label "jan/drop.csv". gdn apply replaces it with "archive/drop.csv"'])
    expect(server.labels).toEqual(Array(2).fill('jan/drop.csv'))
    await machine.apply(edited, { ...moved, adopt: true })
    expect(server.labels).toEqual(Array(2).fill('archive/drop.csv'))
    expect(server.titles).toEqual(['New', 'January 2'])
    expect((await (await start()).plan(edited, moved)).changes).toEqual([])
  })

  test('--adopt of a saved plan is only for the labels that it names', async () => {
    await run(await start(), 'mint', 'jan')
    const machine = await start()
    const planWith = (adoptLabels: string[]) => machine.plan(jan.rows, { ...moved, adoptLabels })
    await expect(planWith([])).rejects.toMatchObject(refusal(2, 'jan/drop.csv', 'archive/drop.csv'))
    await expect(planWith(['other'])).rejects.toMatchObject({ code: 'seems_minted' })
    expect((await planWith(['jan/drop.csv'])).changes).toEqual([])
  })

  test('changes nothing if the label was replaced since', async () => {
    await run(await start(), 'mint', 'jan')
    let n = 0
    server.onRequest = (endpoint) => void (endpoint === 'relabelreferences' && server.label(`${++n}/drop.csv`))
    const machine = await start()
    const edited = [row('a', ALICE, 'New')]
    await expect(machine.apply(edited, { ...moved, adopt: true })).rejects.toMatchObject({ code: 'refused' })
    await expect(machine.mint(edited, { ...moved, adopt: true })).rejects.toMatchObject({ code: 'refused' })
    expect(server.titles).toEqual(['January 1', 'January 2'])
    expect(server.labels).toEqual(Array(2).fill('2/drop.csv'))
  })

  test('after a kill between the label and the rows is repeated by the same command', async () => {
    await run(await start(), 'mint', 'jan')
    const machine = await start()
    server.onRequest = (endpoint) => {
      if (endpoint === 'relabelreferences') throw new Error('killed')
      return undefined
    }
    await expect(machine.mint(jan.rows, { ...moved, adopt: true })).rejects.toThrow()
    server.label('archive/drop.csv')
    server.onRequest = () => undefined
    await machine.mint(jan.rows, { ...moved, adopt: true })
    expect(server.titles).toEqual(['January 1', 'January 2'])
  })
})

test.each([
  ['no object', null],
  ['no count', { requests: { reference_ids: [], reference_label: 'x' } }],
  ['text as the count', { requests: { reference_ids: [], reference_label: 'x' }, relabeled: '2\u001b[2J' }],
])('a response to new labels with %s stops mint and apply with one error', async (_, json) => {
  await run(await start(), 'mint', 'jan')
  server.onRequest = (endpoint) => (endpoint === 'relabelreferences' ? { status: 200, json } : undefined)
  const edited = [row('a', ALICE, 'New')]
  const options = { ...jan.options, label: 'archive/drop.csv', adopt: true }
  for (const command of ['mint', 'apply'] as const) {
    await expect((await start())[command](edited, options)).rejects.toMatchObject({
      code: 'bad_answer',
      message: expect.stringContaining("JSON that does not match the API's schema"),
    })
  }
  expect(server.sent).toHaveLength(1)
})

describe('hostile labels of a server', () => {
  test.each([
    ['with control characters', '\u001b[2J\n\u202egpj.drop', /^2 rows were minted by the run "\\u001b\[2J\\n/],
    ['of 10 kB', 'x'.repeat(10_000), /^2 rows were minted by the run "x{99}…", but this run is "feb\/drop.csv"$/],
    [
      'of emoji',
      '🚀'.repeat(5_000),
      /^2 rows were minted by the run "(🚀)+\ufffd?…", but this run is "feb\/drop.csv"$/,
    ],
    ['that are empty', '', /^2 rows were minted by the run "", but this run is "feb\/drop.csv"$/],
  ])('%s are compared whole and shown short', async (_, label, message) => {
    await run(await start(), 'mint', 'jan')
    server.label(label)
    for (const command of COMMANDS) {
      await expect(run(await start(), command, 'feb')).rejects.toMatchObject({
        code: 'seems_minted',
        message: expect.stringMatching(message),
      })
    }
  })

  test('hostile labels of more than 20 kinds are adopted by no plan', async () => {
    const rows = Array.from({ length: 30 }, (_, n) => row(`r${n}`))
    const first = await start()
    for (const [n, one] of rows.entries()) {
      await first.mint([one], { manifestPath: `/shop/${n}/drop.csv`, label: `${n}/drop.csv` })
    }
    const machine = await start()
    await expect(machine.plan(rows, { ...feb.options, adopt: true })).rejects.toMatchObject({
      code: 'seems_minted',
      message:
        '30 rows were minted by the run "0/drop.csv", "1/drop.csv", "2/drop.csv", and 18 more, but this run is "feb/drop.csv"',
      hint: 'Nothing was sent. --adopt can adopt the NFTs of at most 20 labels.',
    })
  })
})
