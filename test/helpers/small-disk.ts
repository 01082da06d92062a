import { execFile } from 'node:child_process'
import { mkdtemp, rm, rmdir, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface SmallDisk {
  path: string
  /** Fills the remaining space. */
  fill(): Promise<void>
  /** After `fill`, frees this many kilobytes. */
  leave(kilobytes: number): Promise<void>
  makeRoom(): Promise<void>
  makeReadOnly(): Promise<void>
  remove(): Promise<void>
}

/** Creates a disk of a few kilobytes, or returns why that isn't possible. Needs Linux and permission to mount. */
export async function createSmallDisk(kilobytes: number): Promise<SmallDisk | string> {
  const path = await mkdtemp(join(tmpdir(), 'gdn-disk-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', path])
  } catch {
    await rmdir(path)
    // The path of the disk is in the message. It would make every reason of a skipped test another one.
    return "a small disk can't be mounted here"
  }
  let mounts = 1
  const filler = join(path, 'filler')
  return {
    path,
    async fill() {
      // Fills the disk to the last byte: a chunk that doesn't fit is retried with a smaller size.
      for (let size = kilobytes * 1024; size >= 1; size = Math.floor(size / 2)) {
        await writeFile(filler, Buffer.alloc(size), { flag: 'a' }).catch(() => {})
      }
    },
    async leave(kilobytes) {
      const { size } = await stat(filler)
      await truncate(filler, Math.max(0, size - kilobytes * 1024))
    },
    makeRoom: () => rm(filler, { force: true }),
    async makeReadOnly() {
      // Mounts over it instead of remounting, because a closed database keeps its file open for writing.
      await run('mount', ['-o', 'bind,ro', path, path])
      mounts++
    },
    async remove() {
      // Lazy, because a closed database keeps its file open until garbage collection.
      for (; mounts > 0; mounts--) await run('umount', ['--lazy', path])
      await rmdir(path)
    },
  }
}
