import { open } from 'node:fs/promises'
import type { AppendFile } from '../types.ts'

/** The file at a path, to be grown from the given length; what stands after it is cut. */
export async function openAppendFile(path: string, length: number): Promise<AppendFile> {
  const handle = await open(path, 'r+')
  await handle.truncate(length)
  let end = length
  return {
    async append(bytes) {
      let written = 0
      while (written < bytes.length) {
        const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, end)
        written += bytesWritten
        end += bytesWritten
      }
    },
    sync: () => handle.datasync(),
    async truncate(to) {
      await handle.truncate(to)
      end = to
    },
    close: () => handle.close(),
  }
}
