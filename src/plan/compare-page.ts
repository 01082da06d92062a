import { fileFieldName } from '../batch/rows/field-changes.ts'
import { parseRowParts, splitRowText } from '../batch/rows/row-text.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { addChanges, addDriftedReceiver, type DriftedReceiver } from '../state/plan-tables.ts'
import { recordedRow } from '../state/row-outcomes.ts'
import type { RowRecord } from '../state/rows.ts'
import { hasOtherOwner, type NftChange } from './compare.ts'
import { type Candidate, type OwnerHistory, ownerHistories, type TransferredNft } from './find-nfts.ts'
import { type MatchedRows, matchRows } from './match-rows.ts'
import { addOtherContents } from './other-contents.ts'
import type { PlanState } from './plan-state.ts'
import { countChanges } from './tally.ts'

/** The changes of each row of a page by position, in the order of the rows. */
type RowChangeList = [position: number, NftChange[]][]

/** Compares a page of rows with their NFTs, and stores the changes in temporary tables. */
export async function comparePage(planning: PlanState, rows: readonly RowRecord[]): Promise<void> {
  const matched = await matchRows(planning, rows)
  await addToPlan(planning, matched, await findChanges(planning, matched))
}

const listObservedNfts =
  ({ records }: MatchedRows) =>
  ({ nftGdnId }: Candidate) =>
    records.get(nftGdnId ?? '')

/** Returns the changes of the rows. Also records the receivers of rows whose NFTs others transferred. */
async function findChanges(
  { run, source, options, scope, abilities, comparer }: PlanState,
  matched: MatchedRows,
): Promise<RowChangeList> {
  const nftOf = listObservedNfts(matched)
  const moved = matched.candidates.flatMap((candidate) => {
    const nft = nftOf(candidate)
    if (nft === undefined || nft.burned === true) return []
    return hasOtherOwner(candidate.row.row, nft, abilities) ? [{ candidate, nft }] : []
  })
  const histories = await ownerHistories(run, source, scope, moved)
  if (moved.length > 0) abilities.noTransfersReason ??= await options.whyNoTransfers()
  const changed: RowChangeList = []
  for (const candidate of matched.candidates) {
    const { position } = candidate.row
    const history = histories.get(position)
    changed.push([position, await comparer.findChanges(candidate, nftOf(candidate), abilities, history)])
  }
  await addDriftedReceivers(run, moved, histories, new Map(changed))
  return changed
}

/** Adds the rows of a page and their changes to the plan. */
async function addToPlan(
  { run, options, saved, otherDrop, seen, tally }: PlanState,
  matched: MatchedRows,
  changed: RowChangeList,
): Promise<void> {
  const { page, candidates, records } = matched
  await addOtherContents(run, candidates, listObservedNfts(matched), new Map(changed))
  countChanges(tally, candidates, changed)
  otherDrop.add(candidates, changed)
  tally.unedited += await countUnedited(run, page, candidates, changed)
  await seen.add(page, candidates, records, changed)
  if (options.isSaved === true) await saved.compare(candidates, changed, listObservedNfts(matched))
  await run.state.scratch((sql) => {
    for (const [position, changes] of changed) addChanges(sql, position, changes)
  })
}

/**
 * Records the previous receivers of rows whose NFTs were transferred by another user, such as a buyer on a marketplace.
 * The previous receiver is the one that this machine recorded last, or else the receiver of the mint.
 */
async function addDriftedReceivers(
  { state, drop, id }: StoredRun,
  moved: readonly TransferredNft[],
  histories: ReadonlyMap<number, OwnerHistory>,
  changed: ReadonlyMap<number, readonly NftChange[]>,
): Promise<void> {
  const otherMoves = moved.filter(({ candidate }) => histories.get(candidate.row.position)?.isOurs === false)
  if (otherMoves.length === 0) return
  const drifted = await state.read((sql) =>
    otherMoves.flatMap(({ candidate: { row }, nft }): DriftedReceiver[] => {
      const { position } = row
      const body = drop.setId === null ? null : recordedRow(sql, id, nft.nft_gdn_id)
      const was = body === null ? nft.minted_to : parseRowParts(splitRowText(body)).receiver
      const isOpen = changed.get(position)?.some(({ action }) => action === 'transfer') ?? false
      return typeof was === 'string' ? [{ position, was, now: row.row.receiver, isOpen }] : []
    }),
  )
  await state.scratch((sql) => {
    for (const receiver of drifted) addDriftedReceiver(sql, receiver)
  })
}

/**
 * Counts the rows of a page that need a change, although their content matches the last recorded content. The file at a
 * path may have changed, so differences in local files count only if the metadata was changed afterwards.
 */
async function countUnedited(
  { state, drop, id }: StoredRun,
  page: readonly RowRecord[],
  candidates: readonly Candidate[],
  changed: readonly [number, readonly NftChange[]][],
): Promise<number> {
  if (drop.setId === null) return 0
  const changing = candidates.flatMap(({ nftGdnId, row, sent }, at) => {
    const files = new Set(row.row.localFiles.map(({ key }) => fileFieldName(key)))
    const isChanging = changed[at]?.[1].some(
      ({ action, fields, revision }) =>
        (action === 'update' || action === 'transfer') &&
        ((revision ?? 0) > (sent?.knownRevision ?? 0) || fields.some(({ field }) => !files.has(field))),
    )
    return nftGdnId !== null && isChanging === true ? [{ nftGdnId, body: page[at]?.body }] : []
  })
  if (changing.length === 0) return 0
  return await state.read(
    (sql) =>
      changing.filter(({ nftGdnId, body }) => {
        const recorded = recordedRow(sql, id, nftGdnId)
        return recorded !== null && body !== undefined && Buffer.from(recorded).equals(Buffer.from(body))
      }).length,
  )
}
