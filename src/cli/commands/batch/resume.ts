import { GdnCommand, switchFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addPaceFlags, addSendingFlags, type BatchMintFlags } from './flags.ts'
import { resumeRun } from './resume-run.ts'
import { addRunArgument, whichRun } from './which-run.ts'

export interface ResumeFlags extends BatchMintFlags {
  retryFailed?: boolean
}

export function command(deps: Deps, run = resume): GdnCommand {
  const resumeCommand = new GdnCommand({
    about:
      'With the rows as the run last had them, whatever became of the manifest. Rows whose outcome is unknown are sent again only to a server that is known to recognise the repetition; otherwise they are looked for in the collection.',
    examples: [
      ['Go on', 'gdn batch resume drop.csv'],
      ['As events, for a program', 'gdn batch resume drop-3f9a -o ndjson'],
      ['Send again what failed, too', 'gdn batch resume drop.csv --retry-failed'],
    ],
  })
  addRunArgument(resumeCommand)
  switchFlag(resumeCommand, '--retry-failed', 'Send rows again that were refused or whose NFT failed')
  addPaceFlags(resumeCommand)
  addSendingFlags(resumeCommand)
  return resumeCommand.action(
    async (name: string | undefined, flags: ResumeFlags) => await run(deps, name, flags),
  ) as GdnCommand
}

export async function resume(deps: Deps, given: string | undefined, flags: ResumeFlags): Promise<void> {
  const name = await whichRun(deps, given, flags)
  await resumeRun(deps, name, flags, flags.retryFailed ? { retryFailed: true } : {})
}
