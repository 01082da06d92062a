import { expect, test } from 'vitest'
import { applyChaos } from '../helpers/apply-chaos.ts'
import { report, seededRandom } from '../helpers/seed.ts'

const isLong = process.env.GDN_SOAK === '1'
const timeout = isLong ? 7_200_000 : 600_000

test.each(isLong ? [true, false] : [true])(
  'a manifest that is edited and applied again is what the chain has, with the path as its label: %s',
  { timeout },
  async (isNamedByPath) => {
    const { random } = seededRandom('apply chaos')
    const size = isLong
      ? { rows: 2000, rounds: 10, kills: 4, mostMs: 12_000, lifeMs: 20_000 }
      : { rows: 60, rounds: 3, kills: 3, mostMs: 4000, lifeMs: 4000 }
    const figures = await applyChaos({ ...size, isNamedByPath, random })
    report({ isNamedByPath, ...figures })
    const { killed, backends, reorgs, faults, pairs } = figures
    expect(Math.min(killed, backends, reorgs, faults, pairs)).toBeGreaterThan(0)
    expect([figures.adopted > 0, figures.others > 0]).toEqual([isNamedByPath, isNamedByPath])
  },
)
