import { expect, test } from 'vitest'
import { report, seededRandom } from '../helpers/seed.ts'
import { step } from './manifest-moves.ts'
import { World } from './manifest-world.ts'

const WORLDS = process.env.GDN_SOAK === '1' ? 400 : 24
const STEPS = 40

async function live(world: World): Promise<string | null> {
  for (let left = STEPS; left > 0; left--) {
    const broken = await step(world)
    if (broken !== null) return broken
  }
  return null
}

test('no content is minted twice to a receiver without --again, and no row of a finished run is lost, in any life of a manifest', {
  tags: ['promise'],
}, async () => {
  const { seed } = seededRandom('manifest lives')
  const figures: Record<string, number> = {}
  // Each world has its own seed, so that a failure can be replayed without the worlds before it.
  for (let number = seed; number < seed + WORLDS; number++) {
    const world = await World.start(number, figures)
    try {
      expect(await live(world)).toBe(null)
    } catch (error) {
      report(`manifest lives: GDN_SEED=${number}\n${world.log.join('\n')}`)
      throw error
    } finally {
      await world.stop()
    }
  }
  report(figures)
  for (const outcome of ['exit 0', 'already_accepted', 'edited_rows', 'followed hint', 'lost state', 'killed']) {
    expect(figures[outcome], outcome).toBeGreaterThan(0)
  }
})
