import { addPaceFlags, addSendingFlags, type BatchMintFlags, PACE_ALIASES } from '../../batch/options/flags.ts'
import { resumeRun } from '../../batch/resume-run.ts'
import { addRunArgument, resolveRun } from '../../batch/runs/resolve-run.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'

export interface ResumeFlags extends BatchMintFlags {
  retryFailed?: boolean
}

export function command(deps: Deps, run = resume): GdnCommand {
  return new GdnCommand({
    about:
      'The command sends the remaining rows as the run last recorded them, even if the manifest has changed. If unsent rows were edited or removed, it asks you to confirm, and without a terminal requires --yes. To mint the manifest as it is now, run gdn batch mint instead. The command sends rows with an unknown outcome again only if gdn knows that the server recognizes repeated requests. Otherwise, gdn searches the collection for these rows.',
    examples: [
      ['Resume a run', 'gdn batch resume drop.csv'],
      ['Print events for a program', 'gdn batch resume drop-3f9a -o ndjson'],
      ['Also retry failed rows', 'gdn batch resume drop.csv --retry-failed'],
    ],
    aliases: PACE_ALIASES,
  })
    .with(addRunArgument)
    .switchFlag('--retry-failed', 'Also retry rows that were rejected or whose NFT failed')
    .with(addPaceFlags, addSendingFlags)
    .action(async (name: string | undefined, flags: ResumeFlags) => await run(deps, name, flags))
}

export async function resume(deps: Deps, typed: string | undefined, flags: ResumeFlags): Promise<void> {
  const name = await resolveRun(deps, typed, flags)
  await resumeRun(deps, name, flags, flags.retryFailed ? { retryFailed: true } : {})
}
