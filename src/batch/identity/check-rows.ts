import { freshRows } from '../../state/edited-rows.ts'
import type { RowLocation } from '../../state/rows.ts'
import { findRemovedSentRows, findReplacedIds, type KnownPairs } from '../rows/edited-rows.ts'
import { isContentKey, toReferenceId } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { rowsWithMovedFiles } from './moved-files.ts'
import { findPairs, type Pair, selectRenamedPairs } from './pairing.ts'
import { ReferenceLookup } from './server-names.ts'

// `prepare` (for mints) and `withPlan` (for plans) use this file to find rows that were minted under another key. Both
// then call `refuseClaimedRows`.

/** Rows that were minted under another key, with their NFTs. */
export interface RowPairs {
  /**
   * Rows that got an ID after the mint, and rows without an ID whose files were moved or whose columns were reordered
   * after the mint.
   */
  allPairs: readonly Pair[]
  /** The pairs whose rows got an ID after they were minted. */
  pairsWithAddedId: readonly Pair[]
  /** The pairs whose operations in the state get a new key. */
  renamedPairs: ReturnType<typeof selectRenamedPairs>
  knownPairs: KnownPairs
}

const knownPairsOf = (pairs: readonly Pair[]): KnownPairs => ({
  operations: new Set(selectRenamedPairs(pairs).map(({ sent }) => sent)),
  positions: new Set(pairs.map(({ row }) => row.position)),
})

/**
 * Returns the rows that were minted under another key. None of them may be minted again.
 *
 * @param client null to query no server
 * @throws GdnError `edited_rows`, see `findPairs`
 */
export async function pairRows(
  run: StoredRun,
  options: BatchOptions,
  client: BatchClient | null,
  rows: RowLocation,
): Promise<RowPairs> {
  const { drop } = run
  const pairsWithAddedId = await findPairs(run, options, client, rows)
  const relocated = drop.setId === null ? [] : await rowsWithMovedFiles(run, rows)
  const allPairs = [...pairsWithAddedId, ...relocated]
  return {
    allPairs,
    pairsWithAddedId,
    renamedPairs: selectRenamedPairs(allPairs),
    knownPairs: knownPairsOf(allPairs),
  }
}

/**
 * Returns the operation IDs of sent rows that are no longer in the manifest, if the manifest also has new rows. Returns
 * none for a new run. Rows that another machine minted don't count as new.
 *
 * @param client null to query no server
 * @param paired rows that were minted under another key, and their operations
 * @throws GdnError `edited_rows` unless new rows are permitted
 */
export async function findReplacedOperationIds(
  run: StoredRun,
  options: BatchOptions,
  client: BatchClient | null,
  { rows, paired }: { rows: RowLocation; paired: KnownPairs },
): Promise<string[]> {
  const { drop } = run
  if (drop.setId === null) return []
  const minted = client === null ? paired : await withMintedElsewhere(run, options, client, { rows, paired })
  const newRows = options.newRows === true
  return await run.read((sql) => findReplacedIds(sql, drop, rows, { newRows, setId: drop.setId, paired: minted }))
}

/**
 * Returns `paired` with the rows that are new to this machine but whose reference IDs the server already has. Another
 * machine minted these rows, so they aren't edits of rows that are no longer in the manifest. If other rows are new as
 * well, also adds the rows that are no longer in the manifest and whose NFTs failed or were burned.
 */
async function withMintedElsewhere(
  run: StoredRun,
  options: Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'signal'>,
  client: Pick<BatchClient, 'call' | 'supports' | 'learnCapabilities'>,
  { rows, paired }: { rows: RowLocation; paired: KnownPairs },
): Promise<KnownPairs> {
  const { drop } = run
  const removedRows = await run.read((sql) => findRemovedSentRows(sql, drop, rows, paired))
  const all = removedRows.length === 0 ? [] : await run.read((sql) => freshRows(sql, drop, rows, drop.setId))
  const fresh = all.filter(({ position }) => !paired.positions.has(position))
  if (fresh.length === 0) return paired
  const server = new ReferenceLookup(client, options)
  if (client.supports('references') === null) await client.learnCapabilities({ signal: options.signal })
  const names = new Map(fresh.map((row) => [row, toReferenceId(drop, row)]))
  const nfts = client.supports('references') === true ? await server.findNfts([...names.values()]) : new Map()
  // If a row has the reference ID of a row that is no longer in the manifest, it is an edit of that row. For example,
  // it may have another file.
  const ownNfts = new Set<unknown>(removedRows.flatMap(({ key, nft }) => (isContentKey(key) ? [nft] : [])))
  const knownPositions = [...names].flatMap(([{ position }, name]) =>
    nfts.has(name) && !ownNfts.has(nfts.get(name)) ? position : [],
  )
  const positions = new Set([...paired.positions, ...knownPositions])
  if (knownPositions.length === fresh.length) return { ...paired, positions }
  const ended = await server.findEndedNfts(removedRows.flatMap(({ nft }) => nft ?? []))
  const endedRows = removedRows.filter(({ nft }) => ended.has(nft ?? '')).map(({ id }) => id)
  return { operations: new Set([...paired.operations, ...endedRows]), positions }
}
