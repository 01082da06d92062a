import { v7 } from 'uuid'

/**
 * Number of IDs whose random bytes are generated in one call. With one call per ID, these calls would take most of the
 * time.
 */
const IDS_PER_CALL = 256
const ID_BYTES = 16

const random = new Uint8Array(IDS_PER_CALL * ID_BYTES)
let usedBytes = random.length

/** Returns a new UUID of version 7. With these IDs, rows that are written together are adjacent in an index. */
export function newId(): string {
  if (usedBytes === random.length) {
    crypto.getRandomValues(random)
    usedBytes = 0
  }
  usedBytes += ID_BYTES
  return v7({ random: random.subarray(usedBytes - ID_BYTES, usedBytes) })
}
