import type { NftRecord } from '../../api/nft-record.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { decodeImage } from './decode.ts'
import { drawPixels, type ImageArea, scaleToArea } from './draw.ts'
import type { DrawMethod } from './draw-method.ts'
import { createImageReader, findRequestedImage } from './nft-image.ts'
import { ImageError } from './pixels.ts'

/**
 * Draws the image of an NFT, read from the server or from the given gateway. If the image can't be drawn, prints a note
 * instead of failing.
 */
export async function showImage(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  { metadata_url = null, request_metadata }: NftRecord,
  { way, room, gateway }: { way: DrawMethod; room: ImageArea; gateway: string | undefined },
): Promise<void> {
  const { io } = deps
  const from = gateway ?? (client.supports('idempotency') === true ? server.baseUrl : undefined)
  if (from === undefined) return
  const reader = await createImageReader(deps, from, gateway === undefined ? server : null)
  try {
    const url = await reader.locate({ metadata_url, requestedUrl: findRequestedImage(request_metadata) })
    if (url === null) return
    const image = await decodeImage(await reader.read(url))
    await io.print(`${await drawPixels(scaleToArea(image, room, way), way)}\n`)
  } catch (error) {
    if (!(error instanceof ImageError)) throw error
    io.note(`The image ${safe(error.message)}.`)
  } finally {
    await reader.close()
  }
}
