import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startFileServer } from '../test/helpers/file-server.ts'
import { startIpfsNode } from '../test/helpers/ipfs-node-stand-in.ts'
import { S3_KEYS, startS3 } from '../test/helpers/s3-stand-in.ts'
import { type Backend, createCollection, order, serve, untilDeployed, withFolder } from './backend.ts'
import { type Figure, reportRound } from './figures.ts'

const ROUNDS = 3
/** Too large for a row of the database. */
const FILE_BYTES = 40 * 1024
const ORDER = { count: 600, perRequest: 50, clients: 8 }

/**
 * NFTs deployed per second with a file each over HTTP: files in a bucket or an IPFS node, compared with the data
 * directory.
 */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const s3 = await startS3(['art'])
    const node = await startIpfsNode(join(folder, 'node'))
    const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(FILE_BYTES)])
    const web = await startFileServer({}, (path) => Buffer.concat([image, Buffer.from(path)]))
    const keys = `[default]\naws_access_key_id = ${S3_KEYS.accessKeyId}\naws_secret_access_key = ${S3_KEYS.secret}\n`
    const places = {
      'data directory': 'storage: { kind: files }\n',
      'S3 bucket': `storage: { kind: s3, bucket: art, endpoint: "${s3.url}", credentials_file: keys }\n`,
      'IPFS node': `storage: { kind: ipfs, api: "${node.url}" }\n`,
    }
    const backends: { what: string; backend: Backend; samples: number[] }[] = []
    try {
      for (const [what, settings] of Object.entries(places)) {
        const dir = join(folder, what)
        await mkdir(dir, { mode: 0o700 })
        await writeFile(join(dir, 'keys'), keys, { mode: 0o600 })
        await writeFile(join(dir, 'backend.yaml'), settings, { mode: 0o600 })
        backends.push({ what, backend: await serve(dir, ['--allow-private-files']), samples: [] })
      }
      let fetched = 0
      // Always a new URL, because recently fetched ones are cached.
      const image = () => `${web.url}/${fetched++}.png`
      for (let round = 0; round < ROUNDS; round++) {
        reportRound(round, ROUNDS)
        for (const { backend, samples } of backends) {
          const collection = await createCollection(backend)
          const since = performance.now()
          await untilDeployed(backend, await order(backend, collection, { ...ORDER, image }))
          samples.push(ORDER.count / ((performance.now() - since) / 1000))
        }
      }
      const [dataDir, ...others] = backends
      return others.map(({ what, samples }) => ({
        what: `NFTs deployed, one 40 KiB file per NFT, ${what}`,
        unit: '/s',
        samples,
        against: { what: 'data directory', samples: dataDir?.samples ?? [] },
      }))
    } finally {
      for (const { backend } of backends) await backend.end()
      await Promise.all([web.close(), s3.close(), node.close()])
    }
  })
}
