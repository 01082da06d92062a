import { join } from 'node:path'
import { createCollection, GDN, order, serve, untilDeployed, withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { timeToEnd } from './processes.ts'

const RUNS = 20

/** Node caches compiled code from 22.8 on. */
const CALL_AT_MOST = 'enableCompileCache' in process.getBuiltinModule('node:module') ? 3 : 3.4

/** Time of a command at the prompt, compared with an empty Node program. */
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
      for (const { args, atMost } of [
        { args: ['--version'], atMost: 1.3 },
        { args: ['--help'], atMost: 1.5 },
        { args: ['nft', 'show', ...ids], atMost: CALL_AT_MOST },
      ]) {
        const samples: number[] = []
        const bare: number[] = []
        for (let run = 0; run < RUNS; run++) {
          bare.push(await timeToEnd(process.execPath, ['-e', '0'], env))
          samples.push(await timeToEnd(process.execPath, [GDN, ...args], env))
        }
        const what = `gdn ${args.slice(0, 2).join(' ')}`
        figures.push({ what, unit: 'ms', samples, against: { what: 'node -e 0', samples: bare }, budget: { atMost } })
      }
      return figures
    } finally {
      await backend.end()
    }
  })
}
