import { imageSize as sizeFromHeader } from 'image-size'

/** The number of bytes at the beginning of an image that {@link readImageSize} uses. */
export const IMAGE_HEAD_BYTES = 128 * 1024

/**
 * The number of bytes to read for each content type. The number for SVG is low, because SVG is text that is slow to
 * parse.
 */
const READ_BYTES_BY_TYPE: Readonly<Record<string, number>> = {
  'image/png': 64,
  'image/gif': 32,
  'image/webp': 64,
  'image/jpeg': IMAGE_HEAD_BYTES,
  'image/avif': 16 * 1024,
  'image/svg+xml': 4096,
}

/** The largest plausible width or height in pixels. */
const MAX_SIDE_PIXELS = 1_000_000

/** Returns whether {@link readImageSize} supports this type. */
export const canMeasure = (contentType: string): boolean => Object.hasOwn(READ_BYTES_BY_TYPE, contentType)

/**
 * Returns the width and height in pixels, or null if the first bytes don't contain them. Doesn't throw for invalid
 * bytes, because they are untrusted.
 *
 * @param maxBytes the maximum number of bytes to read
 */
export function readImageSize(
  firstBytes: Uint8Array,
  contentType: string,
  maxBytes = READ_BYTES_BY_TYPE[contentType],
): { width: number; height: number } | null {
  if (maxBytes === undefined) return null
  try {
    const { width, height } = sizeFromHeader(firstBytes.subarray(0, maxBytes))
    const good = (side: unknown) => Number.isInteger(side) && Number(side) > 0 && Number(side) <= MAX_SIDE_PIXELS
    return good(width) && good(height) ? { width, height } : null
  } catch {
    return null
  }
}
