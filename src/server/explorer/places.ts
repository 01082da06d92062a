import type { BucketCounts, StateCounts } from '../store/explorer-counts.ts'
import type { Counts, Status } from './types.ts'

export const toCounts = ({ files, waiting, deployed, failed }: StateCounts): Counts => ({
  initiated: files + waiting,
  deployed,
  failed,
})

const countByStatus = (counts: StateCounts, status: Status | null): number => {
  const { initiated, deployed, failed } = toCounts(counts)
  return status === null ? initiated + deployed + failed : { initiated, deployed, failed }[status]
}

export interface PagePosition {
  bucket: number
  /** Offset of the first requested item in the bucket. */
  offset: number
}

/** Returns the buckets that contain a page of a list, so that the items before the page don't have to be read. */
export function locatePage(
  buckets: readonly BucketCounts[],
  { status, offset, limit }: { status: Status | null; offset: number; limit: number },
): { total: number; places: PagePosition[] } {
  const places: PagePosition[] = []
  let total = 0
  for (const counts of buckets) {
    const count = countByStatus(counts, status)
    if (count > 0 && total + count > offset && total < offset + limit) {
      places.push({ bucket: counts.bucket, offset: Math.max(0, offset - total) })
    }
    total += count
  }
  return { total, places }
}

export const sumCounts = (buckets: readonly StateCounts[]): StateCounts =>
  buckets.reduce(
    (sum, counts) => ({
      files: sum.files + counts.files,
      waiting: sum.waiting + counts.waiting,
      deployed: sum.deployed + counts.deployed,
      failed: sum.failed + counts.failed,
    }),
    { files: 0, waiting: 0, deployed: 0, failed: 0 },
  )
