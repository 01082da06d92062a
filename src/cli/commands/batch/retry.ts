import { addPaceFlags, addSendingFlags, type BatchMintFlags, PACE_ALIASES } from '../../batch/options/flags.ts'
import { resumeRun } from '../../batch/resume-run.ts'
import { addRunArgument, resolveRun } from '../../batch/runs/resolve-run.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'

export interface RetryFlags extends BatchMintFlags {
  absent?: boolean
}

export function command(deps: Deps, run = retry): GdnCommand {
  return new GdnCommand({
    about:
      "The command sends rows that the server rejected, rows whose NFT failed, and rows that were never sent. It sends each row with the values that the run last recorded. To change a failed row, edit the manifest and run gdn batch mint again. If a failed row was edited or removed in the manifest, gdn batch retry sends nothing. If unsent rows were edited or removed, it asks you to confirm, and without a terminal requires --yes. The rows of an unrevealed drop can't be edited, so the command always sends the committed rows.\nWith --absent, the command does not send failed rows. Instead, it sends the rows with an unknown outcome that gdn batch reconcile did not find in the collection. Use this flag only if you are sure that these rows were not minted. If the NFT of such a row appears in the collection later, the row was minted twice.",
    examples: [
      ['Retry failed rows', 'gdn batch retry drop.csv'],
      ['Retry rows that are not in the collection', 'gdn batch retry drop.csv --absent'],
      ['Retry in smaller requests', 'gdn batch retry drop.csv --chunk-size 5'],
      ['Show the rows without sending them', 'gdn batch retry drop.csv --dry-run'],
    ],
    aliases: PACE_ALIASES,
  })
    .with(addRunArgument)
    .switchFlag('--absent', 'Retry absent rows with an unknown outcome instead of failed rows')
    .with(addPaceFlags, addSendingFlags)
    .action(async (name: string | undefined, flags: RetryFlags) => await run(deps, name, flags))
}

export async function retry(deps: Deps, typed: string | undefined, flags: RetryFlags): Promise<void> {
  const name = await resolveRun(deps, typed, flags)
  await resumeRun(deps, name, flags, flags.absent ? { retryAbsent: true } : { retryFailed: true })
}
