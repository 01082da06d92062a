import { expect, it } from 'vitest'
import { killBatchOnBackend, killBatchOnHosted } from '../helpers/kill-batch.ts'
import { report, seededRandom } from '../helpers/seed.ts'

it('a repeatedly killed batch on a bad connection to the hosted service mints no row twice and loses none', async () => {
  const { random } = seededRandom('kill-batch hosted')
  const figures = await killBatchOnHosted({ rows: 60, kills: 4, othersMint: false, random })
  report(figures)
  expect(figures.kills).toBeGreaterThan(1)
})

it('a repeatedly killed batch on a bad connection to our own backend mints every row exactly once', async () => {
  const { random } = seededRandom('kill-batch backend')
  const figures = await killBatchOnBackend({ rows: 150, kills: 6, random })
  report(figures)
  expect(figures.kills).toBeGreaterThan(1)
})
