import { imageSize } from 'image-size'

/** How many first bytes of a picture {@link pictureSize} can make use of. */
export const PICTURE_BYTES = 128 * 1024

/** By content type, how many bytes are looked at. An SVG is text, and what reads it would take long over much of it. */
const READABLE: Readonly<Record<string, number>> = {
  'image/png': 64,
  'image/gif': 32,
  'image/webp': 64,
  'image/jpeg': PICTURE_BYTES,
  'image/avif': 16 * 1024,
  'image/svg+xml': 4096,
}

/** Pixels; more than this is no picture that anybody made. */
const MOST = 1_000_000

/** Whether {@link pictureSize} knows this type. */
export const isReadable = (contentType: string): boolean => Object.hasOwn(READABLE, contentType)

/**
 * Width and height in pixels by the first bytes, or null where they don't tell. Bytes are anybody's: it never throws.
 *
 * @param most how many bytes are looked at
 */
export function pictureSize(
  firstBytes: Uint8Array,
  contentType: string,
  most = READABLE[contentType],
): { width: number; height: number } | null {
  if (most === undefined) return null
  try {
    const { width, height } = imageSize(firstBytes.subarray(0, most))
    const good = (side: unknown) => Number.isInteger(side) && Number(side) > 0 && Number(side) <= MOST
    return good(width) && good(height) ? { width, height } : null
  } catch {
    return null
  }
}
