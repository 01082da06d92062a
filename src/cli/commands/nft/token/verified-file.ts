import { retryRead } from '../../../../client/retry-read.ts'
import { GdnError } from '../../../../core/errors.ts'
import { gatewayBase, ipfsPathParts, ipfsPlace } from '../../../../core/ipfs-url.ts'
import { MAX_BLOCK_BYTES, matchesCid, parseCid, RAW_CODEC } from '../../../../ipfs/cid.ts'
import { findEntry, isDirectory, readNode, streamNode } from '../../../../ipfs/nodes.ts'
import type { GatewayAccess } from './gateway-access.ts'

/**
 * The content of an `ipfs://` URL. `differs`: the gateway returned content that doesn't match the CID, or the CID
 * contains no such file. `unknown`: nothing is proven.
 */
export type VerifiedFile =
  | { kind: 'matches'; bytes: Uint8Array; cid: string }
  | { kind: 'differs'; reason: string }
  | { kind: 'unknown'; reason: string }

const MAX_BLOCKS = 100
const MAX_FILE_BYTES = 4 * 1024 * 1024
const TIMEOUT_MS = 30_000
const BLOCK_CONTENT_TYPE = 'application/vnd.ipld.raw'

class UnverifiedContentError extends Error {
  readonly kind: 'differs' | 'unknown'

  constructor(kind: 'differs' | 'unknown', reason: string) {
    super(reason)
    this.kind = kind
  }
}

/**
 * Reads a file from an untrusted gateway. Checks each block against its CID.
 *
 * @see https://specs.ipfs.tech/http-gateways/trustless-gateway/
 */
export async function readVerifiedFile(url: string, access: GatewayAccess): Promise<VerifiedFile> {
  const { cid: text, path } = ipfsPathParts(ipfsPlace(url))
  const root = parseCid(text)
  if (root === null)
    return { kind: 'unknown', reason: 'its CID does not identify a file or directory with a sha2-256 hash' }
  const blocks = createBlockReader(access)
  const nodeAt = async (cid: typeof root) => {
    const node = await readNode(blocks, cid)
    if (node === null)
      throw new UnverifiedContentError('unknown', `${url} contains an unsupported kind of node in its path`)
    return node
  }
  try {
    let cid = root
    for (const part of path) {
      const entry = await findEntry(nodeAt, await nodeAt(cid), part)
      if (entry === null) throw new UnverifiedContentError('differs', `its directory has no ${JSON.stringify(part)}`)
      cid = entry
    }
    const node = await nodeAt(cid)
    if (isDirectory(node)) throw new UnverifiedContentError('differs', `${url} is a directory`)
    const parts: Uint8Array[] = []
    let size = 0
    for await (const bytes of streamNode(blocks, cid, node)) {
      size += bytes.length
      if (size > MAX_FILE_BYTES)
        throw new UnverifiedContentError('unknown', `${url} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
      parts.push(bytes)
    }
    return { kind: 'matches', bytes: Buffer.concat(parts), cid: cid.toString() }
  } catch (error) {
    if (error instanceof UnverifiedContentError) return { kind: error.kind, reason: error.message }
    if (access.signal.aborted) throw error
    if (error instanceof GdnError && GATEWAY_ERROR_CODES.has(error.code))
      return { kind: 'unknown', reason: error.message }
    // The blocks match their CIDs, but they don't form a file.
    return { kind: 'differs', reason: `${url} is not a well-formed file` }
  }
}

const GATEWAY_ERROR_CODES: ReadonlySet<string> = new Set(['unreachable', 'bad_answer', 'rate_limited'])

/** Returns a function that reads blocks from the gateway and checks each against its CID. */
function createBlockReader({ gateway, transport, clock, userAgent, signal }: GatewayAccess) {
  const base = gatewayBase(gateway)
  const { origin } = new URL(base)
  let count = 0
  return {
    async get(text: string): Promise<Uint8Array> {
      if (++count > MAX_BLOCKS)
        throw new UnverifiedContentError('unknown', `the file has more than ${MAX_BLOCKS} blocks`)
      const { status, headers, body } = await retryRead(origin, clock, signal, () =>
        transport.request({
          method: 'GET',
          url: `${base}/ipfs/${text}?format=raw`,
          headers: { accept: BLOCK_CONTENT_TYPE, 'user-agent': userAgent },
          timeoutMs: TIMEOUT_MS,
          maxBytes: MAX_BLOCK_BYTES,
          signal,
        }),
      )
      if (status !== 200)
        throw new UnverifiedContentError('unknown', `${origin} returned HTTP ${status} for the block ${text}`)
      const cid = parseCid(text)
      if (cid !== null && matchesCid(cid, body)) return body
      // Gateways that don't support raw blocks ignore the requested format, and return the file to which the block
      // belongs.
      const isBlock = headers['content-type']?.startsWith(BLOCK_CONTENT_TYPE) === true || cid?.code === RAW_CODEC
      throw isBlock
        ? new UnverifiedContentError('differs', `${origin} returned content that does not match ${text}`)
        : new UnverifiedContentError('unknown', `${origin} does not return blocks, so the content can't be checked`)
    },
  }
}
