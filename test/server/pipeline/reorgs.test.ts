import { expect, it } from 'vitest'
import { reorgDrop } from '../../helpers/reorg-drop.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

it('mints 200 NFTs once, in order and without nonce gaps, despite dropped transactions and reorgs of 1 to 5 blocks', async () => {
  const { random } = seededRandom('reorg drop')
  const figures = await reorgDrop({ nfts: 200, faults: 0, restarts: 0, random })
  report(figures)
  expect(Math.min(...figures.reorgs)).toBeGreaterThan(0)
  expect(figures.dropped).toBeGreaterThan(0)
})

it('does the same with a restart and with 30 % of the RPC requests failing, hanging, late or duplicated', async () => {
  const { random } = seededRandom('reorg drop with faults')
  report(await reorgDrop({ nfts: 40, faults: 0.3, restarts: 1, random }))
})
