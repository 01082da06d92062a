import {
  addCheckFlag,
  addListFlags,
  addRunFlags,
  addSendingFlags,
  addShuffleFlags,
  addTargetFlags,
  addUnrevealedFlag,
  type BatchMintFlags,
  PACE_ALIASES,
  TARGET_ALIASES,
} from '../../batch/options/flags.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'

export function command(deps: Deps, run = mint): GdnCommand {
  return new GdnCommand({
    about:
      'gdn checks all rows before it sends anything, and records each request before it sends it. After an interruption, the same command resumes the run. gdn sends a row again only if this cannot create a second NFT.',
    examples: [
      ['Mint a drop', 'gdn batch mint drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
      ['Show the planned requests and the estimated time', 'gdn batch mint drop.csv --dry-run'],
      ['Mint a drop that is revealed later', 'gdn batch mint drop.csv --unrevealed hidden.json'],
      ['Assign rows to NFTs at random', 'gdn batch mint drop.csv --unrevealed hidden.json --shuffle'],
      ['Mint one NFT to each receiver in a list', 'gdn batch mint row.json --to holders.csv'],
      ['Mint from a manifest on standard input', 'make-rows | gdn batch mint - --run spring --json'],
    ],
    aliases: { ...TARGET_ALIASES, ...PACE_ALIASES },
  })
    .argument('<manifest>')
    .with(
      addTargetFlags,
      addCheckFlag,
      addListFlags,
      addRunFlags,
      (own) =>
        addUnrevealedFlag(
          own,
          'Mint with the placeholder metadata in this JSON file, and commit to the rows for `gdn reveal`',
          'Run',
        ),
      (own) => addShuffleFlags(own, 'Run'),
      addSendingFlags,
    )
    .action(async (manifest: string, flags: BatchMintFlags) => await run(deps, manifest, flags))
}

/** Loads the minting code separately. Loading all code at once exceeds the limit of open files on some machines. */
async function mint(deps: Deps, manifest: string, flags: BatchMintFlags): Promise<void> {
  const { mintManifest } = await import('../../batch/mint-manifest.ts')
  await mintManifest(deps, manifest, flags)
}
