import { once } from 'node:events'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'

interface S3rver {
  configureBuckets(): Promise<unknown>
  httpServer: Server
  run(): Promise<AddressInfo>
  close(): Promise<void>
}

/** The keys that s3rver knows. */
export const S3RVER_KEYS = { accessKeyId: 'S3RVER', secret: 'S3RVER' }

/** An S3 server that isn't ours; it keeps its objects in `dir`. It tells more than it checks: signatures pass unseen. */
export async function startS3rver(dir: string, bucket: string): Promise<{ url: string; close(): Promise<void> }> {
  const Server: new (options: object) => S3rver = createRequire(import.meta.url)('s3rver')
  const options = { port: 0, address: '127.0.0.1', silent: true, directory: dir, vhostBuckets: false }
  const server = new Server({ ...options, configureBuckets: [{ name: bucket }] })
  const { port } = await server.run()
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.httpServer.closeAllConnections()
      if (server.httpServer.listening) {
        const closed = once(server.httpServer, 'close')
        await server.close()
        await closed.catch(() => {})
      }
    },
  }
}
