import { createCollection, NODE, serve, withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { startPlainAnvil, timeToEnd } from './processes.ts'

const RUNS = 11

/** A backend with existing data, from its start to its ready line. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const first = await serve(folder)
    await createCollection(first)
    await first.end()
    const ready: number[] = []
    const alone: number[] = []
    for (let run = 0; run < RUNS; run++) {
      const backend = await serve(folder)
      await backend.end()
      ready.push(backend.readyAfter)
      const anvil = await startPlainAnvil()
      await anvil.end()
      alone.push((await timeToEnd(NODE, ['-e', '0'])) + anvil.time)
    }
    return [
      {
        what: 'warm start until ready',
        unit: 'ms',
        samples: ready,
        against: { what: 'node -e 0, then anvil alone', samples: alone },
        budget: { atMost: 1.6 },
      },
    ]
  })
}
