import { open } from 'node:fs/promises'
import { existingPath } from '../../core/existing-path.ts'
import { ImageError, MAX_IMAGE_BYTES, tooManyBytesError } from './pixels.ts'

/**
 * Reads a local image.
 *
 * @throws ImageError if the image can't be read or is too large
 */
export async function readImage(path: string): Promise<Uint8Array> {
  try {
    const file = await open(existingPath(path), 'r')
    try {
      const { size } = await file.stat()
      if (size > MAX_IMAGE_BYTES) throw tooManyBytesError()
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    throw error instanceof ImageError ? error : new ImageError("can't be read", "can't be read")
  }
}
