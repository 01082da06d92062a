import { SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import { decodePicture } from '../picture/decode.ts'
import { PictureError } from '../picture/pixels.ts'
import { fitted, scaled } from '../picture/scale.ts'

/** Twice the width of a card. A larger picture looks the same. */
const SIDE = 480
/** Smaller files are embedded as they are. */
const SMALL_BYTES = 40 * 1024
/** Maximum size of formats that can't be scaled here (SVG, WebP, AVIF). */
const MAX_BYTES = 512 * 1024
const JPEG_QUALITY = 82

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml'])

/**
 * Returns a picture as a data URL, scaled down if it is large.
 *
 * @throws PictureError if it is not a picture or remains too large
 */
export async function dataUrl(bytes: Uint8Array): Promise<string> {
  const type = sniffContentType(bytes.subarray(0, SNIFF_BYTES))
  if (!PICTURES.has(type)) throw new PictureError('is not a picture', 'no picture')
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
