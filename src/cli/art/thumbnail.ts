import type { Sharp } from '../../art/render/load-sharp.ts'
import { ImageError, type Pixels } from '../image/pixels.ts'
import { createDataUrl } from '../sheet/embedded.ts'

const MAX_SIDE_PX = 320
const WEBP_QUALITY = 82

/** Returns a thumbnail of raw pixels as a data URL. */
export async function thumbnail(sharp: Sharp, { width, height, data }: Pixels): Promise<string> {
  return await toDataUrl(sharp(data, { raw: { width, height, channels: 4 }, limitInputPixels: false }))
}

/**
 * Returns a thumbnail of an image file as a data URL; null if the file isn't an image, or is too large and can't be
 * scaled.
 */
export async function fileThumbnail(sharp: Sharp, bytes: Uint8Array): Promise<string | null> {
  // sharp reads only the formats that layers can have. `createDataUrl` embeds images in other formats, such as GIF.
  return await toDataUrl(sharp(bytes)).catch(() =>
    createDataUrl(bytes).catch((error: unknown) => {
      if (error instanceof ImageError) return null
      throw error
    }),
  )
}

async function toDataUrl(image: ReturnType<Sharp>): Promise<string> {
  const small = image
    .resize(MAX_SIDE_PX, MAX_SIDE_PX, { fit: 'inside', withoutEnlargement: true })
    .webp({ quality: WEBP_QUALITY })
  return `data:image/webp;base64,${(await small.toBuffer()).toString('base64')}`
}
