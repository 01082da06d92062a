import { parseJson } from '../../client/answers.ts'
import { createTransport } from '../../client/create-transport.ts'
import { type Transport, TransportError } from '../../client/transport.ts'
import type { Server } from '../../config/server.ts'
import { atGateway } from '../../nft/storage-reader.ts'
import { proxyOf } from '../connect/connect.ts'
import { debugExchanges } from '../connect/debug-exchange.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { MAX_PICTURE_BYTES, PictureError } from './pixels.ts'

/** What an NFT tells of where its picture is. */
export interface PicturedNft {
  metadata_url: string | null
  /** The URL of the file field `image`, as requested. */
  requested: string | null
}

const MAX_METADATA_BYTES = 1024 * 1024
/** A picture beside a record isn't worth more. */
const TIMEOUT_MS = 5000
/** A gateway that is silent so often isn't asked again: a report has thousands of pictures. */
const MAX_SILENT = 3

/** Reads pictures of NFTs from an IPFS gateway, and from nowhere else: other URLs may lead anywhere. */
export interface PictureReader {
  /**
   * The picture's file as it is in storage, or null where the gateway isn't where it is.
   *
   * @throws PictureFault where the gateway doesn't give it
   */
  read(nft: PicturedNft): Promise<Uint8Array | null>
  close(): Promise<void>
}

/** The URL of the file field `image` in metadata as requested; these are anything that JSON is. */
export function requestedImage(metadata: unknown): string | null {
  const fields: unknown = isObject(metadata) ? metadata.file_fields : null
  const image = Array.isArray(fields) ? fields.find((field: unknown) => isObject(field) && field.key === 'image') : null
  return isObject(image) && typeof image.url === 'string' && image.url !== '' ? image.url : null
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object'

export async function createPictureReader(
  { env, io, signals }: Deps,
  gateway: string,
  server: Pick<Server, 'loopback'> | null,
): Promise<PictureReader> {
  const proxy = server?.loopback === true ? undefined : proxyOf(env)
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  let silent = 0
  const get = async (url: string, maxBytes: number) => {
    if (silent >= MAX_SILENT) throw new PictureError(`is not given by ${new URL(url).origin}: no answer`, 'not there')
    silent++
    const { status, body } = await fetchFile(transport, url, maxBytes, signals.signal)
    silent = 0
    if (status === 200) return body
    const { origin } = new URL(url)
    const why = status === 404 || status === 410 ? `is not at ${origin}` : `is not given by ${origin}: HTTP ${status}`
    throw new PictureError(why, 'not there')
  }
  return {
    async read(nft) {
      const image = (await imageOf(nft, gateway, get)) ?? nft.requested
      const url = image === null ? null : atGateway(gateway, image)
      return url === null ? null : await get(url, MAX_PICTURE_BYTES)
    },
    close: () => transport.close(),
  }
}

type Get = (url: string, maxBytes: number) => Promise<Uint8Array>

/** What the metadata say, once there are any: a file that was requested by a web address is in storage by then. */
async function imageOf({ metadata_url }: PicturedNft, gateway: string, get: Get): Promise<string | null> {
  const url = metadata_url === null ? null : atGateway(gateway, metadata_url)
  if (url === null) return null
  const metadata = parseJson(await get(url, MAX_METADATA_BYTES))
  if (metadata === null || typeof metadata !== 'object' || !('image' in metadata)) return null
  return typeof metadata.image === 'string' ? metadata.image : null
}

async function fetchFile(transport: Transport, url: string, maxBytes: number, signal: AbortSignal) {
  const headers = { 'user-agent': `gdn/${VERSION}` }
  try {
    return await transport.request({ method: 'GET', url, headers, timeoutMs: TIMEOUT_MS, maxBytes, signal })
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    throw new PictureError(`is not given by ${new URL(url).origin}: ${error.message}`, 'not there')
  }
}
