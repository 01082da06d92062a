import { afterAll, beforeAll, expect, it } from 'vitest'
import { startHealthServer } from '../../../src/server/http/health-server.ts'

let problems: string[] = []
let server: Awaited<ReturnType<typeof startHealthServer>>

beforeAll(async () => {
  server = await startHealthServer(
    { host: '127.0.0.1', port: 0 },
    {
      version: '1.2.3',
      identity: { id: 'id', incarnation: 'incarnation' },
      readiness: async () => ({ problems, warnings: ['polygon: no node responds'] }),
      metrics: {
        async scrape() {
          if (problems.length > 0) throw new Error('the disk is full')
          return { text: 'up 1\n', type: 'text/plain' }
        },
      },
    },
  )
})
afterAll(() => server.close())

const ask = async (method: string, path: string): Promise<[number, string]> => {
  const response = await fetch(server.url + path, { method })
  return [response.status, await response.text()]
}

it('a worker serves GET and HEAD requests of monitors, with any query string, and nothing else', async () => {
  problems = []
  const body = JSON.stringify({ ready: true, problems: [], warnings: ['polygon: no node responds'] })
  expect(await ask('GET', '/readyz')).toEqual([200, body])
  expect(await ask('GET', '/readyz?from=balancer')).toEqual([200, body])
  expect(await ask('HEAD', '/readyz')).toEqual([200, ''])
  expect(await ask('GET', '/healthz')).toEqual([
    200,
    '{"status":"ok","version":"1.2.3","backend_id":"id","incarnation":"incarnation"}',
  ])
  expect(await ask('GET', '/metrics')).toEqual([200, 'up 1\n'])
  expect((await ask('POST', '/readyz'))[0]).toBe(404)
  expect((await ask('GET', '/'))[0]).toBe(404)
})

it('a worker that is not ready returns 503 with the reason', async () => {
  problems = ['the storage is away']
  expect(await ask('GET', '/readyz')).toEqual([503, expect.stringContaining('the storage is away')])
  expect((await ask('HEAD', '/readyz'))[0]).toBe(503)
  expect(await ask('GET', '/metrics')).toEqual([503, '{"error":"the disk is full"}'])
  expect((await ask('GET', '/healthz'))[0]).toBe(200)
})
