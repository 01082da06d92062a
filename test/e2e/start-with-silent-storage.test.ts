import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { freshDataDir } from '../helpers/backend.ts'
import { serve } from '../helpers/served-backend.ts'

/** Below the 90 s that a bucket has for three tries. */
const WITHIN_MS = 60_000

const sockets = new Set<Socket>()
const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})))
let dataDir: Awaited<ReturnType<typeof freshDataDir>>
beforeAll(async () => {
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  dataDir = await freshDataDir()
  const [settings, keys] = ['backend.yaml', 'keys'].map((name) => join(dataDir.path, name)) as [string, string]
  const bucket = `{ kind: s3, bucket: art, endpoint: "http://127.0.0.1:${port}", credentials_file: ${keys} }`
  await writeFile(settings, `storage: ${bucket}\n`, { mode: 0o600 })
  await writeFile(keys, '[default]\naws_access_key_id = a\naws_secret_access_key = b\n', { mode: 0o600 })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => silent.close(resolve))
  await dataDir?.remove()
})

test('an unresponsive bucket is reported, and does not prevent a backend from starting or stopping', async () => {
  const starting = serve(dataDir.path)
  const backend = await Promise.race([starting.ready, sleep(WITHIN_MS)])
  try {
    const ready = await fetch(`${backend?.url}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.text()).toContain('does not respond')
  } finally {
    expect(await starting.end('SIGTERM')).toBe(0)
  }
})
