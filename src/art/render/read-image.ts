import { constants, open } from 'node:fs/promises'
import { GdnError, messageOf, type Place, systemCode } from '../../core/errors.ts'
import { fileError } from '../../core/file-error.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import { groupDigits } from '../../core/group-digits.ts'
import { quoted } from '../../core/quoted.ts'
import { sniffContentType } from '../../files/content-type.ts'
import type { Sharp } from './load-sharp.ts'
import { type LayerImage, toLayerImage } from './spans.ts'

/** The ways to scale an image whose size differs from the output. The names are those of sharp. */
export const FITS = ['contain', 'cover', 'fill'] as const
export type Fit = (typeof FITS)[number]

export interface Size {
  width: number
  height: number
}

/** An image named in `art.yaml`. */
export interface ImageFile {
  /** The path as spelled in `art.yaml`. */
  file: string
  /** The absolute path. */
  path: string
  /** The location in `art.yaml`. */
  place: Place
}

/** Maximum number of pixels of a decoded image. 8,192 × 8,192 pixels take 256 MiB. */
const MAX_PIXELS = 8192 * 8192
const MAX_IMAGE_BYTES = 256 * 1024 * 1024

/** System errors that a path in `art.yaml` can cause. Others, such as EMFILE, are unrelated to the file. */
const PATH_ERROR_CODES = new Set(['ELOOP', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES'])

const IMAGE_TYPES = ['image/png', 'image/webp', 'image/jpeg']

/**
 * Reads the bytes of an image.
 *
 * @throws GdnError `invalid_input` with the location in `art.yaml`
 */
export async function readImageFile(image: ImageFile): Promise<Buffer> {
  try {
    // Without O_NONBLOCK, opening a pipe would block until a process writes to it. Windows doesn't have this flag.
    const handle = await open(image.path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) throw imageError(image, 'is not a file')
      if (stats.size > MAX_IMAGE_BYTES) throw imageError(image, `is larger than ${formatBytes(MAX_IMAGE_BYTES)}`)
      return await handle.readFile()
    } finally {
      await handle.close()
    }
  } catch (cause) {
    if (cause instanceof GdnError) throw cause
    if (systemCode(cause) === 'ENOENT') throw imageError(image, 'does not exist')
    const error = fileError(cause)
    if (error !== null && PATH_ERROR_CODES.has(systemCode(cause) ?? ''))
      throw imageError(image, `can't be read: ${error.message}`)
    throw error ?? cause
  }
}

/**
 * Returns the size of an image as displayed, after any rotation.
 *
 * @throws GdnError `invalid_input` with the location in `art.yaml`, if the file isn't a PNG, WebP or JPEG image, or
 *   is animated, too large or damaged
 */
export async function readSize(sharp: Sharp, image: ImageFile, bytes: Buffer): Promise<Size> {
  // Ignore the file name extension.
  const type = sniffContentType(bytes, '')
  if (!IMAGE_TYPES.includes(type)) {
    const typeText = type.startsWith('image/') ? `is ${type}` : 'is not an image'
    throw imageError(image, `${typeText}, but layers need PNG, WebP or JPEG`)
  }
  const { autoOrient: size, pages = 1 } = await withImageErrors(
    image,
    async () => await sharp(bytes, { ...DECODE_OPTIONS, limitInputPixels: false }).metadata(),
  )
  if (pages > 1) throw imageError(image, 'is animated')
  if (size.width * size.height > MAX_PIXELS) {
    const maxPixels = groupDigits(MAX_PIXELS)
    throw imageError(image, `has ${size.width} × ${size.height} pixels, but an image can have at most ${maxPixels}`)
  }
  return { width: size.width, height: size.height }
}

/**
 * Decodes an image, scales it to the size of the output, and finds its visible pixels.
 *
 * @param fit how to scale an image of a different size; null to reject such images
 * @throws GdnError `invalid_input` with the location in `art.yaml`
 */
export async function decodeImage(
  sharp: Sharp,
  image: ImageFile,
  { width, height, fit }: Size & { fit: Fit | null },
): Promise<LayerImage> {
  const bytes = await readImageFile(image)
  const size = await readSize(sharp, image, bytes)
  const isScaled = size.width !== width || size.height !== height
  if (isScaled && fit === null) throw wrongSizeError(image, size, { width, height })
  const { data } = await withImageErrors(image, async () => {
    const decoder = createDecoder(sharp, bytes).autoOrient().toColourspace('srgb').ensureAlpha()
    const scaled = isScaled
      ? decoder.resize({ width, height, fit: fit ?? 'contain', background: { r: 0, g: 0, b: 0, alpha: 0 } })
      : decoder
    return await scaled.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
  })
  return toLayerImage({ width, height, data })
}

/** @param also text to append to the message */
export const wrongSizeError = (image: ImageFile, size: Size, output: Size, also = ''): GdnError =>
  imageError(
    image,
    `has ${size.width} × ${size.height} pixels, but the output has ${output.width} × ${output.height}${also}`,
    'Add --fit contain, cover or fill to scale the images. GIF and animated images are not scaled.',
  )

const DECODE_OPTIONS = { limitInputPixels: MAX_PIXELS, failOn: 'warning' } as const
const createDecoder = (sharp: Sharp, bytes: Buffer) => sharp(bytes, DECODE_OPTIONS)

async function withImageErrors<Value>(image: ImageFile, task: () => Promise<Value>): Promise<Value> {
  try {
    return await task()
  } catch (cause) {
    throw imageError(image, `can't be decoded: ${messageOf(cause).split('\n', 1)[0]}`, undefined, cause)
  }
}

const REPLACE_HINT = 'Replace the file, or remove it from art.yaml.'

/** Returns the error for an image, with its location in `art.yaml`. */
export function imageError(image: ImageFile, message: string, hint: string = REPLACE_HINT, cause?: unknown): GdnError {
  return new GdnError('invalid_input', `${quoted(image.file)} ${message}`, { place: image.place, hint, cause })
}
