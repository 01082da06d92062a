import { expect, it } from 'vitest'
import { killBatchOnBackend, killBatchOnHosted } from '../helpers/kill-batch.ts'
import { report, seededRandom } from '../helpers/seed.ts'

it('a batch that is killed again and again over a bad line, on the hosted service: no row twice, none lost', async () => {
  const { random } = seededRandom('kill-batch hosted')
  const figures = await killBatchOnHosted({ rows: 60, kills: 4, othersMint: false, random })
  report(figures)
  expect(figures.kills).toBeGreaterThan(0)
})

it('a batch that is killed again and again over a bad line, on our own backend: every row exactly once', async () => {
  const { random } = seededRandom('kill-batch backend')
  const figures = await killBatchOnBackend({ rows: 150, kills: 6, random })
  report(figures)
  expect(figures.kills).toBeGreaterThan(0)
})
