/** @module-tag slow */
import { beforeEach, describe, expect, test } from 'vitest'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { markBurned } from '../../src/state/row-outcomes.ts'
import { ALICE, Machine, Server } from './world.ts'

const DROP = { manifestPath: '/shop/drop.csv', label: 'drop.csv' }

const rowsOf = (...titles: string[]): ManifestRow[] =>
  titles.map((title, n) => ({
    ...{ line: n + 2, id: null, receiver: ALICE, sender: null, localFiles: [] },
    metadata: { title, description: '', file_fields: [] },
  }))
const withIds = (rows: readonly ManifestRow[]) => rows.map((row, n) => ({ ...row, id: `${n + 1}` }))

let server: Server
let machine: Machine
beforeEach(async () => {
  server = new Server()
  machine = await Machine.start(server)
  await machine.mint(rowsOf('A', 'Same', 'Same', 'Same'), DROP)
})

/** Burns the NFT of a row, counted from 1 in the order of the mint. */
function burn(n: number): string {
  const nft = server.nfts[n - 1]
  if (nft === undefined) throw new Error(`no NFT ${n}`)
  nft.isBurned = true
  return nft.id
}

const BURNED = /^drift transfer \S+: .*the NFT was burned/

describe('equal rows of which one was burned', () => {
  test.each([2, 3, 4])('keep the NFTs that are left when one of them is removed, burned: %i', async (n) => {
    burn(n)
    const left = rowsOf('A', 'Same', 'Same')
    const { changes, counts } = await machine.plan(left, { ...DROP, prune: true })
    expect(changes).toEqual([])
    expect(counts).toMatchObject({ unchanged: 3, mint: 0, burn: 0, drift: 0 })
    const other = await (await Machine.start(server)).plan(left, DROP)
    expect(other.changes).toEqual([])
  })

  test('have one burned NFT while all of them are in the manifest', async () => {
    burn(3)
    const rows = rowsOf('A', 'Same', 'Same', 'Same')
    for (const each of [machine, await Machine.start(server)]) {
      const { changes, counts } = await each.plan(rows, DROP)
      expect(changes).toEqual([expect.stringMatching(BURNED)])
      expect(counts).toMatchObject({ unchanged: 3, lasting: 1, mint: 0 })
    }
  })

  test('are pruned down to the rows of the manifest, without the burned one', async () => {
    burn(2)
    const { changes, counts } = await machine.plan(rowsOf('A', 'Same'), { ...DROP, prune: true })
    expect(counts).toMatchObject({ unchanged: 2, burn: 1 })
    expect(changes).toHaveLength(1)
  })

  test('get their IDs on the NFTs that are left', async () => {
    burn(3)
    const named = withIds(rowsOf('A', 'Same', 'Same'))
    for (const each of [await Machine.start(server), machine]) {
      const { changes, paired } = await each.plan(named, DROP)
      expect(changes).toEqual([])
      expect(paired).toEqual(['id:1 nft-1 wanted', 'id:2 nft-2 wanted', 'id:3 nft-4 wanted'])
    }
  })

  test('get their IDs without another mint while the burned one is in the manifest', async () => {
    burn(2)
    const named = withIds(rowsOf('A', 'Same', 'Same', 'Same'))
    for (const each of [await Machine.start(server), machine]) {
      const { changes, counts } = await each.plan(named, DROP)
      expect(counts).toMatchObject({ mint: 0, unchanged: 3, lasting: 1 })
      expect(changes).toEqual([expect.stringMatching(/^drift transfer 4: /)])
    }
  })

  test('are not taken for edited ones by a mint of another row', async () => {
    const id = burn(3)
    await machine.state((sql) => markBurned(sql, id))
    const { changes } = await machine.plan(rowsOf('A', 'Same', 'Same', 'New'), DROP)
    expect(changes).toEqual([expect.stringMatching(/^mint mint /)])
    await machine.mint(rowsOf('A', 'Same', 'Same', 'New'), DROP)
    expect(server.titles).toEqual(['A', 'Same', 'Same', 'Same', 'New'])
  })
})
