import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { looksLikeHtml, SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import { parseCid } from '../../ipfs/cid.ts'
import { IMMUTABLE_CACHE_CONTROL } from '../../object-store/bucket.ts'
import { Refusal } from '../services/refusals.ts'
import type { FileStorage, StoredFileContent } from '../storage/adapter.ts'
import { firstBytes } from '../storage/first-bytes.ts'

// Sandbox NFT files, because they are untrusted and share an origin with the other pages of this server.
const IPFS_SECURITY_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
}

interface Range {
  start: number
  /** End of the range, exclusive. */
  end: number
}

/**
 * Parses a byte range. Returns null if the full content must be served, because the header has no range, several ranges
 * or an invalid one. Returns undefined if the range can't be satisfied.
 */
function parseRange(header: string | undefined, size: number): Range | null | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return null
  const [first, last] = [match[1] ?? '', match[2] ?? '']
  if (first !== '' && last !== '' && Number(first) > Number(last)) return null
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size)
  return start < end ? { start, end } : undefined
}

/** Returns the content type of a stored file. HTML is served as plain text unless HTML files are allowed. */
function servedType(head: Uint8Array, name: string, { allowHtml }: { allowHtml: boolean }): string {
  const type = sniffContentType(head, name)
  return !allowHtml && (type.startsWith('text/html') || looksLikeHtml(head)) ? 'text/plain; charset=utf-8' : type
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StoredFileContent,
  { name, allowHtml }: { name: string; allowHtml: boolean },
) {
  const range = parseRange(request.headers.range, file.size)
  if (range === undefined) {
    reply.header('content-range', `bytes */${file.size}`)
    throw new Refusal(
      416,
      ERROR_TITLES.badRequest,
      `the requested range is outside the file, which has ${file.size} bytes`,
    )
  }
  reply.headers({ 'cache-control': IMMUTABLE_CACHE_CONTROL, etag: `"${file.cid}"`, 'accept-ranges': 'bytes' })
  if (request.headers['if-none-match'] === `"${file.cid}"`) return reply.code(304).send()
  reply.type(servedType(await firstBytes(file, SNIFF_BYTES), name, { allowHtml }))
  const { start, end } = range ?? { start: 0, end: file.size }
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${file.size}`)
  reply.header('content-length', end - start)
  return reply.send(Readable.from(file.stream({ start, end }), { objectMode: false }))
}

/**
 * Sends a block unchanged, so that the client can check it against its CID. Makes a browser save the block instead of
 * showing it, because the content may be a page.
 *
 * @see https://specs.ipfs.tech/http-gateways/trustless-gateway/
 */
async function sendBlock(reply: FastifyReply, storage: FileStorage, cid: string) {
  const bytes = await storage.block(cid)
  if (bytes === null) throw new Refusal(404, ERROR_TITLES.notFound, `/ipfs/${cid} is not stored here as a block`)
  const name = `attachment; filename="${cid}.bin"`
  reply.headers({ 'cache-control': IMMUTABLE_CACHE_CONTROL, etag: `"${cid}.raw"`, 'content-disposition': name })
  return reply.type('application/vnd.ipld.raw').send(Buffer.from(bytes))
}

/**
 * Adds `GET /ipfs/<cid>[/path]`, which serves stored content without a key. With `?format=raw` and without a path, it
 * serves the block of the CID.
 */
export function addIpfsRoutes(app: FastifyInstance, storage: FileStorage, { allowHtml }: { allowHtml: boolean }): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const path = (request.params as { '*': string })['*']
    const [cid = '', ...below] = path.split('/').filter((part) => part !== '')
    reply.headers(IPFS_SECURITY_HEADERS)
    const { format } = request.query as { format?: unknown }
    if (format === 'raw' && below.length === 0 && parseCid(cid) !== null) return sendBlock(reply, storage, cid)
    const content = await storage.open(cid, below)
    if (content === null) throw new Refusal(404, ERROR_TITLES.notFound, `/ipfs/${path} is not stored here`)
    if (content.type === 'directory') {
      reply.header('cache-control', IMMUTABLE_CACHE_CONTROL)
      return { cid: content.cid, entries: content.entries }
    }
    return sendFile(request, reply, content, { name: below.at(-1) ?? '', allowHtml })
  }
  app.get('/ipfs/*', { config: { access: 'public', errorForm: 'A' }, exposeHeadRoute: true }, handler)
}
