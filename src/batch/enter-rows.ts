import { GdnError } from '../core/errors.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { updateDrop } from '../state/drops.ts'
import { markReplaced, storeContents } from '../state/edited-rows.ts'
import { findAssignedToOtherRuns, storeListedNfts } from '../state/known-nfts.ts'
import { markRetried, renameRows } from '../state/row-outcomes.ts'
import type { RowLocation } from '../state/rows.ts'
import { reopenRun } from '../state/runs.ts'
import { insertFoundRows } from '../state/send-rows.ts'
import { retriedStates } from './gather.ts'
import { hasOtherDrops, refuseClaimedRows } from './identity/claim.ts'
import { relocatedPairs } from './identity/moved-files.ts'
import { selectRenamedPairs } from './identity/pairing.ts'
import type { EarlierMints } from './minted/earlier-mints.ts'
import type { PreparedRun } from './prepare.ts'
import { replaceRows } from './replace-rows.ts'
import { listPositions, type RequestPlan } from './request-plan.ts'
import type { AdoptedRow } from './rows/manifest-row.ts'
import { ownScope } from './rows/row-key.ts'
import { moveRun } from './runs/moved-run.ts'
import type { StoredRun } from './runs/stored-run.ts'
import { requestMetadata } from './send/request.ts'
import type { BatchOptions } from './types.ts'

/**
 * Stores the rows of the run in one transaction. The transaction checks the other runs again. They may have claimed
 * rows since the plan was made, for example while the confirmation prompt was open.
 */
export async function enterRows(
  run: StoredRun,
  options: BatchOptions,
  { gathered, plan, mints, pairs, replacedOperationIds }: Omit<PreparedRun, 'planned'>,
): Promise<RowLocation> {
  const { id, chunkSize, inOrder, setId } = run.drop
  const isNew = setId === null
  if (gathered.rows === 'draft') throw new Error('the rows of a dry run are not entered')
  const { set } = gathered.rows
  const statesToRetry = options.reconcileOnly === true ? [] : retriedStates(options)
  const enteredCount = plan.rows + mints.adopted.length
  const renamed = selectRenamedPairs(pairs)
  // If the key of a row changes, its local files may have been moved as well.
  const relocated = [...gathered.relocated, ...(await relocatedPairs(run, gathered.rows, renamed))]
  await run.write((sql) => {
    refuseClaimedRows(sql, run, options, { ...gathered, pending: enteredPositions(plan, mints), renamed })
    refuseReassignedNfts(sql, id, mints.adopted)
    const now = Date.now()
    if (isNew && mints.listed !== null) {
      updateDrop(sql, id, { listed_at: storeListedNfts(sql, run.drop.collectionId, mints.listed) })
    }
    // Give the run a scope of its own, because rows of another drop may have the same IDs.
    if (isNew && hasOtherDrops(sql, run)) run.drop.scope = ownScope(id)
    updateDrop(sql, id, {
      scope: run.drop.scope,
      ...(isNew ? { first_set: set } : {}),
      chunk_size: chunkSize,
      in_order: inOrder ? 1 : 0,
    })
    moveRun(sql, run.drop.family, options)
    markReplaced(sql, replacedOperationIds)
    replaceRows(sql, run.drop, gathered, now)
    for (const request of groupAdoptedRows(mints.adopted)) insertFoundRows(sql, run.drop, request, now)
    renameRows(
      sql,
      run.drop,
      renamed.map(({ sent: operation, row: { key, row } }) => ({ operation, key, line: row.line })),
    )
    storeContents(sql, run.drop, set, relocated)
    markRetried(sql, run.drop, set, statesToRetry)
    if (enteredCount > 0) reopenRun(sql, id)
  })
  await run.reload()
  return { set }
}

function* enteredPositions(plan: RequestPlan, { adopted }: EarlierMints): Generator<number> {
  yield* listPositions(plan)
  for (const { row } of adopted) yield row.position
}

/**
 * Refuses adopted NFTs that were assigned to another run or command in the meantime.
 *
 * @throws GdnError `run_busy` if another run or command has adopted an NFT that this run was about to adopt
 */
function refuseReassignedNfts(sql: Sql, runId: string, adopted: readonly AdoptedRow[]): void {
  const ids = adopted.map(({ nftGdnId }) => nftGdnId)
  const otherIds = ids.length === 0 ? [] : findAssignedToOtherRuns(sql, runId, ids)
  if (otherIds.length === 0) return
  throw new GdnError(
    'run_busy',
    `another run or command has since adopted ${otherIds.length} of the NFTs that this run was adopting`,
    {
      hint: 'Nothing was sent. Run the same command again.',
      details: { nft_gdn_ids: otherIds },
    },
  )
}

const FOUND_PER_REQUEST = 50

/** Returns the adopted rows as requests, grouped by receiver and sender. */
function groupAdoptedRows(adopted: readonly AdoptedRow[]) {
  const groups = new Map<string, { receiver: string; sender: string | null; pieces: AdoptedRow[][] }>()
  for (const adoptedRow of adopted) {
    const { receiver, sender } = adoptedRow.row.row
    const group = groups.get(`${receiver} ${sender}`) ?? { receiver, sender, pieces: [[]] }
    groups.set(`${receiver} ${sender}`, group)
    if (group.pieces.at(-1)?.length === FOUND_PER_REQUEST) group.pieces.push([])
    group.pieces.at(-1)?.push(adoptedRow)
  }
  return [...groups.values()].flatMap(({ receiver, sender, pieces }) =>
    pieces.map((piece) => ({
      receiver,
      sender,
      rows: piece.map(({ row: { key, content, plain, row }, nftGdnId }) => ({
        key,
        content,
        plain,
        line: row.line,
        nftGdnId,
        // The URLs of local files aren't known yet, so the metadata contains their paths.
        metadata: requestMetadata(row, (path) => path),
      })),
    })),
  )
}
