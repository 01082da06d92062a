import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenLocally } from './http-server.ts'
import { pngNamed } from './images.ts'

/** Handles one request. `count` is the number of requests for this path so far, including this one. */
export type FileHandler = (request: IncomingMessage, response: ServerResponse, count: number) => void

export interface FileServer {
  /** Without a trailing slash. */
  url: string
  /** Paths in the order of their requests. */
  requests: string[]
  close(): Promise<void>
}

/** A small, distinct image for every name. Its bytes can't be mistaken for a page. */
export function pngOf(name: string): Buffer {
  return pngNamed(name)
}

export function bytes(content: Uint8Array, type = 'image/png'): FileHandler {
  return (_request, response) => void response.writeHead(200, { 'content-type': type }).end(content)
}

export const status =
  (code: number): FileHandler =>
  (_request, response) =>
    void response.writeHead(code, { 'content-type': 'text/plain' }).end('no')

export const htmlPage = bytes(Buffer.from('<!doctype html><title>A page</title>'), 'text/html')

/** One byte more than `size`, without a content-length header. */
export const largerThan =
  (size: number): FileHandler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' })
    response.on('error', () => {})
    const chunk = Buffer.alloc(1024 * 1024, 1)
    let left = size + 1
    const more = () => {
      while (left > 0) {
        const next = chunk.subarray(0, Math.min(left, chunk.length))
        left -= next.length
        if (!response.write(next)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  }

/** Handles the first `failures` requests with `first`, and later ones with `then`. */
export const failing =
  (failures: number, first: FileHandler, then: FileHandler): FileHandler =>
  (request, response, count) =>
    (count <= failures ? first : then)(request, response, count)

/** Serves typical files of file_fields. A path without a handler returns an image of that name. */
export async function startFileServer(
  handlers: Readonly<Record<string, FileHandler>> = {},
  contentOf: (path: string) => Buffer = pngOf,
): Promise<FileServer> {
  const requests: string[] = []
  const counts = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    requests.push(path)
    const count = (counts.get(path) ?? 0) + 1
    counts.set(path, count)
    const handler = Object.hasOwn(handlers, path) ? handlers[path] : undefined
    ;(handler ?? bytes(contentOf(path)))(request, response, count)
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    requests,
    close,
  }
}
