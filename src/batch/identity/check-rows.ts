import type { RowsIn } from '../../state/rows.ts'
import { findReplaced, type Paired } from '../rows/edited-rows.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { withMintedElsewhere } from './minted-elsewhere.ts'
import { rowsWithMovedFiles } from './moved-files.ts'
import { findPairs, type Pair, renamedOf } from './pairing.ts'

// A mint (`prepare`) and a plan (`withPlan`) find out in the same way which rows were minted under another key. Both
// then call `refuseTaken`.

/** Rows that were minted under another key, with their NFTs. */
export interface RowPairs {
  /** Rows that got an ID since their mint, and rows without an ID whose local files were moved since. */
  all: readonly Pair[]
  /** Those that got an ID. */
  identified: readonly Pair[]
  /** Those of the run, whose operations get another key. */
  renamed: ReturnType<typeof renamedOf>
  paired: Paired
}

const pairedOf = (pairs: readonly Pair[]): Paired => ({
  operations: new Set(renamedOf(pairs).map(({ sent }) => sent)),
  positions: new Set(pairs.map(({ row }) => row.position)),
})

/**
 * Returns the rows that were minted under another key: no row of them may be minted again.
 *
 * @param client null to ask no server
 * @throws GdnError `edited_rows` as `findPairs`
 */
export async function pairRows(
  store: RunStore,
  options: BatchOptions,
  client: BatchClient | null,
  rows: RowsIn,
): Promise<RowPairs> {
  const { drop } = store
  const identified = await findPairs(store, options, client, rows)
  const relocated = drop.setId === null ? [] : await rowsWithMovedFiles(store, rows)
  const all = [...identified, ...relocated]
  return { all, identified, renamed: renamedOf(all), paired: pairedOf(all) }
}

/**
 * Returns the operations of sent rows that new rows of a run are minted in addition to. Rows that another machine has
 * minted are not new.
 *
 * @param client null to ask no server
 * @param paired rows that were minted under another key, and operations whose rows may be gone
 * @throws GdnError `edited_rows` unless new rows are permitted
 */
export async function findReplacedRows(
  store: RunStore,
  options: BatchOptions,
  client: BatchClient | null,
  { rows, paired }: { rows: RowsIn; paired: Paired },
): Promise<string[]> {
  const { drop } = store
  const minted = client === null ? paired : await withMintedElsewhere(store, options, client, { rows, paired })
  const newRows = options.newRows === true
  return await store.read((sql) => findReplaced(sql, drop, rows, { newRows, setId: drop.setId, paired: minted }))
}
