import { createServer } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { collectBody, openStorageClient } from '../../../src/server/storage/remote/storage-client.ts'
import { listenLocally } from '../../helpers/http-server.ts'

/** A server with an endless response, a byte at a time. */
async function dripping(): Promise<string> {
  const server = createServer((_request, response) => {
    const drip = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(drip))
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return `${url}/`
}

/** Runs the garbage collector, which must not collect the timer of a request. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collecting = setInterval(runInNewContext('gc') as () => void, 50)
  onTestFinished(() => clearInterval(collecting))
}

test('aborts an endless response after the timeout', async () => {
  collectGarbage()
  const client = openStorageClient('the bucket art', 'test', () => 400)
  onTestFinished(() => client.close())
  // On a slow machine the time is up before the headers are read.
  const reading = client.open({ method: 'GET', url: await dripping() }).then(({ body }) => collectBody(body))
  await expect(reading).rejects.toThrow("the bucket art can't be reached")
})

test('aborts requests in flight when it is closed', async () => {
  const client = openStorageClient('the bucket art', 'test')
  const { body } = await client.open({ method: 'GET', url: await dripping() })
  const reading = collectBody(body).catch((error) => error)
  await client.close()
  expect(await reading).toMatchObject({ code: 'unreachable' })
})

test('reads a response only up to the maximum size', async () => {
  const client = openStorageClient('the bucket art', 'test')
  onTestFinished(() => client.close())
  const { body } = await client.open({ method: 'GET', url: await dripping() })
  await expect(collectBody(body, 3)).rejects.toThrow('too long')
})
