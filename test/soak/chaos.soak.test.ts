import { expect, it } from 'vitest'
import { chaos } from '../helpers/chaos.ts'
import { reorgDrop } from '../helpers/reorg-drop.ts'
import { report, seededRandom } from '../helpers/seed.ts'

const ROUNDS = Number(process.env.GDN_SOAK_ROUNDS ?? 4)
const ROUND_MS = 600_000

it(`completes ${ROUNDS} rounds of 500 requests while the backend is killed every few seconds`, {
  timeout: ROUNDS * ROUND_MS,
}, async () => {
  const { random } = seededRandom('chaos soak')
  for (let round = 0; round < ROUNDS; round++) {
    const figures = await chaos({ requests: 500, clients: 8, longestLife: 4000, random })
    report(figures)
    expect(figures.kills).toBeGreaterThan(2)
  }
})

it(`completes ${ROUNDS} drops of 400 NFTs on a network with reorgs`, { timeout: ROUNDS * ROUND_MS }, async () => {
  const { random } = seededRandom('reorg soak')
  for (let round = 0; round < ROUNDS; round++) {
    report(await reorgDrop({ nfts: 200, faults: 0, restarts: 4, random }))
    report(await reorgDrop({ nfts: 200, faults: 0.3, restarts: 4, random }))
  }
})
