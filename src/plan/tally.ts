import { isFileField } from '../batch/rows/field-changes.ts'
import { isContentKey } from '../batch/rows/row-key.ts'
import type { OperationState } from '../state/transitions.ts'
import { type NftChange, PERMANENT_DRIFT_REASONS } from './compare.ts'
import type { Candidate } from './find-nfts.ts'
import { FAILED_MINT_REASON, ID_ADDED_REASON } from './mint-changes.ts'
import type { PlanCounts } from './planned.ts'

/** The numbers that a plan adds up while it compares rows with their NFTs. */
export type Tally = ReturnType<typeof newTally>

export function newTally() {
  const counts: PlanCounts = {
    rows: 0,
    unchanged: 0,
    mint: 0,
    update: 0,
    transfer: 0,
    burn: 0,
    drift: 0,
    impossible: 0,
    abandoned: 0,
    identified: 0,
    lasting: 0,
    keptBurns: 0,
    impossibleBurns: 0,
    retries: 0,
    vanished: 0,
  }
  /** The positions of the rows to mint. */
  const mints: number[] = []
  return {
    counts,
    mints,
    /** Number of rows whose recorded outcome is unknown, although the server has their NFTs. */
    mintedUnsettled: 0,
    /** Number of new rows without an ID. */
    newUnnamed: 0,
    /** Number of changes of rows without an ID that were made outside the manifest and can be taken over. */
    keptUnnamed: 0,
    /** Number of rows that need a change, although their content matches the last recorded content. */
    unedited: 0,
    /** Number of revealed NFTs to update. */
    revealed: 0,
    /** Number of minted rows whose content was edited afterwards, apart from files. */
    edited: 0,
  }
}

const isUnknown = (state: OperationState | undefined): boolean =>
  state === 'sent' || state === 'unknown' || state === 'absent'

/** Returns whether a change replaces an NFT's content with that of its row. Doesn't count changes of files alone. */
const isEdit = ({ want, action, fields }: NftChange): boolean =>
  want === 'update' && action !== 'drift' && fields.some(({ field }) => !isFileField(field))

/** Adds the rows of a page and their changes. `unedited` is counted separately. */
export function countChanges(
  tally: Tally,
  candidates: readonly Candidate[],
  changed: readonly [number, readonly NftChange[]][],
): void {
  const { counts } = tally
  for (const [at, { row, sent, record }] of candidates.entries()) {
    const changes = changed[at]?.[1] ?? []
    if (record !== null && isUnknown(sent?.state)) tally.mintedUnsettled++
    counts.rows++
    if (changes.length === 0) counts.unchanged++
    if (changes.some(isEdit)) tally.edited++
    for (const { action, reason, proof } of changes) {
      counts[action]++
      if (action === 'drift') {
        if (PERMANENT_DRIFT_REASONS.has(reason)) counts.lasting++
        else if (isContentKey(row.key)) tally.keptUnnamed++
      }
      if (action === 'update' && proof !== undefined) tally.revealed++
      if (reason?.startsWith(ID_ADDED_REASON) === true) counts.identified++
      if (action !== 'mint') continue
      tally.mints.push(row.position)
      if (reason?.startsWith(FAILED_MINT_REASON) === true) counts.retries++
      if (sent === null && isContentKey(row.key)) tally.newUnnamed++
    }
  }
}
