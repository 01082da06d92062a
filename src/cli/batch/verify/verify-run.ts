import { runRows } from '../../../batch/runs/run-rows.ts'
import { openRun } from '../../../batch/runs/runs.ts'
import type { BatchOptions, BatchSummary, RunStatus } from '../../../batch/types.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import { openVerifier, type VerifyFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'
import { differingRowsError } from '../report/run-error.ts'
import { createRecordReader, type ReadRecords, verifyRows } from './verify-rows.ts'
import { VerifyTally } from './verify-tally.ts'

/** Verifies a run that has already finished. */
export async function verifyFinished(
  deps: Deps,
  settings: Settings,
  run: RunStatus,
  options: BatchOptions,
  flags: VerifyFlags,
): Promise<VerifyTally> {
  const server = await settings.server()
  const records = createRecordReader(deps, () => deps.connect(settings))
  return await verifyRun(deps, { run, counts: run.counts }, options, { flags, server, records })
}

/**
 * Checks the result of verifying a finished run.
 *
 * @throws GdnError `verify_failed` if rows differ from their requests; `unreachable` if no row was verified and none
 * failed
 */
export function refuseDiffering(tally: VerifyTally, { failed }: RunStatus['counts']): void {
  if (tally.differing.length > 0) throw differingRowsError(tally)
  // If rows failed, the caller throws another error, with the exit code of the original run.
  if (failed === 0) tally.refuseUnread()
}

/** Throws if no row was verified, so that scripts don't treat the command as successful. */
export function refuseUnverified(tally: VerifyTally): void {
  tally.refuseUnread()
  if (tally.counts.verified + tally.counts.changed > 0) return
  throw new GdnError('pending', 'no row is deployed, so none was verified', {
    hint: 'Run the same command again without `--no-wait`, so that gdn waits until the rows are deployed.',
  })
}

/** Compares deployed rows with chain and storage, and warns about rows that changed or can't be read. */
export async function verifyRun(
  deps: Deps,
  { run, counts }: Pick<BatchSummary, 'run' | 'counts'>,
  { stateDir, blockchain }: BatchOptions,
  { flags, server, records }: { flags: VerifyFlags; server: Server; records: ReadRecords },
): Promise<VerifyTally> {
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  const tally = new VerifyTally()
  const text = () => {
    const { verified, changed, differing, unread } = tally.counts
    return `Comparing with the chain and the storage: ${verified + changed + differing + unread} of ${counts.deployed}`
  }
  const progress = await deps.io.progress(text())
  try {
    const rows = runRows(await openRun(stateDir, run.id))
    for await (const row of verifyRows(rows, verifier, records, deps.signals.signal)) {
      tally.add(row)
      progress.update(text())
    }
  } finally {
    progress.stop()
    await close()
  }
  tally.warn(deps.io)
  return tally
}
