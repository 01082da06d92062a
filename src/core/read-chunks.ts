import { open } from 'node:fs/promises'

const CHUNK_BYTES = 256 * 1024

/** Yields the content of a file. Reads it by its handle, which takes less time for small files than a stream. */
export async function* readChunks(path: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const file = await open(path)
  try {
    for (;;) {
      signal?.throwIfAborted()
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
