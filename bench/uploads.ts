import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { StoredRun } from '../src/batch/runs/stored-run.ts'
import { uploadFiles } from '../src/batch/send/uploads.ts'
import { createClient } from '../src/client/client.ts'
import { createTransport } from '../src/client/create-transport.ts'
import { rawPng } from '../test/helpers/images.ts'
import { createCollection, GDN, NODE, serve, WALLET, withFolder } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { timeToEnd } from './processes.ts'

const FILES = 400
const LATENCY_MS = 200
const ROWS = 10_000
const IMAGE_SIDE = 129

export async function measure(): Promise<Figure[]> {
  return [...report(await slowUploads()), ...report(await dropOfImages())]
}

/** Uploading the local files of a drop to a server that takes 200 ms for each, compared with one after the other. */
function slowUploads(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const server = createServer((request, response) => {
      request.resume()
      request.on('end', async () => {
        await pause(LATENCY_MS)
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ url: 'ipfs://bafy', cid: 'bafy' }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = createClient({ baseUrl, apiKey: null, transport: await createTransport('bulk'), userAgent: 'bench' })
    try {
      await mkdir(folder, { recursive: true })
      const paths = Array.from({ length: FILES }, (_, at) => join(folder, `${at}.png`))
      for (const path of paths) await writeFile(path, path)
      const since = performance.now()
      await uploadFiles(
        {
          ...{ client, options: {} as never, run: storeOf(paths) },
          halt: new AbortController().signal,
          emit: () => {},
          stop: (error) => {
            throw error
          },
        },
        { withFiles: paths.map((_, position) => position) },
        'draft',
      )
      return [
        {
          what: `${FILES} files uploaded at ${LATENCY_MS} ms each`,
          unit: 'ms',
          samples: [performance.now() - since],
          against: { what: 'one after the other', samples: [FILES * LATENCY_MS] },
          budget: { atMost: 0.15 },
        },
      ]
    } finally {
      await client.close()
      server.close()
    }
  })
}

/** A whole drop of local images, compared with only reading, hashing and storing them, as many at once as gdn. */
function dropOfImages(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const names = Array.from({ length: ROWS }, (_, at) => `${at}.png`)
    for (const place of ['art', 'copy']) await mkdir(join(folder, place), { recursive: true })
    for (const name of names) await writeFile(join(folder, 'art', name), noise())
    const lines = names.map((name, at) => `Number ${at},One of many,art/${name},${WALLET}`)
    await writeFile(join(folder, 'drop.csv'), ['title,description,image,receiver', ...lines].join('\n'))
    // Otherwise gdn's first syncs would also write these files.
    execFileSync('sync')
    const backend = await serve(join(folder, 'backend'))
    try {
      const { contract_address, blockchain } = await createCollection(backend)
      const env = { PATH: process.env.PATH, HOME: folder, GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey }
      const argv = ['batch', 'mint', join(folder, 'drop.csv'), '-c', contract_address, '-b', blockchain, '--json']
      const drop = await timeToEnd(NODE, [GDN, ...argv], env)
      return [
        {
          what: `drop of ${ROWS.toLocaleString('en-US')} rows with a local image of 50 kB each`,
          unit: 'ms',
          samples: [drop],
          against: { what: 'only reading, hashing and storing', samples: [await storeAll(folder, names)] },
          budget: { atMost: 3 },
        },
      ]
    } finally {
      await backend.end()
    }
  })
}

/** Returns a PNG of random pixels, of 50 kB. */
function noise(): Buffer {
  const bytesPerRow = 1 + 3 * IMAGE_SIDE
  const rows = randomBytes(bytesPerRow * IMAGE_SIDE)
  for (let row = 0; row < IMAGE_SIDE; row++) rows[row * bytesPerRow] = 0
  return rawPng({ width: IMAGE_SIDE, height: IMAGE_SIDE, depth: 8, color: 2, rows })
}

/** Reads, hashes and durably stores files, eight at a time. Resolves with the time in milliseconds. */
async function storeAll(folder: string, names: readonly string[]): Promise<number> {
  const since = performance.now()
  const left = names.values()
  const work = async () => {
    for (const name of left) {
      const bytes = await readFile(join(folder, 'art', name))
      const file = await open(join(folder, 'copy', createHash('sha256').update(bytes).digest('hex')), 'wx')
      await file.writeFile(bytes)
      await file.sync()
      await file.close()
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  return performance.now() - since
}

/** A run without recorded uploads, whose rows have a file each. */
function storeOf(paths: readonly string[]): StoredRun {
  const store: Pick<StoredRun, 'id' | 'read' | 'write' | 'rowsAt'> = {
    id: 'bench',
    read: async () => [] as never,
    write: async () => 0 as never,
    rowsAt: async (_, positions) =>
      positions.map((at) => ({ row: { line: 1, localFiles: [{ key: 'image', path: paths[at] ?? '' }] } })) as never,
  }
  return store as StoredRun
}
