import { refuseClaimedRows, refuseNftsOfOthers } from '../batch/identity/claim.ts'
import { refuseExchanged } from '../batch/identity/exchanged.ts'
import { refuseRenumbered } from '../batch/identity/renumbered.ts'
import { findSecondEdition } from '../batch/identity/second-edition.ts'
import { isInEdition, secondEditionText, seemsOtherEdition } from '../batch/rows/other-edition.ts'
import { movedRuns } from '../batch/runs/moved-run.ts'
import { GdnError } from '../core/errors.ts'
import { addedRows } from '../state/rows.ts'
import { refuseExchangedContents } from './other-contents.ts'
import { formatMovedRunNote, formatMoveNote } from './plan-notes.ts'
import type { PlanState } from './plan-state.ts'

/**
 * Refuses changes to rows and NFTs that belong to other runs, and changes that seem to be a mistake. Adds notes about
 * changes that may be a mistake.
 *
 * @returns the note that the manifest may be another edition; null if there is none
 * @throws GdnError `already_accepted`, `edited_rows`, `seems_minted`, `not_found`
 */
export async function checkPlan(planning: PlanState): Promise<string | null> {
  await refuseRowsOfOthers(planning)
  const otherEdition = await findOtherEdition(planning)
  if (otherEdition !== null) planning.notes.push(otherEdition)
  if (planning.options.isSaved !== true) await refuseDoubtfulPlan(planning, otherEdition !== null)
  await checkMove(planning)
  return otherEdition
}

/**
 * Refuses to mint rows or change NFTs that belong to other runs.
 *
 * @throws GdnError `already_accepted` if another run on this machine has the rows to mint or the NFTs to change
 */
async function refuseRowsOfOthers({ run, options, pairs, tally: { counts, mints } }: PlanState): Promise<void> {
  if (counts.update + counts.transfer > 0) await run.state.scratch((sql) => refuseNftsOfOthers(sql, run, options))
  // Edited rows are checked by `refuseEditedRows` when the plan is applied.
  const checked = { rows: 'draft', isRead: true, pending: mints, renamed: pairs.renamedPairs } as const
  await run.read((sql) => refuseClaimedRows(sql, run, { ...options, newRows: true }, checked))
}

/**
 * Returns a note if another run has minted the rows with other content. Also returns a note if most minted rows have
 * other content, and either some rows are new or `gdn art generate` created the manifest. Otherwise, returns null.
 */
async function findOtherEdition({ run, options, tally }: PlanState): Promise<string | null> {
  const second = await findSecondEdition(run, 'draft', tally.mints)
  if (second !== null) return secondEditionText(second)
  const { rows, mint, retries, abandoned } = tally.counts
  const sent = rows - mint - abandoned
  const edited = tally.edited - tally.unedited
  if (!seemsOtherEdition({ edited, sent })) return null
  const { manifestPath } = options
  if (mint === retries && !(manifestPath !== null && (await isInEdition(manifestPath)))) return null
  return `${edited} of the ${sent} minted rows have different content: this manifest may belong to another edition`
}

/**
 * Refuses changes that seem to be a mistake.
 * @throws GdnError `edited_rows`, `seems_minted`
 */
async function refuseDoubtfulPlan(
  { run, options, otherDrop, notes, tally: { counts } }: PlanState,
  mayBeOther: boolean,
): Promise<void> {
  const { drop, state } = run
  const { unchanged, abandoned, rows, mint } = counts
  const { adopt = false, allowExchanged: isAllowed = false } = options
  if (unchanged + abandoned === rows) return
  if (!isAllowed) {
    await refuseExchangedContents(run)
    if (drop.setId !== null) await run.read((sql) => refuseRenumbered(sql, drop, 'draft'))
  }
  const judged = { rows: 'draft', rowsWithNfts: rows - mint, isAllowed, mayBeOther } as const
  const exchanged = await state.scratch((sql) => refuseExchanged(sql, drop, judged))
  notes.push(...exchanged.notes)
  const note = drop.setId === null && !adopt && !exchanged.areTitles ? otherDrop.refuse() : null
  if (note !== null) notes.push(note)
}

/**
 * Adds notes about a moved or renamed manifest.
 * @throws GdnError `seems_minted` if another run minted the rows; `not_found` if the drop is sealed, but no row has
 *   an NFT
 */
async function checkMove({ run, options, comparer, withoutRow, notes, tally }: PlanState): Promise<void> {
  const { movedFrom, drop } = run
  const { mint, rows, abandoned } = tally.counts
  if (options.adopt !== true && options.isSaved !== true && mint > 0) {
    const added = drop.setId === null ? null : await run.read((sql) => addedRows(sql, 'draft', drop))
    const addedPositions = new Set(added?.map(({ position }) => position))
    // A second drop repeats rows on purpose, except rows that were added to it.
    const checked = drop.again ? tally.mints.filter((position) => addedPositions.has(position)) : tally.mints
    if (added === null || addedPositions.size > 0) await withoutRow.refuseMintedRows(checked)
  }
  if (movedFrom !== null) notes.push(formatMoveNote(movedFrom, drop.name))
  if (drop.setId !== null) return
  const renamed = rows > 0 && comparer.rowsWithoutNftCount === rows ? await withoutRow.readRenameNotes() : []
  if (rows > 0 && abandoned === rows) {
    throw new GdnError(
      'not_found',
      'the drop is sealed, but gdn found no NFT of its rows under the name of this file',
      {
        hint: renamed.length > 0 ? `${renamed.join('. ')}.` : RENAMED_FILE_HINT,
      },
    )
  }
  notes.push(...renamed)
  const moved = await run.read((sql) => movedRuns(sql, options))
  notes.push(...moved.map(formatMovedRunNote))
}

const RENAMED_FILE_HINT = 'If the file was renamed after its rows were minted, add --run <former file name>.'
