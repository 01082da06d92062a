import { addPaceFlags, addSendingFlags, type BatchMintFlags } from '../../batch/flags.ts'
import { resumeRun } from '../../batch/resume-run.ts'
import { addRunArgument, whichRun } from '../../batch/which-run.ts'
import { GdnCommand, switchFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'

export interface RetryFlags extends BatchMintFlags {
  absent?: boolean
}

export function command(deps: Deps, run = retry): GdnCommand {
  const retryCommand = new GdnCommand({
    about:
      'Sends rows that the server rejected and rows whose NFT failed, as the run last recorded them. Rows that were never sent are included. To change a row first, edit the manifest and run gdn batch mint again.\nWith --absent, the command sends rows with an unknown outcome that gdn batch reconcile did not find in the collection. Use this flag only if you are sure: if such a row appears later, it is minted twice.',
    examples: [
      ['Retry failed rows', 'gdn batch retry drop.csv'],
      ['Retry rows that are not in the collection', 'gdn batch retry drop.csv --absent'],
      ['Retry in smaller requests', 'gdn batch retry drop.csv --chunk-size 5'],
      ['Show what would be sent', 'gdn batch retry drop.csv --dry-run'],
    ],
  })
  addRunArgument(retryCommand)
  switchFlag(retryCommand, '--absent', 'Retry absent rows with an unknown outcome instead of failed rows')
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
