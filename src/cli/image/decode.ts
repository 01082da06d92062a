import { SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import { readImageSize } from '../../files/image-size.ts'
import { brokenImageError, checkSize, ImageError, MAX_IMAGE_BYTES, type Pixels, tooManyBytesError } from './pixels.ts'

const DECODERS: Readonly<Record<string, () => Promise<(bytes: Uint8Array) => Pixels>>> = {
  'image/png': async () => (await import('./decode-png.ts')).decodePng,
  'image/jpeg': async () => (await import('./decode-jpeg.ts')).decodeJpeg,
  'image/gif': async () => (await import('./decode-gif.ts')).decodeGif,
}

const UNSUPPORTED_FORMATS: Readonly<Record<string, string>> = {
  'image/svg+xml': 'an SVG',
  'image/webp': 'a WebP',
  'image/avif': 'an AVIF',
}

/**
 * Decodes a PNG, a JPEG or the first frame of a GIF, regardless of the file name. Rejects an image that is too large
 * before decoding any pixels.
 *
 * @throws ImageError if the image is damaged or can't be drawn
 */
export async function decodeImage(bytes: Uint8Array): Promise<Pixels> {
  if (bytes.length > MAX_IMAGE_BYTES) throw tooManyBytesError()
  const type = sniffContentType(bytes.subarray(0, SNIFF_BYTES))
  const decoder = Object.hasOwn(DECODERS, type) ? DECODERS[type] : undefined
  if (decoder === undefined) throw cantBeDrawnError(type)
  // In a photo, a lot of metadata may precede the size.
  const size = readImageSize(bytes, type, bytes.length)
  if (size === null) throw brokenImageError()
  checkSize(size.width, size.height)
  const decode = await decoder()
  const pixels = withImageErrors(() => decode(bytes))
  if (pixels.data.length !== pixels.width * pixels.height * 4) throw brokenImageError()
  return pixels
}

/** Replaces errors of the library, because they contain internal names and parts of the image. */
function withImageErrors<Value>(task: () => Value): Value {
  try {
    return task()
  } catch (error) {
    throw error instanceof ImageError ? error : brokenImageError()
  }
}

function cantBeDrawnError(type: string): ImageError {
  const name = Object.hasOwn(UNSUPPORTED_FORMATS, type) ? UNSUPPORTED_FORMATS[type] : undefined
  if (name !== undefined) return new ImageError(`is ${name}, which can't be drawn here`, name.replace(/^an? /, ''))
  const [kind] = type.split('/')
  if (kind === 'video') return new ImageError("is a video, which can't be drawn here", 'video')
  return new ImageError('is not an image file', 'no image')
}
