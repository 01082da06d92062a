import { createApp } from '../../src/server/http/app.ts'
import { SILENT_LOG } from './silent-log.ts'

/** A server that only registers its routes, to inspect them. */
export function appWithRoutes() {
  const unused = {} as never
  return createApp({
    deps: {
      store: unused,
      chains: { names: [], hasValue: () => true } as never,
      storage: unused,
      checkedFiles: unused,
      pipeline: unused,
      signedUrls: unused,
      now: Date.now,
    },
    host: '127.0.0.1',
    allowedHosts: [],
    rateLimits: false,
    version: '0',
    log: SILENT_LOG,
    identity: { id: 'id', incarnation: 'incarnation' },
    readiness: async () => ({ problems: [], warnings: [] }),
    metrics: { observe() {}, scrape: async () => ({ text: '', type: 'text/plain' }) },
  })
}

/** Returns every path of a method from the router itself, without a trailing slash. */
export async function routesOf(method: 'GET' | 'POST'): Promise<string[]> {
  const app = await appWithRoutes()
  await app.ready()
  const lines = app.printRoutes({ commonPrefix: false }).split('\n')
  await app.close()
  // The router prints a tree: each line continues the nearest one above with less indentation.
  const above: string[] = []
  const found = lines.flatMap((line) => {
    const [, indent = '', path = '', methods = ''] = /^([│ ]*[├└]── )(\S+) \((.*)\)/.exec(line) ?? []
    if (path === '') return []
    above.length = indent.length / 4 - 1
    above.push(path)
    return methods.split(', ').includes(method) ? [above.join('').replace(/(.)\/$/, '$1')] : []
  })
  return [...new Set(found)].sort()
}
