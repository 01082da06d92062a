import { createApp } from '../../src/server/http/app.ts'

/** A server that answers nothing: for what can be told of its routes. */
export function appWithRoutes() {
  const unused = {} as never
  return createApp({
    deps: {
      store: unused,
      chains: unused,
      storage: unused,
      checkedFiles: unused,
      pipeline: unused,
      signedUrls: unused,
      comparedGroups: unused,
      now: Date.now,
    },
    host: '127.0.0.1',
    allowedHosts: [],
    rateLimits: false,
    version: '0',
    log: { debug() {}, info() {}, warn() {}, error() {} },
    identity: { id: 'id', incarnation: 'incarnation' },
    readiness: async () => ({ problems: [], warnings: [] }),
    metrics: { observe() {}, scrape: async () => ({ text: '', type: 'text/plain' }) },
  })
}

/** Every path that is asked by a method, by the router itself; without a slash at its end. */
export async function routesOf(method: 'GET' | 'POST'): Promise<string[]> {
  const app = await appWithRoutes()
  await app.ready()
  const lines = app.printRoutes({ commonPrefix: false }).split('\n')
  await app.close()
  // A tree: each line goes on from the one above it that stands further left.
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
