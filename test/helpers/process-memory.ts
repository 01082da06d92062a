import { open, readFile } from 'node:fs/promises'

const PIECE = 4 * 2 ** 20

/**
 * Counts byte strings in the writable memory of a process (Linux). Like a memory dump, this includes heap, stacks,
 * buffers and freed memory.
 */
export async function findInMemory(pid: number, needles: ReadonlyMap<string, Buffer>): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  const longest = Math.max(...[...needles.values()].map((needle) => needle.length))
  const memory = await open(`/proc/${pid}/mem`, 'r')
  try {
    for (const { start, end } of await writableRanges(pid)) {
      for (let at = start; at < end; at += PIECE) {
        const piece = Buffer.alloc(Math.min(PIECE + longest - 1, end - at))
        // A range may be unmapped while it is read, and some can't be read.
        const read = await memory.read(piece, 0, piece.length, at).catch(() => null)
        if (read === null) continue
        for (const [name, needle] of needles) {
          const count = countOf(piece.subarray(0, read.bytesRead), needle, PIECE)
          if (count > 0) found.set(name, (found.get(name) ?? 0) + count)
        }
      }
    }
  } finally {
    await memory.close()
  }
  return found
}

async function writableRanges(pid: number): Promise<{ start: number; end: number }[]> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8')
  return [...maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)].map(([, start = '', end = '']) => ({
    start: Number.parseInt(start, 16),
    end: Number.parseInt(end, 16),
  }))
}

/** Counts only matches that start before `limit`. The next piece has the others. */
function countOf(bytes: Buffer, needle: Buffer, limit: number): number {
  let count = 0
  for (let at = bytes.indexOf(needle); at >= 0 && at < limit; at = bytes.indexOf(needle, at + 1)) count++
  return count
}
