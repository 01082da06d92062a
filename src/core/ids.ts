import { v7 } from 'uuid'

/** Returns a new UUID of version 7, so that rows written together are adjacent in an index. */
export function newId(): string {
  return v7()
}
