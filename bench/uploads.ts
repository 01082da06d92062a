import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { StoredRun } from '../src/batch/runs/stored-run.ts'
import { uploadFiles } from '../src/batch/send/uploads.ts'
import { createClient } from '../src/client/client.ts'
import { createTransport } from '../src/client/create-transport.ts'
import { withFolder } from './backend.ts'
import type { Figure } from './figures.ts'

const FILES = 400
const LATENCY_MS = 200

/** Uploading the local files of a drop to a server that takes 200 ms for each, compared with one after the other. */
export function measure(): Promise<Figure[]> {
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
          ...{ client, options: {} as never, store: storeOf(paths) },
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
