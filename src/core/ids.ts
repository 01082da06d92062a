import { v7 } from 'uuid'

/** Number of IDs whose random bytes are generated in one call. One call per ID would take most of the time. */
const AT_ONCE = 256
const LENGTH = 16

const random = new Uint8Array(AT_ONCE * LENGTH)
let used = random.length

/** Returns a new UUID of version 7. With these IDs, rows that are written together are adjacent in an index. */
export function newId(): string {
  if (used === random.length) {
    crypto.getRandomValues(random)
    used = 0
  }
  used += LENGTH
  return v7({ random: random.subarray(used - LENGTH, used) })
}
