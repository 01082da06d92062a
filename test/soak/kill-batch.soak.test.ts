import { expect, it } from 'vitest'
import { killBatchOnBackend, killBatchOnHosted } from '../helpers/kill-batch.ts'
import { report, seededRandom } from '../helpers/seed.ts'

const ROUNDS = Number(process.env.GDN_SOAK_ROUNDS ?? 50)
const ROUND_MS = 180_000

it(`completes ${ROUNDS} drops on a hosted service while gdn is killed, half of them with other clients that mint the same`, {
  timeout: ROUNDS * ROUND_MS,
}, async () => {
  const { random } = seededRandom('kill-batch hosted soak')
  let kills = 0
  for (let round = 0; round < ROUNDS; round++) {
    const othersMint = round % 2 === 1
    const figures = await killBatchOnHosted({ rows: 100, kills: 6, othersMint, random })
    report({ round, othersMint, ...figures })
    kills += figures.kills
  }
  expect(kills).toBeGreaterThan(ROUNDS)
})

it(`completes ${ROUNDS} drops on our own backend while gdn is killed on a bad connection`, {
  timeout: ROUNDS * ROUND_MS,
}, async () => {
  const { random } = seededRandom('kill-batch backend soak')
  let kills = 0
  for (let round = 0; round < ROUNDS; round++) {
    const figures = await killBatchOnBackend({ rows: 200, kills: 8, random })
    report({ round, ...figures })
    kills += figures.kills
  }
  expect(kills).toBeGreaterThan(ROUNDS)
})
