import { formatLabel, formatLabels, MISSING_LABEL_NOTE } from '../batch/identity/other-labels.ts'
import type { StoredPair } from '../batch/identity/store-pairs.ts'
import { formatIdsHint } from '../batch/rows/added-id.ts'
import { count } from '../core/count.ts'
import { listSome } from '../core/list-some.ts'
import type { PlanCounts } from './planned.ts'
import type { Tally } from './tally.ts'

/** The data for the notes of a plan. */
export interface PlanNoteInputs extends Pick<Tally, 'newUnnamed' | 'keptUnnamed' | 'unedited' | 'revealed'> {
  /** NFTs that have another label on the server, with their labels. */
  relabeled: { count: number; labels: readonly string[] }
  label: string
  /** Rows that got an ID after they were minted. */
  paired: readonly Pick<StoredPair, 'alias'>[]
  /** Rows that the run has sent but that aren't in the manifest. */
  removedRows: RemovedRowCounts
  /**
   * The run that stores the IDs of NFTs whose rows have no ID, or null if there are no such rows. `run` is null if
   * another machine stored the IDs.
   */
  addedIds: { run: string | null } | null
  /** Whether the plan burns the NFTs of the rows in `removedRows`. */
  isPruning: boolean
  counts: Pick<PlanCounts, 'drift' | 'lasting' | 'keptBurns'>
  /** Whether the server supports reference IDs, and whether it can update and burn NFTs. */
  hasReferences: boolean
  hasUpdates: boolean
  /** Why the collection doesn't permit burns; null if it does, or if no NFT could be burned. */
  noBurns: string | null
  /** Whether this machine has minted rows of the run. */
  isMintedHere: boolean
  /** Whether new rows may be edits of rows that another machine has minted. gdn can't check this without a label. */
  mayBeMinted: boolean
  /** Whether the rows are shuffled, so that the plan can't be saved. */
  isShuffled: boolean
  /** Number of rows of a shuffled drop that were not minted before it was sealed. */
  abandoned?: number
}

interface RemovedRowCounts {
  count: number
  /** The names of the first rows. */
  firstNames: readonly string[]
  /** Number of these rows without an ID. A new row without an ID may be an edit of one of them. */
  withoutIdCount: number
}

export const formatPlanNotes = (facts: PlanNoteInputs): string[] => [
  ...formatLabelNotes(facts),
  ...formatPairNotes(facts),
  ...formatRemovedRowNotes(facts),
  ...(facts.addedIds === null ? [] : [formatIdsHint(facts.addedIds.run)]),
  ...(facts.unedited === 0 ? [] : [formatUneditedNote(facts.unedited)]),
  ...(facts.revealed === 0 ? [] : [formatRevealedNote(facts.revealed)]),
  ...(facts.hasReferences || facts.isMintedHere ? [] : [ALL_NEW_NOTE]),
  ...(facts.mayBeMinted ? [MISSING_LABEL_NOTE] : []),
  ...formatKeptChangesNotes(facts),
  ...(facts.abandoned ? [formatAbandonedNote(facts.abandoned, facts.removedRows.count > 0)] : []),
]

const formatAbandonedNote = (rows: number, isIdChanged: boolean): string =>
  `${count(rows, 'row')} of the shuffled drop ${rows === 1 ? 'was' : 'were'} abandoned when it was sealed, and can no longer be minted${isIdChanged ? '. If you changed the id of a row, restore it' : ''}`

function formatKeptChangesNotes({ counts, keptUnnamed }: PlanNoteInputs): string[] {
  const { drift, lasting, keptBurns } = counts
  const keptChanges = drift - keptBurns - lasting
  const removed =
    'gdn keeps the NFTs of removed rows if their owners were changed outside the manifest, even with --take-over'
  return [
    ...(keptChanges > 0 ? [formatKeptChanges(keptChanges, keptUnnamed > 0)] : []),
    ...(keptBurns > 0 ? [removed] : []),
  ]
}

/** @param isUnnamed whether one of the rows has no ID, so that its NFT would not be found after an edit of the row */
function formatKeptChanges(keptChanges: number, isUnnamed: boolean): string {
  const [changes, them, values] = keptChanges === 1 ? ['change', 'it', 'value'] : ['changes', 'them', 'values']
  const enter = `enter the current ${values} in the manifest, such as the new owner in the receiver column, and run gdn apply`
  const accept = isUnnamed ? `add an id column to the manifest, run gdn apply, then ${enter} again` : enter
  return `gdn keeps ${keptChanges} ${changes} made outside the manifest. To accept ${them}, ${accept}. To replace ${them} with the ${values} of the manifest, add --take-over`
}

const formatUneditedNote = (count: number): string =>
  count === 1
    ? '1 row that differs from its NFT was not edited on this machine: the NFT has been changed, for example by another machine. gdn apply reverts the change'
    : `${count} rows that differ from their NFTs were not edited on this machine: the NFTs have been changed, for example by another machine. gdn apply reverts the changes`

const formatRevealedNote = (count: number): string =>
  `${count === 1 ? '1 NFT to update is' : `${count} NFTs to update are`} already revealed. ${NOT_PROVEN_NOTE}`

/** Note on an update that changes the proof of revealed NFTs. */
export const NOT_PROVEN_NOTE =
  'gdn nft verify --on-chain can verify an NFT only while its metadata and files match its commitment'

const ALL_NEW_NOTE =
  'The server does not support reference IDs, and this machine has no run of this manifest, so gdn treats all rows as new'

function formatLabelNotes({ relabeled: { count, labels }, label }: PlanNoteInputs): string[] {
  if (count === 0) return []
  const nfts = count === 1 ? '1 NFT has' : `${count} NFTs have`
  return [`${nfts} the label ${formatLabels(labels)}. gdn apply replaces it with ${formatLabel(label)}`]
}

function formatPairNotes({ paired }: PlanNoteInputs): string[] {
  const notes: string[] = []
  const wantedCount = paired.filter(({ alias }) => alias === 'wanted').length
  const onlyHere = paired.filter(({ alias }) => alias === 'impossible').length
  if (wantedCount > 0) notes.push(`${formatAddedIds(wantedCount)}. gdn apply stores each ID with its NFT`)
  if (onlyHere > 0) {
    notes.push(
      `${formatAddedIds(onlyHere)}. The server can't store IDs with NFTs, so the IDs are recorded only on this machine`,
    )
  }
  return notes
}

const formatAddedIds = (count: number): string =>
  count === 1 ? 'An ID was added to 1 row after its mint' : `IDs were added to ${count} rows after their mint`

const REMOVED_ROWS = 'Without a row: '

/** Returns whether the notes of a plan name the rows that were removed from the manifest. */
export const namesRemovedRows = (notes: readonly string[]): boolean =>
  notes.some((note) => note.startsWith(REMOVED_ROWS))

function formatRemovedRowNotes({
  removedRows,
  newUnnamed,
  isPruning,
  hasUpdates,
  noBurns,
  isShuffled,
}: PlanNoteInputs): string[] {
  const { count, firstNames, withoutIdCount } = removedRows
  if (count <= 0 || isPruning) return []
  const rows = count === 1 ? '1 row that the run has sent is' : `${count} rows that the run has sent are`
  const edited =
    withoutIdCount > 0 && newUnnamed > 0
      ? '. Without an id, an edited row is a new row, and would be minted as an additional NFT'
      : ''
  const notes = [`${rows} no longer in the manifest${edited}`]
  if (firstNames.length > 0) notes.push(`${REMOVED_ROWS}${listSome(firstNames, count)}`)
  const nfts = count === 1 ? 'Its NFT is' : 'Their NFTs are'
  const burnMethod = isShuffled ? 'by gdn nft burn' : 'by a plan that was saved with --prune and --out'
  if (noBurns !== null) notes.push(`gdn can't burn ${count === 1 ? 'its NFT' : 'their NFTs'}: ${noBurns}`)
  else if (hasUpdates) notes.push(`${nfts} burned only ${burnMethod}`)
  return notes
}

/** Returns the note that a manifest was moved and that `gdn apply` stores the new path. */
export const formatMoveNote = (from: string, run: string): string =>
  `The manifest was moved from ${from}. gdn apply stores the new path with the run ${run}`

/** Returns the note that the manifest of a run may have been moved to the path of this manifest. */
export const formatMovedRunNote = ({ name, manifest }: { name: string; manifest: string | null }): string =>
  `The manifest of the run ${name} no longer exists: ${manifest}. If it was moved here, add --adopt`
