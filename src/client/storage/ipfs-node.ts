import { fileUrlProblem } from '../../api/file-url.ts'
import { GdnError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { describeResponse } from '../responses.ts'
import { retryRead } from '../retry-read.ts'
import type { TransportResponse } from '../transport.ts'
import { multipartFile } from '../upload.ts'
import { readFileProperties, type Storage, type StorageDeps, uploadTimeoutMs } from './storage.ts'

export interface IpfsNodeOptions extends StorageDeps {
  /** URL of the RPC API of a Kubo node, such as `http://127.0.0.1:5001`. */
  api: string
}

/** Maximum size of content in a single block. The CID of such content is the hash of its bytes. */
const BLOCK_BYTES = 256 * 1024
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** Creates a storage on the user's IPFS node. The node stores and pins equal content only once. */
export function createIpfsNodeStorage({ api, transport, userAgent, clock }: IpfsNodeOptions): Storage {
  const url = `${api}/api/v0/add?cid-version=1&raw-leaves=true&pin=true&progress=false`
  return {
    async upload(content, name, { signal, sha256 } = {}) {
      const file = await readFileProperties(content, name, sha256)
      const { contentType, body } = await multipartFile(content, name, file.sha256)
      const once = () =>
        transport.request({
          method: 'POST',
          url,
          headers: { 'content-type': contentType, 'user-agent': userAgent },
          stream: body,
          timeoutMs: uploadTimeoutMs(body.size),
          signal,
        })
      const response = await retryRead(url, clock, signal, once)
      const cid = cidIn(response, api)
      if (file.body.size <= BLOCK_BYTES && cid !== rawCid(file.sha256)) throw unexpectedResponseError(response, api)
      return { url: `ipfs://${cid}` }
    },
    close: () => transport.close(),
  }
}

/** Returns the CID in a response. The response contains one line of JSON per file, and the last line is used. */
function cidIn(response: TransportResponse, api: string): string {
  if (response.status === 401 || response.status === 403) {
    throw new GdnError('forbidden', `the IPFS node at ${api} rejected the request: ${describeResponse(response)}`, {
      hint: 'Check that ipfs_api is the URL of the RPC API of a node that accepts requests from this machine.',
    })
  }
  if (response.status !== 200) throw unexpectedResponseError(response, api)
  const lines = Buffer.from(response.body).toString('utf8').trim().split('\n')
  const last = parseJson(Buffer.from(lines.at(-1) ?? ''))
  const cid = last !== null && typeof last === 'object' && 'Hash' in last ? last.Hash : undefined
  if (typeof cid !== 'string' || fileUrlProblem(`ipfs://${cid}`) !== null) throw unexpectedResponseError(response, api)
  return cid
}

function unexpectedResponseError(response: TransportResponse, api: string): GdnError {
  return new GdnError('bad_answer', `${api} did not respond like an IPFS node: ${describeResponse(response)}`, {
    hint: 'Set ipfs_api to the URL of the RPC API of a Kubo node, usually http://127.0.0.1:5001.',
  })
}

/** Returns the CIDv1 of a raw block with a SHA-256 hash, in base32. */
function rawCid(sha256: string): string {
  const bytes = Buffer.from(`01551220${sha256}`, 'hex')
  let text = 'b'
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff
    bits += 8
    for (; bits >= 5; bits -= 5) text += BASE32[(value >> (bits - 5)) & 31]
  }
  return bits === 0 ? text : text + BASE32[(value << (5 - bits)) & 31]
}
