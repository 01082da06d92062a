import { open } from 'node:fs/promises'
import { existingPath } from '../../core/existing-path.ts'
import { MAX_PICTURE_BYTES, PictureError, tooManyBytes } from './pixels.ts'

/**
 * Reads a local picture.
 *
 * @throws PictureError if it no longer exists or is too large
 */
export async function readPicture(path: string): Promise<Uint8Array> {
  try {
    const file = await open(await existingPath(path), 'r')
    try {
      const { size } = await file.stat()
      if (size > MAX_PICTURE_BYTES) throw tooManyBytes()
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    throw error instanceof PictureError ? error : new PictureError("can't be read", "can't be read")
  }
}
