import { type Run, runStatus } from '../../../batch/runs.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import type { Output } from '../../render/output.ts'
import type { BatchMintFlags } from './flags.ts'
import { runCommands } from './run-commands.ts'
import { runData } from './run-view.ts'

/**
 * Prints the summary of a run that has nothing left to do. That is a success: a script may repeat its command.
 *
 * @throws GdnError `batch_failed_rows` where rows failed
 */
export async function printFinished(
  { io }: Deps,
  run: Run,
  output: Output,
  { stateDir }: Pick<BatchMintFlags, 'stateDir'>,
): Promise<void> {
  const status = await runStatus(run)
  const data = runData(status)
  if (output.mode === 'ndjson') await io.data(`${JSON.stringify({ event: 'summary', ...output.pick(data) })}\n`)
  else await output.one(data)
  const { failed, total } = status.counts
  const commands = runCommands(run.name, stateDir)
  if (failed > 0) {
    throw new GdnError('batch_failed_rows', `the run is finished; ${failed} of ${total} rows failed`, {
      hint: `which ones: ${commands('results', '--status failed')}\nsend them again: ${commands('retry')}`,
    })
  }
  io.note(`The run ${safe(run.name)} is finished already. To mint all its rows a second time, add --again.`)
}
