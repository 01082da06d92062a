import { beforeEach, describe, expect, test } from 'vitest'
import { TransportError } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { ALICE, BOB, CAROL, Machine, row, Server } from './world.ts'

let server: Server
let machine: Machine
beforeEach(async () => {
  server = new Server()
  machine = await Machine.start(server)
})

const sold = (id: string, from = CAROL, to = ALICE) =>
  `drift transfer ${id}: receiver ${from} → ${to}, the owner of the NFT was changed outside the manifest`

describe('an NFT that its holder sold on chain', () => {
  test('is not taken back, from any machine', async () => {
    await machine.mint([row('a'), row('b')])
    server.sell('a', CAROL)
    for (const each of [machine, await Machine.start(server)]) {
      expect((await each.plan([row('a'), row('b')])).changes).toEqual([sold('a')])
      expect((await each.plan([row('a', BOB), row('b')])).changes).toEqual([sold('a', CAROL, BOB)])
      expect(await each.apply([row('a'), row('b')])).toMatchObject({ transfer: { done: 0 } })
    }
    expect(server.nft('a').owner).toBe(CAROL)
  })

  test.each([
    ['gdn', true],
    ['a hosted service', false],
  ])('is not taken back on a server of %s, before and after a transfer of ours', async (_, isOurs) => {
    server = new Server({ isOurs })
    machine = await Machine.start(server)
    await machine.mint([row('a')])
    server.sell('a', CAROL)
    expect((await machine.plan([row('a')])).changes).toEqual([sold('a')])
    server.sell('a', ALICE)
    await machine.apply([row('a', BOB)])
    expect((await machine.plan([row('a', BOB)])).changes).toEqual([])
    server.sell('a', CAROL)
    expect((await machine.plan([row('a', BOB)])).changes).toEqual([sold('a', CAROL, BOB)])
  })
})

test.each([
  ['enter the current value, if the row has an ID', 'a', /To accept it, enter the current value in the manifest/],
  ['add an ID first, if the row has none', null, /To accept it, add an id column to the manifest, run gdn apply, then/],
])('a plan that keeps an owner says how to accept it: %s', async (_, id, accept) => {
  const one = { ...row('a'), id }
  await machine.mint([one])
  server.sell('a', CAROL)
  expect((await machine.plan([one])).notes).toContainEqual(expect.stringMatching(accept))
})

describe('a change made outside the manifest that the manifest has too', () => {
  /** Somebody else updates an NFT. */
  const updateElsewhere = (id: string, title: string) => {
    const nft = server.nft(id)
    Object.assign(nft, { metadata: { ...Object(nft.metadata), title }, revisionReference: null })
    nft.revision++
  }
  const retitled = (title: string) => {
    const one = row('a')
    return { ...one, metadata: { ...one.metadata, title } }
  }

  test('is known after apply: a later edit of the row is an update', async () => {
    await machine.mint([row('a'), row('b')])
    updateElsewhere('a', 'Elsewhere')
    const drift = 'drift update a: title Elsewhere → Here, the metadata of the NFT was changed outside the manifest'
    await machine.applyAndNote([retitled('Here'), row('b')], [])
    expect((await machine.plan([retitled('Here'), row('b')])).changes).toEqual([drift])
    await machine.applyAndNote([retitled('Elsewhere'), row('b')], [])
    const edited = [retitled('Here'), row('b')]
    expect((await machine.plan(edited)).changes).toEqual(['update update a: title Elsewhere → Here'])
    // Other machines have not seen it.
    expect((await (await Machine.start(server)).plan(edited)).changes).toEqual([drift])
    updateElsewhere('Elsewhere', 'Again')
    expect((await machine.plan(edited)).changes).toEqual([drift.replace('Elsewhere', 'Again')])
  })

  test.each([
    ['through the server', (id: string, to: string) => server.transfer(id, to)],
    ['on chain', (id: string, to: string) => server.sell(id, to)],
  ])('is known after apply: a later receiver of an NFT that was transferred %s gets it', async (_, move) => {
    await machine.mint([row('a'), row('b')])
    move('a', CAROL)
    await machine.applyAndNote([row('a', CAROL), row('b')], [])
    const change = [`transfer transfer a: receiver ${CAROL} → ${BOB}`]
    expect((await machine.plan([row('a', BOB), row('b')])).changes).toEqual(change)
    await machine.applyAndNote([row('a', BOB), row('b')], ['transfer'])
    expect(server.nft('a').owner).toBe(BOB)
    move('a', CAROL)
    expect((await machine.plan([row('a', ALICE), row('b')])).changes).toEqual([sold('a')])
  })
})

test('transfers an NFT to a new receiver, from any machine', async () => {
  await machine.mint([row('a')])
  const change = [`transfer transfer a: receiver ${ALICE} → ${BOB}`]
  for (const each of [machine, await Machine.start(server)])
    expect((await each.plan([row('a', BOB)])).changes).toEqual(change)
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1 } })
  expect((await machine.plan([row('a', BOB)])).changes).toEqual([])
})

describe('a manifest of the same name in another folder', () => {
  const rows = [row('a'), row('b'), row('c')]
  const elsewhere = { manifestPath: '/elsewhere/drop.csv' }
  const taken = (key: string, line: number) => ({ key, line, run: expect.stringContaining('drop') })

  test.each([
    ['1 NFT that would change belongs', [row('a', BOB), row('b')], [taken('a', 2)]],
    ['2 NFTs that would change belong', [row('a', BOB), row('b', BOB)], [taken('a', 2), taken('b', 3)]],
  ])('changes no NFT that the first one minted: %s to it', async (message, edited, named) => {
    await machine.mint(rows)
    await expect(machine.plan(edited, elsewhere)).rejects.toMatchObject({
      ...{ code: 'already_accepted', message: expect.stringMatching(`^${message} to another run`) },
      details: { rows: named },
    })
    expect((await machine.plan(edited)).changes).toHaveLength(named.length)
  })

  test('has no changes if none differs', async () => {
    await machine.mint(rows)
    expect((await machine.plan(rows, elsewhere)).changes).toEqual([])
  })
})

test('changes its own NFT beside that of another manifest or collection whose row has the same ID', async () => {
  await machine.mint([row('a')])
  await machine.mint([row('a')], { manifestPath: '/drops/other.csv', again: true })
  await machine.mint([row('a')], { contractAddress: ALICE })
  expect((await machine.plan([row('a', BOB)])).changes).toHaveLength(1)
})

describe('--prune on a machine that did not mint the drop', () => {
  const away = async (rows: readonly ManifestRow[]) =>
    (await (await Machine.start(server)).plan(rows, { prune: true })).notes
  const where =
    'Run gdn plan with --prune on the machine that minted the drop, or burn NFTs with gdn nft burn <nft_gdn_id>'

  /** An NFT of the server with its title, which is the ID of its row, and its token. */
  const nftOf = (key: string) => {
    const { id } = server.nft(key)
    return `${id} ("${key}", token ${id.replace('nft-', '')})`
  }

  const notesOf = (key: string) => [
    "1 NFT of the collection has no row, and was not minted on this machine. gdn can't determine whether it belongs to this drop",
    `Without a row: ${nftOf(key)}`,
    where,
  ]

  test('names the NFTs without a row, and where they can be burned', async () => {
    await machine.mint([row('a'), row('b'), row('c'), row('d')])
    const ids = ['b', 'c', 'd'].map(nftOf).join(', ')
    expect(await away([row('a')])).toEqual([
      "3 NFTs of the collection have no row, and were not minted on this machine. gdn can't determine whether they belong to this drop",
      `Without a row: ${ids}`,
      where,
    ])
    Object.assign(server.nft('b'), { isBurned: true })
    Object.assign(server.nft('c'), { status: 'failed' })
    expect(await away([row('a')])).toEqual(notesOf('d'))
    expect(await away([row('a'), row('d')])).toEqual([])
    expect((await machine.plan([row('a')], { prune: true })).notes).toEqual([])
  })

  test('names an NFT of another machine also after it has minted rows of its own', async () => {
    await machine.mint([row('a'), row('b')])
    const other = await Machine.start(server)
    await other.mint([row('a'), row('c')])
    expect(await other.plan([row('a')], { prune: true })).toMatchObject({
      ...{ changes: [expect.stringMatching(/^burn burn c/)], notes: notesOf('b') },
    })
    expect(await machine.plan([row('a')], { prune: true })).toMatchObject({
      ...{ changes: [expect.stringMatching(/^burn burn b/)], notes: notesOf('c') },
    })
  })

  test('names an NFT that its own mint found on the server', async () => {
    await machine.mint([row('a'), row('b')])
    const other = await Machine.start(server)
    await other.mint([row('a'), row('b'), row('c')])
    expect((await other.plan([row('a'), row('c')], { prune: true })).notes).toEqual(notesOf('b'))
  })

  test('says only where they can be burned if the server does not list the collection', async () => {
    await machine.mint([row('a'), row('b')])
    const refusal = { status: 403, json: { error: { title: 'Forbidden', message: 'not listed' } } }
    server.onRequest = (endpoint) => (endpoint === 'getnftgdnids' ? refusal : undefined)
    expect(await away([row('a')])).toEqual([where])
  })
})

describe('--prune', () => {
  test('--prune of an unknown drop ends with an interruption of its listing', async () => {
    const stop = new AbortController()
    server.onRequest = (endpoint) => {
      if (endpoint !== 'getnftgdnids') return undefined
      stop.abort(new GdnError('interrupted', 'interrupted'))
      throw new TransportError('interrupted', true)
    }
    const planned = (await Machine.start(server)).plan([row('a')], { prune: true, signal: stop.signal })
    await expect(planned).rejects.toMatchObject({ code: 'interrupted' })
  })

  const rows = [row('a'), row('b'), row('c')]
  const burn = (id: string) => `burn burn ${id}: owner ${ALICE} → null`

  test('burns NFTs whose rows are gone, once', async () => {
    await machine.mint(rows)
    const left = [row('a'), row('c')]
    expect((await machine.plan(left)).changes).toEqual([])
    expect((await machine.plan(left, { prune: true })).changes).toEqual([burn('b')])
    expect(await machine.apply(left, { prune: true })).toMatchObject({ burn: { done: 1 } })
    expect((await machine.plan(left, { prune: true })).changes).toEqual([])
    expect(server.bodies('burnnft')).toHaveLength(1)
  })

  test('burns no NFT that the run found in the collection and adopted', async () => {
    server.mint('a', ALICE)
    await machine.mint(rows, { adopt: true })
    expect(server.nfts).toHaveLength(3)
    expect((await machine.plan([row('c')], { prune: true })).changes).toEqual([burn('b')])
  })

  test.each(['failed', 'error'] as const)('burns no NFT whose mint has the status %s', async (status) => {
    await machine.mint(rows)
    Object.assign(server.nft('b'), { status })
    expect((await machine.plan([row('c')], { prune: true })).changes).toEqual([burn('a')])
  })

  test('burns no NFT that its holder sold on chain', async () => {
    await machine.mint(rows)
    server.sell('b', CAROL)
    expect((await machine.plan([row('a'), row('c')], { prune: true })).changes).toEqual([
      `drift burn b: owner ${CAROL} → null, the owner of the NFT was changed outside the manifest`,
    ])
  })

  test('reports a burn once the NFT is burned, which follows later than its transaction', async () => {
    await machine.mint(rows)
    server.holds = true
    let polls = 0
    server.onRequest = (endpoint) => {
      const [transaction] = server.transactions
      if (endpoint !== 'gettransactions' || transaction === undefined) return undefined
      polls++
      if (polls === 1) transaction.status = 'deployed'
      if (polls === 3) transaction.effect()
      return undefined
    }
    expect(await machine.apply([row('a'), row('c')], { prune: true })).toMatchObject({ burn: { done: 1, pending: 0 } })
    expect(server.nft('b').isBurned).toBe(true)
  })

  test('reports why a burn failed', async () => {
    await machine.mint(rows)
    server.holds = true
    server.onRequest = (endpoint) => {
      if (endpoint === 'gettransactions') server.end('failed')
      return undefined
    }
    const { burn } = await machine.apply([row('a'), row('c')], { prune: true })
    expect(burn.failed.first).toMatchObject([{ key: 'b', reason: 'the burn failed: the network rejected it' }])
  })
})
