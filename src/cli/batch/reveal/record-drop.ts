import { runBatch } from '../../../batch/run.ts'
import { type Run, runStatus, storeShuffle } from '../../../batch/runs/runs.ts'
import { readDropState, type StoredSeal } from '../../../reveal/drop-state.ts'
import type { Draw } from '../../../reveal/shuffle/drawn-rows.ts'
import type { Connection, Deps } from '../../deps.ts'
import { runOptions } from '../options/run-options.ts'

/**
 * Stores the seal or the draw of a shuffled drop with its run. Storing either one for the first time abandons the rows
 * without an NFT. Before that, this function records the outcomes of rows that this machine sent or other machines
 * minted.
 */
export async function recordDrop(
  deps: Deps,
  connection: Connection,
  run: Run,
  learned: { seal: StoredSeal | null; draw?: Draw },
): Promise<void> {
  const { deployed, total } = (await runStatus(run)).counts
  if (readDropState(run)?.phase === 'open' && deployed < total) {
    const { client, pacer, server } = connection
    const { signal } = deps.signals
    const options = { ...(await runOptions(run, true)), backend: await deps.identify(server), signal }
    const batch = { client, pacer, now: deps.steadyNow, sleep: deps.sleep, readManifest: null }
    await runBatch({ ...options, reconcileOnly: true }, batch)
  }
  await storeShuffle(run.stateDir, run.id, learned)
}
