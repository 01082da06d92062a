import { type FileHandle, open, stat } from 'node:fs/promises'
import { systemCode } from '../../core/errors.ts'
import { wasTakenOver } from '../../core/lock-holder.ts'
import type { Lock } from '../../core/process-lock.ts'
import type { AppendFile } from '../types.ts'

/** What lets a process go on that may have been stopped for long. */
export type Fence = Pick<Lock, 'check'>

/**
 * The file at a path, to be grown from the given length; what stands after it is cut. Nothing counts as synced for a
 * process that lost its lock meanwhile.
 *
 * @throws GdnError `run_busy` once another process has taken over, also from `sync`
 */
export async function openAppendFile(path: string, length: number, fence: Fence): Promise<AppendFile> {
  const handle = await open(path, 'r+')
  const check = async () => {
    await fence.check()
    if (!(await isAt(handle, path))) throw wasTakenOver()
  }
  try {
    // Whoever takes over works on a copy from then on, so what is open since before is nobody else's.
    await check()
    await handle.truncate(length)
  } catch (error) {
    await handle.close()
    throw error
  }
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
    async sync() {
      await handle.datasync()
      await check()
    },
    async truncate(to) {
      await handle.truncate(to)
      end = to
    },
    close: () => handle.close(),
  }
}

async function isAt(handle: FileHandle, path: string): Promise<boolean> {
  try {
    const [own, there] = await Promise.all([handle.stat(), stat(path)])
    return own.ino === there.ino && own.dev === there.dev
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    return false
  }
}
