import { expect, it } from 'vitest'
import { chaos } from '../../helpers/chaos.ts'
import { report, seededRandom } from '../../helpers/seed.ts'

it('settles 120 requests of 8 clients correctly, with backend kills and 30 % of the chain calls failing', {
  timeout: 900_000,
}, async () => {
  const { random } = seededRandom('chaos')
  const figures = await chaos({ requests: 120, clients: 8, longestLife: 2000, random })
  report(figures)
  expect(Math.min(figures.transfers, figures.solana)).toBeGreaterThan(0)
  expect(figures.kills).toBeGreaterThan(2)
})
