import { once } from 'node:events'
import S3rver from 's3rver'

/** The keys of s3rver. */
export const S3RVER_KEYS = { accessKeyId: 'S3RVER', secret: 'S3RVER' }

/**
 * A third-party S3 server that stores its objects in `dir`. It checks less than S3: for example, it ignores signatures.
 */
export async function startS3rver(dir: string, bucket: string): Promise<{ url: string; close(): Promise<void> }> {
  const options = { port: 0, address: '127.0.0.1', silent: true, directory: dir, vhostBuckets: false }
  const server = new S3rver({ ...options, configureBuckets: [{ name: bucket }] })
  const { port } = await server.run()
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server.httpServer, 'close')
      server.httpServer.closeAllConnections()
      await Promise.all([server.close(), closed])
    },
  }
}
