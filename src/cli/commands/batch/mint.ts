import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import {
  addCheckFlag,
  addRunFlags,
  addSendingFlags,
  addTargetFlags,
  type BatchMintFlags,
  TARGET_ALIASES,
} from './flags.ts'

export function command(deps: Deps, run = mint): GdnCommand {
  const mintCommand = new GdnCommand({
    about:
      'All rows are checked before anything is sent. What is sent is written down first, so a run that was stopped goes on where it was, and no row is sent twice unless its first sending is known to have had no effect.',
    examples: [
      ['A drop', 'gdn batch mint drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
      ['What would be sent, and how long it takes', 'gdn batch mint drop.csv --dry-run'],
      ['From standard input', 'make-rows | gdn batch mint - --run spring --json'],
    ],
    aliases: TARGET_ALIASES,
  })
  mintCommand.argument('<manifest>')
  addTargetFlags(mintCommand)
  addCheckFlag(mintCommand)
  addRunFlags(mintCommand)
  addSendingFlags(mintCommand)
  return mintCommand.action(async (manifest: string, flags: BatchMintFlags) => {
    await run(deps, manifest, flags)
  }) as GdnCommand
}

/** Loaded apart from the command: all of it at once would be more files than some machines let a process open. */
async function mint(deps: Deps, manifest: string, flags: BatchMintFlags): Promise<void> {
  const { mintManifest } = await import('./mint-manifest.ts')
  await mintManifest(deps, manifest, flags)
}
