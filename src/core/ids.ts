import { v7 } from 'uuid'

/** A new identifier: UUID version 7, so that rows written together lie together in an index. */
export function newId(): string {
  return v7()
}
