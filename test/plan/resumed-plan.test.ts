/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { TransportError } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { ALICE, BOB, type Body, CAROL, Machine, row, type Saved, Server } from './world.ts'

const KINDS = ['mint', 'update', 'transfer', 'both', 'taken update', 'taken transfer', 'taken both', 'burn'] as const
type Kind = (typeof KINDS)[number]

/** Two rows of each kind, because the server numbers the updates of a collection together. */
const idsOf = (kind: Kind): string[] => {
  const first = 'abcdefghijklmnop'.slice(KINDS.indexOf(kind) * 2)
  return [first.charAt(0), first.charAt(1)]
}

const isUpdated = (kind: Kind): boolean => /update|both/.test(kind)
const isMoved = (kind: Kind): boolean => /transfer|both/.test(kind)
const before = (kind: Kind): ManifestRow[] => (kind === 'mint' ? [] : idsOf(kind).map((id) => row(id)))
const after = (kind: Kind): ManifestRow[] =>
  kind === 'burn' ? [] : idsOf(kind).map((id) => row(id, isMoved(kind) ? BOB : ALICE, isUpdated(kind) ? `${id}!` : id))

const hasEffect = (endpoint: string) => ['createnft', 'updatednft', 'transfernft', 'burnnft'].includes(endpoint)

/** How a request is interrupted: before it is sent, while its transaction is pending, or after it was made. */
type Point = 'unsent' | 'pending' | 'made'

interface World {
  server: Server
  one: Machine
  rows: ManifestRow[]
  options: { takeOver: boolean; prune: boolean }
  saved: Saved
}

/** Saves a plan with changes of these kinds. Other clients changed the NFTs to take over before it was made. */
async function planned(kinds: readonly Kind[]): Promise<World> {
  const server = new Server()
  const one = await Machine.start(server)
  await one.mint([row('z'), ...kinds.flatMap(before)])
  for (const kind of kinds.filter((kind) => kind.startsWith('taken'))) {
    for (const id of idsOf(kind)) {
      if (isMoved(kind)) server.sell(id, CAROL)
      if (isUpdated(kind)) server.update(id, `${id}?`)
    }
  }
  const rows = [row('z'), ...kinds.flatMap(after)]
  const options = { takeOver: true, prune: true }
  const { saved, changedSinceSaved, counts } = await one.plan(rows, options)
  expect([changedSinceSaved.count, counts.impossible, counts.drift]).toEqual([0, 0, 0])
  return { server, one, rows, options, saved }
}

/** Applies a saved plan as `gdn apply` does. */
async function apply(
  machine: Machine,
  { rows, options, saved }: World,
  signal = new AbortController().signal,
): Promise<number> {
  const { changedSinceSaved, counts } = await machine.plan(rows, options, saved)
  if (changedSinceSaved.count > 0) return changedSinceSaved.count
  if (counts.mint > 0) await machine.mint(rows, { newRows: true, keepEdited: true, signal })
  await machine.apply(rows, { ...options, newRows: true, signal })
  return 0
}

/** Applies a plan until its nth request with an effect. Returns whether the plan has that many. */
async function interrupted(machine: Machine, world: World, nth: number, point: Point): Promise<boolean> {
  const { server } = world
  const over = new AbortController()
  let left = nth
  server.onRequest = (endpoint: string, body: Body) => {
    if (over.signal.aborted) throw new TransportError('the process has ended', false)
    if (!hasEffect(endpoint) || left-- > 0) return undefined
    over.abort(new GdnError('interrupted', 'interrupted'))
    if (point === 'unsent') throw new TransportError('the process has ended', false)
    server.holds = point === 'pending'
    return server.cut(endpoint, body)
  }
  const end = await apply(machine, world, over.signal).catch((error: unknown) => error)
  server.onRequest = () => undefined
  server.holds = false
  if (!over.signal.aborted) expect(end).toBe(0)
  return over.signal.aborted
}

/** Ends pending transactions after the resumed command has compared the plan. */
function endWhenSending(server: Server): void {
  server.onRequest = (endpoint) => {
    if (hasEffect(endpoint) || endpoint === 'gettransactions') server.end()
    return undefined
  }
}

function expectDone({ server, rows }: World, kinds: readonly Kind[]): void {
  const left = server.nfts.filter(({ isBurned }) => !isBurned)
  const found = left.map(({ metadata, owner }) => `${(metadata as { title: string }).title} ${owner}`)
  expect(found.sort()).toEqual(rows.map(({ metadata, receiver }) => `${metadata.title} ${receiver}`).sort())
  expect(server.nfts).toHaveLength(1 + 2 * kinds.length)
  // Each change has taken effect once.
  expect(server.transactions.filter(({ status }) => status === 'deployed')).toHaveLength(
    kinds.reduce(
      (sum, kind) => sum + 2 * (Number(isUpdated(kind)) + Number(isMoved(kind)) + Number(kind === 'burn')),
      0,
    ),
  )
}

const SETS: (readonly Kind[])[] = [...KINDS.map((kind) => [kind]), [...KINDS]]
const POINTS: readonly Point[] = ['unsent', 'pending', 'made']
const table = SETS.flatMap((kinds) => POINTS.map((point) => [kinds.join(' and '), point, kinds] as const))

describe('a saved plan', () => {
  test.each(table)(
    'with %s is resumed to its end, after an interruption while a request is %s',
    async (_, point, kinds) => {
      for (const isElsewhere of [false, true]) {
        // Another machine can't burn what it didn't mint.
        if (isElsewhere && kinds.includes('burn')) continue
        for (let nth = 0, isInside = true; isInside; nth++) {
          const world = await planned(kinds)
          isInside = await interrupted(world.one, world, nth, point)
          const machine = isElsewhere ? await Machine.start(world.server) : world.one.beside(world.server)
          endWhenSending(world.server)
          expect(await apply(machine, world), `request ${nth}`).toBe(0)
          expectDone(world, kinds)
          expect((await machine.plan(world.rows, world.options, world.saved)).changedSinceSaved.count).toBe(0)
        }
      }
    },
  )

  const OUTSIDE: [string, (server: Server, title: string) => void][] = [
    ['updates', (server, title) => server.update(title, title)],
    ['transfers', (server, title) => server.transfer(title, CAROL)],
    ['sells', (server, title) => server.sell(title, `0x${'7'.repeat(40)}`)],
  ]
  test.each(OUTSIDE)('is refused if somebody else %s an NFT after an interruption', async (_, change) => {
    for (const kind of ['both', 'taken both'] as const) {
      for (let nth = 0, isInside = true; isInside; nth++) {
        const world = await planned([kind])
        isInside = await interrupted(world.one, world, nth, 'made')
        // Complete rows have no change left that an update of the same metadata could affect.
        const open = world.server.nfts.find(
          ({ owner, metadata }) => owner !== BOB && (metadata as { title: string }).title !== 'z',
        )
        if (open === undefined) continue
        change(world.server, (open.metadata as { title: string }).title)
        for (const machine of [world.one.beside(world.server), await Machine.start(world.server)]) {
          expect(await apply(machine, world), `request ${nth}`).toBe(1)
        }
      }
    }
  })
})

describe('the NFTs that an interrupted command changed', () => {
  const edited = [row('a', ALICE, 'New'), row('b', BOB), row('c')]

  test('are counted once by the next command', async () => {
    const one = await Machine.start(new Server())
    await one.mint([row('a'), row('b'), row('c')])
    await one.apply(edited)
    expect(await one.applyAndNote(edited, [])).toBe(2)
    expect(await one.applyAndNote(edited, [])).toBe(0)
  })

  test('do not include NFTs that the command changed and recorded itself', async () => {
    const one = await Machine.start(new Server())
    await one.mint([row('a'), row('b'), row('c')])
    expect(await one.applyAndNote(edited, ['update', 'transfer'])).toBe(0)
    expect(await one.applyAndNote(edited, [])).toBe(0)
  })
})
