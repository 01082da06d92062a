import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { createCollection, GDN, NODE, order, serve, untilDeployed, withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
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
  return withFolder(async (folder) => {
    const backend = await serve(folder, ['--allow-private-files'])
    try {
      const collection = await createCollection(backend)
      const image = await backend.upload(Buffer.from('89504e470d0a1a0a', 'hex'))
      const ids = await order(backend, collection, { count: 1, perRequest: 1, clients: 1, image: () => image })
      await untilDeployed(backend, ids)
      const env = {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        GDN_PACE_DIR: join(folder, 'pace'),
        GDN_BASE_URL: backend.url,
        GDN_API_KEY: backend.apiKey,
      }
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
        figures.push({
          ...{ what: `gdn ${args.slice(0, 2).join(' ')}`, unit: 'ms', samples },
          against: { what: against.what, samples: bare },
          ...(atMost && { budget: { atMost } }),
        })
      }
      return figures
    } finally {
      await backend.end()
    }
  })
}
