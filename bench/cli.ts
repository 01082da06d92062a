import { execFileSync } from 'node:child_process'
import { GDN, NODE, withFolder, withNft } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { timeToEnd } from './processes.ts'

const RUNS = 20

/** Higher on Node 20, which caches no compiled code. */
const CALL_AT_MOST = execFileSync(NODE, ['--version'], { encoding: 'utf8' }).startsWith('v20.') ? 3.4 : 3

/** One request of the API without gdn. */
const FETCH = `fetch(process.env.GDN_BASE_URL + '/api/v1/getnfts', {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-api-key': process.env.GDN_API_KEY },
  body: JSON.stringify({ nft_gdn_ids: process.argv.slice(1) }),
}).then((answer) => answer.json()).then(({ nfts }) => console.log(nfts[0].status))`

/** Time of a command at the prompt, compared with an empty Node program and with one request of Node's fetch. */
export function measure(): Promise<Figure[]> {
  return withFolder((folder) =>
    withNft(folder, async ({ ids, env }) => {
      const figures: Figure[] = []
      const empty = { what: 'node -e 0', args: ['-e', '0'] }
      const fetching = { what: "node -e 'fetch(…)'", args: ['-e', FETCH, ...ids] }
      const show = ['nft', 'show', ...ids]
      for (const { args, against, atMost } of [
        { args: ['--version'], against: empty, atMost: 1.3 },
        { args: ['--help'], against: empty, atMost: 1.5 },
        { args: show, against: empty, atMost: CALL_AT_MOST },
        { args: show, against: fetching },
      ]) {
        const samples: number[] = []
        const bare: number[] = []
        for (let run = 0; run < RUNS; run++) {
          bare.push(await timeToEnd(NODE, against.args, env))
          samples.push(await timeToEnd(NODE, [GDN, ...args], env))
        }
        const figure: Figure = {
          ...{ what: `gdn ${args.slice(0, 2).join(' ')}`, unit: 'ms', samples },
          against: { what: against.what, samples: bare },
          ...(atMost && { budget: { atMost } }),
        }
        figures.push(...report([figure]))
      }
      return figures
    }),
  )
}
