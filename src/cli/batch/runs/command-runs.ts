import type { ServerOfRuns } from '../../../batch/runs/runs.ts'
import type { RowCounts, RowStatus } from '../../../batch/types.ts'
import { seemsActive } from '../../../core/lock-holder.ts'
import { openStateIfExists } from '../../../state/open-state.ts'
import { type CommandRun, commandRuns } from '../../../state/runs.ts'
import type { OperationState } from '../../../state/transitions.ts'
import type { DataRecord } from '../../render/view.ts'

const ROW_STATUS: Readonly<Record<OperationState, RowStatus>> = {
  planned: 'pending',
  intended: 'pending',
  sent: 'unknown',
  unknown: 'unknown',
  accepted: 'accepted',
  absent: 'failed',
  failed: 'failed',
  deployed: 'deployed',
}

type CommandRecord = DataRecord & Omit<RowCounts, 'total'>

/** Returns the recorded operations of single commands, such as `gdn nft mint`, in the form of run records. */
export async function readCommandRecords(stateDir: string, server: ServerOfRuns | undefined): Promise<CommandRecord[]> {
  const state = await openStateIfExists(stateDir)
  if (state === null) return []
  try {
    const runs = (await state.read(commandRuns)).filter(
      ({ origin, url, backendId }) => server === undefined || server.has({ origin, url, backendId }),
    )
    return await Promise.all(runs.map(commandRecord))
  } finally {
    state.close()
  }
}

async function commandRecord(run: CommandRun): Promise<CommandRecord> {
  const running = run.holder !== null && (await seemsActive(run.holder, run.beatAt))
  const status = ROW_STATUS[run.state]
  const counts = { deployed: 0, accepted: 0, pending: 0, failed: 0, unknown: 0, [status]: 1 }
  return {
    run: run.name,
    run_id: run.id,
    state: running ? 'running' : toCommandStatus(status, run.isReleased),
    running,
    total: 1,
    ...counts,
    burned: 0,
    blockchain: run.blockchain,
    contract_address: run.address,
    server: run.url ?? run.origin,
    backend_id: run.backendId,
    origin: run.origin,
    manifest: null,
    drop: 1,
    round: null,
    round_at: null,
    started_at: new Date(run.startedAt).toISOString(),
  }
}

/** Returns the status of a command. A command with `--no-wait` is finished as soon as its request is accepted. */
function toCommandStatus(status: RowStatus, isReleased: boolean): string {
  if (status === 'unknown' || status === 'failed') return status
  return status === 'deployed' || isReleased ? 'finished' : 'unfinished'
}
