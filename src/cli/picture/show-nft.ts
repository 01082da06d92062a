import type { NftRecord } from '../../api/nft-record.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { decodePicture } from './decode.ts'
import { drawn, inRoom, type Room } from './draw.ts'
import { createPictureReader, requestedImage } from './nft-picture.ts'
import { PictureError } from './pixels.ts'
import type { Way } from './way.ts'

/**
 * Draws the picture of an NFT from the server's gateway or from a named one. If it can't be drawn, prints a note, and
 * the command succeeds.
 */
export async function showPicture(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  { metadata_url = null, request_metadata }: NftRecord,
  { way, room, gateway }: { way: Way; room: Room; gateway: string | undefined },
): Promise<void> {
  const { io } = deps
  const from = gateway ?? (client.supportsIdempotency() === true ? server.baseUrl : undefined)
  if (from === undefined) return
  const reader = await createPictureReader(deps, from, gateway === undefined ? server : null)
  try {
    const url = await reader.locate({ metadata_url, requested: requestedImage(request_metadata) })
    if (url === null) return
    const picture = await decodePicture(await reader.read(url))
    await io.read(`${await drawn(inRoom(picture, room, way), way)}\n`)
  } catch (error) {
    if (!(error instanceof PictureError)) throw error
    io.note(`The image ${safe(error.message)}.`)
  } finally {
    await reader.close()
  }
}
