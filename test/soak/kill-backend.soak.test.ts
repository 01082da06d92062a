import { expect, it } from 'vitest'
import { killDrop } from '../helpers/kill-drop.ts'
import { report, seededRandom } from '../helpers/seed.ts'

const ROUNDS = Number(process.env.GDN_SOAK_ROUNDS ?? 8)

it(`completes ${ROUNDS} drops of 300 NFTs with 40 SIGKILLs of the backend each`, {
  timeout: ROUNDS * 180_000,
}, async () => {
  const { random } = seededRandom('kill-backend soak')
  for (let round = 0; round < ROUNDS; round++) {
    const figures = await killDrop({ nfts: 300, kills: 40, random })
    expect(figures.kills).toBe(40)
    report(figures)
  }
})
