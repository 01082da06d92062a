import { imageSize as sizeFromHeader } from 'image-size'

/** How many first bytes of an image {@link imageSize} uses. */
export const IMAGE_BYTES = 128 * 1024

/** Number of bytes to read for each content type. An SVG is text, and its parser would take long for much of it. */
const READABLE: Readonly<Record<string, number>> = {
  'image/png': 64,
  'image/gif': 32,
  'image/webp': 64,
  'image/jpeg': IMAGE_BYTES,
  'image/avif': 16 * 1024,
  'image/svg+xml': 4096,
}

/** Maximum size in pixels. Larger values are not plausible. */
const MOST = 1_000_000

/** Whether {@link imageSize} supports this type. */
export const isReadable = (contentType: string): boolean => Object.hasOwn(READABLE, contentType)

/**
 * Returns width and height in pixels from the first bytes, or null if they don't show them. The bytes are untrusted, so
 * it never throws.
 *
 * @param most how many bytes are read
 */
export function imageSize(
  firstBytes: Uint8Array,
  contentType: string,
  most = READABLE[contentType],
): { width: number; height: number } | null {
  if (most === undefined) return null
  try {
    const { width, height } = sizeFromHeader(firstBytes.subarray(0, most))
    const good = (side: unknown) => Number.isInteger(side) && Number(side) > 0 && Number(side) <= MOST
    return good(width) && good(height) ? { width, height } : null
  } catch {
    return null
  }
}
