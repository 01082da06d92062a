import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createFileStorage } from '../../src/server/storage/files.ts'
import { MemoryBlockTable } from './memory-block-table.ts'

export interface IpfsNodeStandIn {
  /** Its RPC API. */
  url: string
  /** Paths with queries of all requests. */
  seen: string[]
  close(): Promise<void>
}

/** As much of the RPC API of a Kubo node as `add` is: a form with files, answered by a line of JSON for each. */
export async function startIpfsNode(dir: string, answer?: (line: string) => string): Promise<IpfsNodeStandIn> {
  const storage = await createFileStorage({ dataDir: dir, blocks: new MemoryBlockTable() })
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    seen.push(request.url ?? '')
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://node')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const known = pathname === '/api/v0/add' && request.method === 'POST'
    if (!known || searchParams.get('cid-version') !== '1' || searchParams.get('raw-leaves') !== 'true') {
      return void response.writeHead(known ? 400 : 404, { 'content-type': 'text/plain' }).end('404 page not found')
    }
    const form = new Response(Buffer.concat(chunks), {
      headers: { 'content-type': request.headers['content-type'] ?? '' },
    })
    const file = (await form.formData()).get('file')
    if (!(file instanceof Blob)) return void response.writeHead(400).end('file argument "path" is required')
    const { cid } = await storage.add(Readable.from([Buffer.from(await file.arrayBuffer())]), { maxBytes: 2 ** 26 })
    const line = JSON.stringify({ Name: 'file', Hash: cid, Size: String(file.size) })
    response.writeHead(200, { 'content-type': 'application/json', 'x-chunked-output': '1' })
    response.end(`${answer?.(line) ?? line}\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
