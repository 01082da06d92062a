import { GdnCommand, switchFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addPaceFlags, addSendingFlags, type BatchMintFlags } from './flags.ts'
import { resumeRun } from './resume-run.ts'
import { addRunArgument, whichRun } from './which-run.ts'

export interface RetryFlags extends BatchMintFlags {
  absent?: boolean
}

export function command(deps: Deps, run = retry): GdnCommand {
  const retryCommand = new GdnCommand({
    about:
      'Rows that the server refused and rows whose NFT failed, as the run last had them; rows that were never sent go along. To change a row first, change the manifest and run gdn batch mint again.\nWith --absent instead the rows of unknown outcome that reconciling did not find in the collection. That is your decision: should such a row show up later after all, it is there twice.',
    examples: [
      ['What failed', 'gdn batch retry drop.csv'],
      ['What is not in the collection', 'gdn batch retry drop.csv --absent'],
      ['In smaller requests', 'gdn batch retry drop.csv --chunk-size 5'],
      ['What would be sent', 'gdn batch retry drop.csv --dry-run'],
    ],
  })
  addRunArgument(retryCommand)
  switchFlag(retryCommand, '--absent', 'Rows of unknown outcome that reconciling found absent, not those that failed')
  addPaceFlags(retryCommand)
  addSendingFlags(retryCommand)
  return retryCommand.action(
    async (name: string | undefined, flags: RetryFlags) => await run(deps, name, flags),
  ) as GdnCommand
}

export async function retry(deps: Deps, given: string | undefined, flags: RetryFlags): Promise<void> {
  const name = await whichRun(deps, given, flags)
  await resumeRun(deps, name, flags, flags.absent ? { retryAbsent: true } : { retryFailed: true })
}
