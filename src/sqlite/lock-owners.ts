import { readFileSync, statSync } from 'node:fs'
import { pid as ownPid } from 'node:process'

/** SQLite locks the 512 bytes of a file that begin at 1 GiB. */
const FIRST_LOCK_BYTE = 2 ** 30
const LOCK_BYTES = 512

/**
 * Returns the PIDs of other processes that hold an SQLite lock on a file, according to Linux. Returns none on other
 * systems. Omits processes in other containers.
 */
export function lockHolders(path: string): number[] {
  let lines: string[]
  let inode: string
  try {
    inode = String(statSync(path, { bigint: true }).ino)
    lines = readFileSync('/proc/locks', 'latin1').split('\n')
  } catch {
    return []
  }
  const owners = new Set<number>()
  for (const line of lines) {
    // For example, `7: POSIX  ADVISORY  WRITE 2917 fe:00:2195486 1073741824 1073742335`. The line of a waiting lock
    // contains `->`.
    const match = /^\d+: (?:POSIX|OFDLCK) +\w+ +\w+ +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) (\d+) /.exec(line)
    const at = Number(match?.[3]) - FIRST_LOCK_BYTE
    if (match?.[2] === inode && at >= 0 && at < LOCK_BYTES) owners.add(Number(match[1]))
  }
  owners.delete(ownPid)
  owners.delete(0)
  return [...owners]
}
