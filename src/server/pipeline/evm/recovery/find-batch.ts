import { setImmediate as nextTurn } from 'node:timers/promises'

/** The rows of a batch as the chain has them: the receiver of each token, and the digest of all metadata files. */
export interface MintedRows<Row> {
  receivers: readonly string[]
  /** Whether these rows, in this order, have the batch's digest. */
  matches(rows: readonly Row[]): Promise<boolean>
}

/** Others get a turn after so long. */
const TURN_MS = 20

/**
 * The rows of a batch among those that wait, in their order of acceptance; null where none are found in time.
 *
 * A batch takes what waits in that order, but for rows whose files weren't stored yet. So rows that follow each other
 * are tried first, then those with one row left out in between, then two and so on.
 *
 * @param timeMs for how long to try: the digest doesn't say which rows were left out
 */
export async function findBatch<Row extends { receiver: string }>(
  waiting: readonly Row[],
  { receivers, matches }: MintedRows<Row>,
  timeMs: number,
): Promise<readonly Row[] | null> {
  const since = performance.now()
  let turnSince = since
  const isLate = () => performance.now() - since > timeMs
  const count = receivers.length
  const check = async (rows: readonly Row[]): Promise<boolean> => {
    if (performance.now() - turnSince > TURN_MS) {
      await nextTurn()
      turnSince = performance.now()
    }
    return await matches(rows)
  }

  /** The rest of a batch from a place on, leaving out exactly so many rows between its first and its last. */
  const rest = async (chosen: Row[], at: number, skips: number): Promise<boolean> => {
    if (chosen.length === count) return skips === 0 && (await check(chosen))
    for (let skipped = 0; skipped <= skips && at + skipped < waiting.length; skipped++) {
      const row = waiting[at + skipped]
      if (row === undefined || row.receiver !== receivers[chosen.length]) continue
      chosen.push(row)
      if (await rest(chosen, at + skipped + 1, skips - skipped)) return true
      chosen.pop()
      if (isLate()) return false
    }
    return false
  }

  for (let skips = 0; count > 0 && skips <= waiting.length - count; skips++) {
    for (let first = 0; first + count + skips <= waiting.length; first++) {
      const row = waiting[first]
      if (row === undefined || row.receiver !== receivers[0]) continue
      const chosen = [row]
      if (await rest(chosen, first + 1, skips)) return chosen
      if (isLate()) return null
    }
  }
  return null
}
