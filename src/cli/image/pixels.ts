/** A decoded image. It has four bytes per pixel (red, green, blue, alpha), in row order. */
export interface Pixels {
  width: number
  height: number
  data: Uint8Array
}

/**
 * The error for an image that can't be drawn. The message completes a sentence that starts with "The image". A table
 * shows `label`, such as `too large`, instead of the image. Neither text quotes content of the image.
 */
export class ImageError extends Error {
  readonly label: string

  constructor(message: string, label: string) {
    super(message)
    this.name = 'ImageError'
    this.label = label
  }
}

export const brokenImageError = () => new ImageError('is broken', 'broken')

export const tooManyBytesError = () => new ImageError('is too large to be drawn here: more than 16 MiB', 'too large')

export const MAX_IMAGE_BYTES = 16 * 1024 * 1024
/** Maximum number of pixels. A decoded pixel takes 4 bytes, and decoding takes several times as much memory. */
const MAX_PIXELS = 20_000_000
const MAX_SIDE = 16_384

/**
 * Rejects an image that would take too much memory to decode.
 *
 * @throws ImageError
 */
export function checkSize(width: number, height: number): void {
  if (!(width > 0 && height > 0)) throw brokenImageError()
  if (width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS) return
  throw new ImageError(`is too large to be drawn here: ${width} x ${height} pixels`, 'too large')
}
