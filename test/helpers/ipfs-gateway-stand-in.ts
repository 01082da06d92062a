import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { importer } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'

type Answer = { status?: number; headers?: Record<string, string>; body: Buffer }

/** A trustless gateway with these blocks. */
export class GatewayStandIn {
  readonly blocks = new Map<string, Buffer>()
  readonly asked: string[] = []
  /** The CIDs of requested CAR files. */
  readonly askedCars: string[] = []
  /** Returns a CAR file, as parts; null if the gateway offers none. */
  car: (cid: string) => Iterable<Uint8Array> | null = () => null
  answer: (cid: string, path: string) => Answer | null | Promise<Answer> = (cid) => {
    const body = this.blocks.get(cid)
    return body === undefined ? { status: 404, body: Buffer.from('not found') } : { body }
  }
  #server: Server | undefined
  url = ''

  async start(): Promise<this> {
    this.#server = createServer(async (request, response) => {
      const car = /^\/ipfs\/([^?/]+)\?format=car&dag-scope=entity$/.exec(request.url ?? '')?.[1]
      if (car !== undefined) {
        this.askedCars.push(car)
        const parts = this.car(car)
        response.writeHead(parts === null ? 406 : 200, { 'content-type': 'application/vnd.ipld.car' })
        return void Readable.from(parts ?? []).pipe(response)
      }
      const cid = /^(?:\/subdomain)?\/ipfs\/([^?/]+)\?format=raw$/.exec(request.url ?? '')?.[1] ?? ''
      this.asked.push(cid)
      const answer = await this.answer(cid, request.url ?? '')
      if (answer === null) return
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/vnd.ipld.raw', ...answer.headers })
      response.end(answer.body)
    })
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  /** Adds files as an IPFS directory in chunks of one kilobyte. Returns the CID of the directory. */
  async add(files: Record<string, Buffer>, { sharded = false } = {}): Promise<string> {
    const put = async (cid: CID, bytes: unknown) => {
      this.blocks.set(cid.toV1().toString(), Buffer.from(bytes as Uint8Array))
      return cid
    }
    const source = Object.entries(files).map(([path, content]) => ({ path, content: [content] }))
    let root = ''
    const chunker = async function* (parts: AsyncIterable<Uint8Array>) {
      for await (const part of parts) {
        for (let at = 0; at < Math.max(1, part.length); at += 1024) yield part.subarray(at, at + 1024)
      }
    }
    const shards = sharded ? { shardSplitThresholdBytes: 0 } : {}
    const options = { wrapWithDirectory: true, cidVersion: 1, rawLeaves: true, chunker, ...shards } as const
    for await (const { cid, path } of importer(source, { put } as never, options))
      if (path === '') root = cid.toString()
    return root
  }

  close(): Promise<unknown> {
    this.#server?.closeAllConnections()
    return new Promise((resolve) => this.#server?.close(resolve))
  }
}
