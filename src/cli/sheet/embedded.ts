import { SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import { decodePicture } from '../picture/decode.ts'
import { PictureError } from '../picture/pixels.ts'
import { fitted, scaled } from '../picture/scale.ts'

/** A card is half as wide: what is more can't be seen. */
const SIDE = 480
/** Smaller files are taken as they are. */
const SMALL_BYTES = 40 * 1024
/** What can't be made smaller here (SVG, WebP, AVIF) is taken up to this. */
const MAX_BYTES = 512 * 1024
const JPEG_QUALITY = 82

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml'])

/**
 * A picture as a data URL, made smaller where it is large.
 *
 * @throws PictureFault for what is no picture, and for one that stays too large
 */
export async function dataUrl(bytes: Uint8Array): Promise<string> {
  const type = sniffContentType(bytes.subarray(0, SNIFF_BYTES))
  if (!PICTURES.has(type)) throw new PictureError('is no picture', 'no picture')
  if (bytes.length <= SMALL_BYTES) return asUrl(type, bytes)
  const small = await smaller(bytes).catch((error: unknown) => {
    if (error instanceof PictureError && bytes.length <= MAX_BYTES) return null
    throw error
  })
  return small === null || small.bytes.length >= bytes.length ? asUrl(type, bytes) : asUrl(small.type, small.bytes)
}

const asUrl = (type: string, bytes: Uint8Array) => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`

async function smaller(bytes: Uint8Array): Promise<{ type: string; bytes: Uint8Array }> {
  const picture = await decodePicture(bytes)
  const box = { width: SIDE, height: SIDE }
  const isLarger = picture.width > SIDE || picture.height > SIDE
  const pixels = isLarger ? scaled(picture, fitted(picture, box)) : picture
  const isOpaque = pixels.data.every((value, i) => i % 4 !== 3 || value === 255)
  if (isOpaque) {
    const { default: jpeg } = await import('jpeg-js')
    return { type: 'image/jpeg', bytes: jpeg.encode(pixels, JPEG_QUALITY).data }
  }
  const { encode } = await import('fast-png')
  return { type: 'image/png', bytes: encode({ ...pixels, channels: 4, depth: 8 }) }
}
