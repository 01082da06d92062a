import { BoundedMap } from '../../core/bounded-map.ts'

/**
 * CIDs of files that are stored permanently and whose first bytes this process has checked. Unchecked CIDs may be parts
 * of larger files, or pages that were stored while HTML was allowed.
 */
export type CheckedFiles = BoundedMap<true>

/** Maximum number of entries, which take about 6 MiB. */
const MAX_ENTRIES = 50_000

export const createCheckedFiles = (): CheckedFiles => new BoundedMap(MAX_ENTRIES)
