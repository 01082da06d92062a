import { BoundedMap } from '../../core/bounded-map.ts'

/**
 * CIDs of files that are stored permanently and whose first bytes this process has checked by its rules. Other CIDs may
 * be parts of larger files, or pages that were stored while HTML was allowed.
 */
export type CheckedFiles = BoundedMap<true>

/** About 6 MiB. */
const MOST = 50_000

export const createCheckedFiles = (): CheckedFiles => new BoundedMap(MOST)
