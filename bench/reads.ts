import { setTimeout as sleep } from 'node:timers/promises'
import { withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { type Filled, fill, LARGE, pick, SMALL } from './filled.ts'

const RUNS = 200

/** Reads from a full backend, compared with one that has only the requested data. */
export function measure(): Promise<Figure[]> {
  return withFolder((large) =>
    withFolder(async (small) => {
      const [full, nearlyEmpty] = [await fill(large, LARGE), await fill(small, SMALL)]
      try {
        return [
          await compare('getnfts of 100 IDs', full, nearlyEmpty, (filled) =>
            filled.backend.post('/api/v1/getnfts', { nft_gdn_ids: pick(filled.ids, 100) }),
          ),
          await compare('getnftgdnids of a collection of 1,000', full, nearlyEmpty, ({ backend, collection }) =>
            backend.post('/api/v1/getnftgdnids', {
              contract_addresses: collection.contract_address,
              blockchain: collection.blockchain,
            }),
          ),
        ]
      } finally {
        await full.backend.end()
        await nearlyEmpty.backend.end()
      }
    }),
  )
}

async function compare(
  what: string,
  full: Filled,
  nearlyEmpty: Filled,
  ask: (filled: Filled) => Promise<unknown>,
): Promise<Figure> {
  const timed = async (filled: Filled) => {
    const since = performance.now()
    await ask(filled)
    return performance.now() - since
  }
  for (let run = 0; run < RUNS / 2; run++) await Promise.all([ask(full), ask(nearlyEmpty)])
  const samples: number[] = []
  const against: number[] = []
  for (let run = 0; run < RUNS; run++) {
    samples.push(await timed(full))
    against.push(await timed(nearlyEmpty))
    await sleep(1)
  }
  const pair = { what: `with ${SMALL.toLocaleString('en-US')} stored`, samples: against }
  return { what: `${what}, ${LARGE.toLocaleString('en-US')} stored`, unit: 'ms', samples, against: pair, budget }
}

const budget = { atMost: 2 }
