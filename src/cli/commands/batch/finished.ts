import { type Run, runStatus } from '../../../batch/runs.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { count } from '../../render/count.ts'
import type { Output } from '../../render/output.ts'
import type { BatchMintFlags } from './flags.ts'
import { runCommands } from './run-commands.ts'
import { runData } from './run-view.ts'

/** Describes rows with an ID that were edited after they were sent. */
export const keptText = (rows: number): string =>
  `${count(rows, 'changed row')} ${rows === 1 ? 'was' : 'were'} sent before and won't be sent again.`

/**
 * Prints the summary of a run that has nothing left to do. That is a success: a script may repeat its command.
 *
 * @param kept rows that were edited after they were sent
 * @throws GdnError `batch_failed_rows` where rows failed
 */
export async function printFinished(
  { io }: Deps,
  run: Run,
  output: Output,
  { stateDir }: Pick<BatchMintFlags, 'stateDir'>,
  kept: number,
): Promise<void> {
  const status = await runStatus(run)
  const data = runData(status)
  if (output.mode === 'ndjson') await io.data(`${JSON.stringify({ event: 'summary', ...output.pick(data) })}\n`)
  else await output.one(data)
  if (kept > 0) io.note(keptText(kept))
  const { failed, total } = status.counts
  const commands = runCommands(run.name, stateDir)
  if (failed > 0) {
    throw new GdnError('batch_failed_rows', `the run is finished; ${failed} of ${total} rows failed`, {
      hint: `Run \`${commands('results', '--status failed')}\` to list them.\nRun \`${commands('retry')}\` to retry them.`,
    })
  }
  io.note(`The run ${safe(run.name)} is already finished. To mint all its rows a second time, add --again.`)
}
