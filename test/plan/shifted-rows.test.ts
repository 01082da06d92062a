import { cp } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { ALICE, BOB, Machine, row, Server } from './world.ts'

let server: Server
let another: Machine
beforeEach(async () => {
  server = new Server()
  const machine = await Machine.start(server)
  await machine.mint([row('1', ALICE, 'A'), row('2', ALICE, 'B')])
  another = await Machine.start(server)
})

/** Row 2 was inserted, so the row with the content B got the ID 3. */
const shifted = [row('1', ALICE, 'A'), row('2', ALICE, 'X'), row('3', ALICE, 'B')]
const lost = [...shifted.slice(0, 2), { ...row('3', ALICE, 'B'), id: null }]

const refusal = { code: 'edited_rows', message: expect.stringMatching(/\n {2}line \S+: the NFT of row 2$/) }

describe('a machine without a record of the mint refuses a new row with the content of an NFT whose row was edited', () => {
  test.each([
    ['the IDs were shifted', shifted],
    ['the row lost its ID', lost],
  ])('in a mint that adopts, if %s', async (_, rows) => {
    for (const newRows of [false, rows === lost]) {
      await expect(another.mint(rows, { adopt: true, newRows })).rejects.toMatchObject(refusal)
    }
    expect(server.titles).toEqual(['A', 'B'])
  })

  test.each([
    ['the IDs were shifted', shifted],
    ['the row lost its ID', lost],
  ])('in a plan of which only the mints are applied, if %s', async (_, rows) => {
    await expect(another.checkMints(rows, { onlyMints: true })).rejects.toMatchObject(refusal)
  })
})

test('a plan that updates the NFT of the edited row may mint its former content', async () => {
  await another.checkMints(shifted, { onlyMints: false })
})

test('a plan that keeps the content of an NFT that another user changed refuses a new row with this content', async () => {
  await another.mint([row('1', ALICE, 'A'), row('2', ALICE, 'B')])
  const [, nft] = server.nfts
  Object.assign(nft ?? {}, { metadata: row('2', ALICE, 'C').metadata, revision: 7, revisionReference: 'theirs' })
  const rows = [row('1', ALICE, 'A'), row('2', ALICE, 'B'), row('3', ALICE, 'C')]
  expect((await another.plan(rows)).counts).toMatchObject({ drift: 1, mint: 1 })
  await expect(another.checkMints(rows, { onlyMints: false })).rejects.toMatchObject(refusal)
})

test('a new ID with --new-rows shows that another NFT with the same content is wanted', async () => {
  await another.mint(shifted, { adopt: true, newRows: true })
  expect(server.titles).toEqual(['A', 'B', 'B'])
})

test('a new row for another receiver may have the content of an NFT whose row was edited', async () => {
  await another.mint([...shifted.slice(0, 2), row('3', BOB, 'B')], { adopt: true })
  expect(server.titles).toEqual(['A', 'B', 'B'])
})

describe('rows that got their IDs on another machine', () => {
  const unnamed = [row('1', ALICE, 'A'), row('2', ALICE, 'B')].map((one) => ({ ...one, id: null }))
  const named = [row('1', ALICE, 'A'), row('2', ALICE, 'B')]

  /** Two machines: the first minted the rows without IDs, and added the IDs later. */
  const start = async (hasState: boolean) => {
    const ours = new Server()
    const machine = await Machine.start(ours)
    await machine.mint(unnamed)
    const other = await Machine.start(ours)
    if (hasState) await cp(machine.stateDir, other.stateDir, { recursive: true })
    await machine.apply(named)
    return { ours, other }
  }

  test.each([
    ['a copy of the state', true],
    ['no state', false],
  ])(
    'keep their NFTs on a machine with %s, which refuses a new row with the content of an edited one',
    async (_, hasState) => {
      const { ours, other } = await start(hasState)
      await expect(other.mint(shifted, { adopt: true })).rejects.toMatchObject(refusal)
      await expect(other.checkMints(shifted, { onlyMints: true })).rejects.toMatchObject(refusal)
      expect(ours.titles).toEqual(['A', 'B'])
      await other.mint([...named, row('3', ALICE, 'B')], { adopt: true })
      expect(ours.titles).toEqual(['A', 'B', 'B'])
    },
  )
})
