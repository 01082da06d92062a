import { isRestored, refuseOtherBackend } from '../client/backend.ts'
import { count } from '../core/count.ts'
import { IDS_PER_CALL, readRecords } from '../operations/reconcile/listing.ts'
import { updateDrop } from '../state/drops.ts'
import { markNftLost, readNftsOfRun, reopenEnded } from '../state/row-outcomes.ts'
import { findLastRequestNumber } from '../state/row-requests.ts'
import type { StoredRun } from './runs/stored-run.ts'
import type { BatchOptions, CheckDeps } from './types.ts'

/** The result of comparing the run's recorded backend with the backend that responds. */
interface BackendCheck {
  /** Whether the backend was restored from a backup since the run was last active. */
  wasRestored: boolean
  notes: string[]
}

/**
 * Compares the backend that responds with the run's recorded backend. After a restore, checks every accepted row before
 * anything is planned or sent. If the backend no longer has a row's NFT, the row's outcome becomes unknown.
 *
 * @param writes whether to record the result; false in a dry run
 * @throws GdnError `wrong_backend`
 */
export async function checkBackend(
  run: StoredRun,
  options: BatchOptions,
  deps: CheckDeps,
  writes: boolean,
): Promise<BackendCheck> {
  const { backend } = options
  const { drop } = run
  if (backend === undefined || drop.setId === null) return { wasRestored: false, notes: [] }
  refuseOtherBackend(`the run ${drop.name}`, drop.backend, backend)
  const wasRestored = isRestored(drop.backend, backend)
  const { url, id, incarnation } = backend
  const isSame = drop.backend.url === url && drop.backend.incarnation === incarnation
  if (isSame || (backend.silence !== null && !wasRestored)) return { wasRestored, notes: [] }
  const lostOperationIds = wasRestored ? await findLostOperationIds(run, options, deps) : []
  if (writes) {
    await run.write((sql) => {
      if (wasRestored) reopenEnded(sql, drop.id)
      const last = findLastRequestNumber(sql, drop.id)
      for (const operation of lostOperationIds) markNftLost(sql, operation, last)
      updateDrop(sql, drop.id, { backend_url: url, backend_id: id, incarnation })
      if (wasRestored) updateDrop(sql, drop.id, { restored_after: findLastRequestNumber(sql, drop.id) })
    })
    await run.reload()
  }
  return { wasRestored, notes: wasRestored ? [formatRestoreNote(lostOperationIds.length)] : [] }
}

/**
 * Returns the note for a restored backend. Moving the data directory counts as a restore, even though no row is lost.
 */
function formatRestoreNote(lostCount: number): string {
  if (lostCount === 0) return 'The backend was restored or moved, and still has every accepted row'
  return `The backend was restored from a backup and has no record of ${count(lostCount, 'accepted row')}`
}

/** Returns the operation IDs of the run's NFTs that the backend no longer has. Reads every NFT of the run once. */
async function findLostOperationIds(
  run: StoredRun,
  { signal }: BatchOptions,
  { client, onEvent }: CheckDeps,
): Promise<string[]> {
  const lostOperationIds: string[] = []
  if (client === null) return lostOperationIds
  const last = await run.read((sql) => findLastRequestNumber(sql, run.id))
  for (let after = ''; ; ) {
    const page = await run.read((sql) => readNftsOfRun(sql, run.id, after, IDS_PER_CALL))
    if (page.length === 0) return lostOperationIds
    const records = await readRecords({ client, signal }, [...new Set(page.map(({ nft }) => nft))])
    lostOperationIds.push(...page.filter(({ nft }) => !records.has(nft)).map(({ id }) => id))
    after = page.at(-1)?.id ?? ''
    onEvent?.({ type: 'looking_up', done: page.at(-1)?.n ?? 0, total: last })
  }
}
