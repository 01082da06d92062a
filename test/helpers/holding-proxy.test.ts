import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { startHoldingProxy } from './holding-proxy.ts'
import { startHttpServer } from './http-server.ts'

test('a proxy forwards a request with a body, also where undici was imported first', async () => {
  const before = getGlobalDispatcher()
  setGlobalDispatcher(new Agent())
  onTestFinished(() => setGlobalDispatcher(before))
  const server = await startHttpServer([{ json: { got: true } }])
  onTestFinished(() => server.close())
  const proxy = await startHoldingProxy(server.url)
  onTestFinished(() => proxy.close())

  const response = await fetch(`${proxy.url}/api`, { method: 'POST', body: '{"a":1}' })

  expect(await response.json()).toEqual({ got: true })
  expect(server.seen.map(({ body }) => body.toString())).toEqual(['{"a":1}'])
})
