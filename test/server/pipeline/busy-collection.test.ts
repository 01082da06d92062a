import { expect, it } from 'vitest'
import { busyCollection } from '../../helpers/busy-collection.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

const [NFTS, KILLS] = process.env.GDN_SOAK === '1' ? [5000, 40] : [3000, 5]

it(`mints ${NFTS} NFTs once with many mints in flight, despite reorgs, drops, fees and ${KILLS} kills`, {
  timeout: 1_200_000,
}, async () => {
  const { random } = seededRandom('busy collection')
  const figures = await busyCollection({ nfts: NFTS, kills: KILLS, foreign: 0, random })
  report(figures)
  expect(figures.mostWaiting).toBeGreaterThan(1)
  expect(figures.reorgs).toBeGreaterThan(0)
  expect(figures.dropped).toBeGreaterThan(0)
})

it('mints each NFT once after another user of the signer has taken the nonce of a mint with others behind it', {
  timeout: 1_200_000,
}, async () => {
  const { random } = seededRandom('busy collection with foreign transactions')
  const figures = await busyCollection({ nfts: 3000, kills: 1, foreign: 2, random })
  report(figures)
  expect(figures.foreign).toBe(2)
  expect(figures.transactions.lost).toBeGreaterThan(0)
  expect(figures.transactions.reverted).toBeGreaterThan(0)
})
