import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { CarReader } from '@ipld/car/reader'
import { parseCid } from '../../src/ipfs/cid.ts'
import { createFileStorage } from '../../src/server/storage/files.ts'
import { listenLocally } from './http-server.ts'
import { MemoryBlockTable } from './memory-block-table.ts'

export interface IpfsNodeStandIn {
  /** The URL of its RPC API. */
  url: string
  /** Paths with queries of all requests. */
  seen: string[]
  /** Roots that are never garbage-collected. */
  pinned: Set<string>
  blocks: MemoryBlockTable
  /** Transforms the content of a file before it is sent. */
  content: (bytes: Buffer) => Buffer
  /** Returns a status to reject a request with, or null to handle it. */
  refuse: (path: string) => number | null
  close(): Promise<void>
}

interface Options {
  /** The required Authorization header. */
  authorization?: string
}

/** The part of a Kubo node's RPC API that gdn uses, with Kubo's responses. */
export async function startIpfsNode(
  dir: string,
  answer?: (line: string) => string,
  { authorization }: Options = {},
): Promise<IpfsNodeStandIn> {
  const blocks = new MemoryBlockTable()
  const storage = await createFileStorage({ dataDir: dir, blocks })
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    standIn.seen.push(path)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const refused = standIn.refuse(path)
    if (refused !== null) return void response.writeHead(refused).end('no')
    if (authorization !== undefined && request.headers.authorization !== authorization) {
      return void response.writeHead(403).end('Kubo RPC Access Denied: provide a valid authorization token')
    }
    const { pathname, searchParams } = new URL(path, 'http://node')
    const handler = handlers[pathname.replace('/api/v0/', '')]
    if (handler === undefined || request.method !== 'POST') {
      return void response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found')
    }
    try {
      await handler(searchParams, { request, response, body: Buffer.concat(chunks) })
    } catch (error) {
      const Message = error instanceof Error ? error.message : String(error)
      response.writeHead(500, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ Message, Code: 0, Type: 'error' }))
    }
  })

  type Handler = (
    parameters: URLSearchParams,
    exchange: { request: IncomingMessage; response: ServerResponse; body: Buffer },
  ) => Promise<void>

  const argument = (parameters: URLSearchParams): string => {
    const cid = parseCid(parameters.get('arg') ?? '')
    if (cid === null) throw new Error('invalid path "": path does not have enough components')
    return cid.toString()
  }

  const handlers: Record<string, Handler> = {
    async version(_parameters, { response }) {
      json(response, [{ Version: '0.30.0', Commit: '', Repo: '16', System: 'amd64/linux', Golang: 'go1.22.5' }])
    },

    async id(_parameters, { response }) {
      json(response, [{ ID: '12D3KooW', Addresses: ['/ip4/10.0.0.1/tcp/4001/p2p/12D3KooW'], Protocols: [] }])
    },

    async add(parameters, { request, response, body }) {
      if (parameters.get('cid-version') !== '1' || parameters.get('raw-leaves') !== 'true') {
        return void response.writeHead(400).end('other CIDs than ours')
      }
      const file = await fileOf(request, body)
      if (file === null) return void response.writeHead(400).end('file argument "path" is required')
      const { cid } = await storage.add(Readable.from([file]), { maxBytes: 2 ** 26 })
      if (parameters.get('pin') === 'true') standIn.pinned.add(cid)
      const line = JSON.stringify({ Name: 'file', Hash: cid, Size: String(file.length) })
      response.writeHead(200, { 'content-type': 'application/json', 'x-chunked-output': '1' })
      response.end(`${answer?.(line) ?? line}\n`)
    },

    async 'dag/import'(parameters, { request, response, body }) {
      const car = await CarReader.fromBytes((await fileOf(request, body)) ?? Buffer.alloc(0))
      for await (const { cid, bytes } of car.blocks()) await blocks.put([{ cid: cid.toString(), bytes }])
      const lines: object[] = []
      for (const root of await car.getRoots()) {
        const there = await storage.has(root.toString())
        if (there && parameters.get('pin-roots') === 'true') standIn.pinned.add(root.toString())
        const PinErrorMsg = there ? '' : `block was not found locally (offline): ipld: could not find ${root}`
        lines.push({ Root: { Cid: { '/': root.toString() }, PinErrorMsg } })
      }
      json(response, lines)
    },

    async cat(parameters, { response }) {
      const found = await storage.open(argument(parameters))
      if (found?.type !== 'file') throw new Error('block was not found locally (offline): ipld: could not find it')
      const start = Number(parameters.get('offset') ?? 0)
      const length = Number(parameters.get('length') ?? found.size)
      const parts: Uint8Array[] = []
      for await (const part of found.stream({ start, end: start + length })) parts.push(part)
      response.writeHead(200, { 'content-type': 'text/plain', 'x-stream-output': '1' })
      response.end(standIn.content(Buffer.concat(parts)))
    },

    async 'block/get'(parameters, { response }) {
      const bytes = await blocks.get(argument(parameters))
      if (bytes === null) throw new Error('block was not found locally (offline): ipld: could not find it')
      response.writeHead(200, { 'content-type': 'text/plain', 'x-stream-output': '1' })
      response.end(standIn.content(Buffer.from(bytes)))
    },

    async 'pin/add'(parameters, { response }) {
      const cid = argument(parameters)
      if (!(await storage.has(cid))) throw new Error('pin: block was not found locally (offline)')
      standIn.pinned.add(cid)
      json(response, [{ Pins: [cid] }])
    },
  }

  const { url, close } = await listenLocally(server)
  const standIn: IpfsNodeStandIn = {
    url,
    seen: [],
    pinned: new Set(),
    blocks,
    content: (bytes) => bytes,
    refuse: () => null,
    close,
  }
  return standIn
}

function json(response: ServerResponse, lines: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

async function fileOf(request: IncomingMessage, body: Buffer): Promise<Buffer | null> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' }
  const file = (await new Response(Uint8Array.from(body), { headers }).formData()).get('file')
  return file instanceof Blob ? Buffer.from(await file.arrayBuffer()) : null
}
