import { SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import { decodeImage } from '../image/decode.ts'
import { ImageError, type Pixels } from '../image/pixels.ts'
import { fitInto, scalePixels } from '../image/scale.ts'

/**
 * Maximum size in bytes of files that are embedded unchanged. If possible, larger images are scaled down to this size.
 */
const MAX_UNCHANGED_BYTES = 28 * 1024
/** Settings of the first attempt: maximum side in pixels, and JPEG quality. A card is about 250 pixels wide. */
const LARGE_ENCODING = { side: 360, quality: 80 }
/** Settings of the second attempt if the first result has at most twice the maximum size. */
const MEDIUM_ENCODING = { side: 300, quality: 65 }
/**
 * Settings of the second attempt if the first result is larger. They produce about half as many bytes as FIRST_SIZE.
 */
const SMALL_ENCODING = { side: 240, quality: 50 }
/** Maximum size in bytes of images that can't be scaled, such as SVG, WebP and AVIF. */
const MAX_IMAGE_BYTES = 512 * 1024

const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml'])

/**
 * Returns an image as a data URL. Scales it down if it is large.
 *
 * @throws ImageError if the file isn't an image, or is too large and can't be scaled
 */
export async function createDataUrl(bytes: Uint8Array): Promise<string> {
  const type = sniffContentType(bytes.subarray(0, SNIFF_BYTES))
  if (!IMAGE_TYPES.has(type)) throw new ImageError('is not an image file', 'no image')
  if (bytes.length <= MAX_UNCHANGED_BYTES) return toDataUrl(type, bytes)
  const small = await encodeSmaller(bytes).catch((error: unknown) => {
    if (error instanceof ImageError && bytes.length <= MAX_IMAGE_BYTES) return null
    throw error
  })
  return small === null || small.bytes.length >= bytes.length
    ? toDataUrl(type, bytes)
    : toDataUrl(small.type, small.bytes)
}

const toDataUrl = (type: string, bytes: Uint8Array) => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`

interface EncodedImage {
  type: string
  bytes: Uint8Array
}

/**
 * Scales an image down to SMALL_BYTES, or close to this size. Encodes the image at most twice, because the JPEG encoder
 * needs 27 ms to build its tables, even for a few pixels.
 */
async function encodeSmaller(bytes: Uint8Array): Promise<EncodedImage> {
  const pixels = shrinkTo(await decodeImage(bytes), LARGE_ENCODING.side)
  const encode = await createEncoder(pixels)
  const usual = encode(pixels, LARGE_ENCODING.quality)
  if (usual.bytes.length <= MAX_UNCHANGED_BYTES) return usual
  const { side, quality } = usual.bytes.length <= 2 * MAX_UNCHANGED_BYTES ? MEDIUM_ENCODING : SMALL_ENCODING
  return encode(shrinkTo(pixels, side), quality)
}

const shrinkTo = (pixels: Pixels, side: number): Pixels =>
  pixels.width > side || pixels.height > side
    ? scalePixels(pixels, fitInto(pixels, { width: side, height: side }))
    : pixels

/** Returns the encoder for an image: PNG if any pixel is transparent, or else JPEG. */
async function createEncoder(pixels: Pixels): Promise<(pixels: Pixels, quality: number) => EncodedImage> {
  if (isOpaque(pixels)) {
    const { default: jpeg } = await import('jpeg-js')
    return (pixels, quality) => ({ type: 'image/jpeg', bytes: jpeg.encode(pixels, quality).data })
  }
  const { encode } = await import('fast-png')
  return (pixels) => ({ type: 'image/png', bytes: encode({ ...pixels, channels: 4, depth: 8 }) })
}

function isOpaque({ data }: Pixels): boolean {
  for (let alpha = 3; alpha < data.length; alpha += 4) if (data[alpha] !== 255) return false
  return true
}
