import { setImmediate as nextTurn } from 'node:timers/promises'

/** A bundle on chain: the receiver of each token, and the digest of all metadata files. */
export interface BundleOnChain<Row> {
  receivers: readonly string[]
  /** Returns whether these rows, in this order, have the bundle's digest. */
  matches(rows: readonly Row[]): Promise<boolean>
}

/** Time in milliseconds after which the search yields. */
const YIELD_AFTER_MS = 20

/**
 * Finds the rows of a bundle among pending rows, which are in the order of acceptance. Returns null if it finds none in
 * time.
 *
 * A bundle contains pending rows in that order, except those whose files weren't stored yet. The search therefore tries
 * consecutive rows first, then sequences that skip one row, then two, and so on.
 *
 * @param timeMs time limit of the search, which is needed because the digest doesn't show which rows were skipped
 */
export async function findBundle<Row extends { receiver: string }>(
  pendingRows: readonly Row[],
  { receivers, matches }: BundleOnChain<Row>,
  timeMs: number,
): Promise<readonly Row[] | null> {
  const since = performance.now()
  let turnSince = since
  const isLate = () => performance.now() - since > timeMs
  const count = receivers.length
  const check = async (rows: readonly Row[]): Promise<boolean> => {
    if (performance.now() - turnSince > YIELD_AFTER_MS) {
      await nextTurn()
      turnSince = performance.now()
    }
    return await matches(rows)
  }

  /** Finds the rest of a bundle, if exactly `skips` more rows are skipped before the bundle's last row. */
  const findRest = async (chosen: Row[], at: number, skips: number): Promise<boolean> => {
    if (chosen.length === count) return skips === 0 && (await check(chosen))
    for (let skipped = 0; skipped <= skips && at + skipped < pendingRows.length; skipped++) {
      const row = pendingRows[at + skipped]
      if (row === undefined || row.receiver !== receivers[chosen.length]) continue
      chosen.push(row)
      if (await findRest(chosen, at + skipped + 1, skips - skipped)) return true
      chosen.pop()
      if (isLate()) return false
    }
    return false
  }

  for (let skips = 0; count > 0 && skips <= pendingRows.length - count; skips++) {
    for (let first = 0; first + count + skips <= pendingRows.length; first++) {
      const row = pendingRows[first]
      if (row === undefined || row.receiver !== receivers[0]) continue
      const chosen = [row]
      if (await findRest(chosen, first + 1, skips)) return chosen
      if (isLate()) return null
    }
  }
  return null
}
