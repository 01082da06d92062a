import { readFile } from 'node:fs/promises'
import { sameAddress } from '../api/same-address.ts'
import { isRevealedHere, listRuns, type Run } from '../batch/runs/runs.ts'
import type { BatchOptions } from '../batch/types.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { leafOf, leavesIn, saltOf } from './leaves.ts'
import { type ReadCommitment, readCommitment } from './read-commitment.ts'
import { commitmentOf, leavesPath } from './unrevealed.ts'

/** Rows of a manifest that an unrevealed run in another collection hides. */
export interface HiddenRows {
  run: Run
  count: number
}

/**
 * Returns the rows that this machine minted unrevealed in another collection of the same server and blockchain, and
 * that it doesn't know to be revealed; null if there are none. Reads the manifest only if there is such a run.
 */
export async function hiddenElsewhere(
  { stateDir, origin, blockchain, contractAddress }: BatchOptions,
  read: () => AsyncIterable<ManifestItem>,
): Promise<HiddenRows | null> {
  let rows: ReadCommitment | null | undefined
  for (const run of await listRuns(stateDir)) {
    const isOfOther = run.origin !== origin || run.blockchain !== blockchain
    if (isOfOther || sameAddress(run.contractAddress, contractAddress)) continue
    if (commitmentOf(run) === null || (await isRevealedHere(run))) continue
    rows ??= await readCommitment(read())
    if (rows === null) return null
    const count = await hiddenIn(run, rows)
    if (count > 0) return { run, count }
  }
  return null
}

/** Maximum number of hashes for rows that aren't at their committed positions. */
const MAX_HASHES = 2_000_000

/**
 * Returns the number of rows that a run's commitment contains. In a long manifest, looks for only some of the rows that
 * aren't at their committed positions.
 */
async function hiddenIn(run: Run, { commitment }: ReadCommitment): Promise<number> {
  const committed = commitmentOf(run)
  if (committed === null) return 0
  const { provenance, shuffle } = committed
  const leaves = await readFile(leavesPath(run.stateDir, provenance)).catch(() => null)
  if (leaves === null) return commitment.withRule(shuffle).provenance === provenance ? commitment.rows : 0
  const all = leavesIn(leaves)
  const seed = Buffer.from(committed.seed, 'hex')
  const { changed, added, removed } = commitment.differencesFrom(leaves, seed)
  const known = all.length - changed.length - removed.length
  const salts = all.map((_, at) => saltOf(seed, at + 1))
  const moved = [...changed, ...added]
  const step = Math.ceil((moved.length * all.length) / MAX_HASHES)
  const isCommitted = (row: number) =>
    all.some((leaf, at) => salts[at] !== undefined && leafOf(salts[at], commitment.contentOf(row)) === leaf)
  return known + moved.filter((row, at) => at % step === 0 && isCommitted(row)).length
}
