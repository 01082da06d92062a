import { BoundedMap } from '../../core/bounded-map.ts'

/**
 * CIDs of stored files that this process found acceptable by its own rules: their first bytes need not be read again.
 * Others may be parts of larger files, or pages that were stored while HTML was allowed.
 */
export type CheckedFiles = BoundedMap<true>

/** Some 6 MiB. */
const MOST = 50_000

export const createCheckedFiles = (): CheckedFiles => new BoundedMap(MOST)
