import { createnft } from '../../../api/endpoints/createnft.ts'
import { addColumnFlags, addDuplicatesFlag } from '../../batch/options/flags.ts'
import { GdnCommand } from '../../command.ts'
import { withPaid } from '../../cost/paid.ts'
import type { Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addressOrName,
  addServerFlags,
  addWaitFlags,
  blockchainName,
  integer,
  notEmpty,
  positiveNumber,
} from '../../flags/common.ts'
import { addEnsFlags } from '../../flags/ens.ts'
import { createOutput } from '../../render/output.ts'
import { MINTED_VIEW } from '../../render/views.ts'
import { checkRequest } from '../../request/check-request.ts'
import { addOperationFlags } from '../../request/operate-once.ts'
import { createNfts } from './create-nfts.ts'
import { addMetadataFlags, type MintFlags, NFT_ALIASES } from './mint-flags.ts'
import { readMintInput } from './mint-request.ts'

export function command(deps: Deps, run = mint): GdnCommand {
  const BATCH = 'Manifests'
  return new GdnCommand({
    about:
      'The command mints one NFT from flags, or all NFTs of a JSON request. With a manifest (CSV, JSONL or a JSON list of rows), it does the same as gdn batch mint. The command uploads local files before it sends the request.',
    examples: [
      ['Mint into the only collection created on this machine', 'gdn nft mint --title Dawn --receiver @alice'],
      [
        'Mint with an image into another collection',
        'gdn nft mint -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon \\',
        '  --receiver @alice --title Dawn --description "The first of ten" --image dawn.png',
      ],
      [
        'Add an attribute, an extra key and a video',
        'gdn nft mint --title Dawn --receiver @alice --attr Light=low \\',
        '  --extra edition=1 --media video=dawn.mp4',
      ],
      [
        'Send a JSON request from standard input',
        'gdn nft mint --title Dawn --receiver @alice --dry-run | jq .body > nft.json',
        'gdn nft mint -f - --json < nft.json',
      ],
      ['Mint a drop', 'gdn nft mint -f drop.csv'],
    ],
    aliases: NFT_ALIASES,
  })
    .valueFlag('-c, --contract <address>', 'Address or name of the collection to mint into', notEmpty)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the collection', blockchainName)
    .valueFlag('--receiver <address>', 'Receiver: an address, @name or ENS name', addressOrName)
    .valueFlag('-f, --file <file>', 'JSON request or manifest, or - for standard input', notEmpty)
    .switchFlag('--dynamic', 'Mint dynamic NFTs, whose metadata can be updated')
    .with(addEnsFlags, addMetadataFlags, addWaitFlags, addOperationFlags)
    .valueFlag('--run <name>', "Name that identifies the run (the manifest's path)", { group: BATCH, parse: notEmpty })
    .valueFlag('--chunk-size <n>', 'NFTs per request (50)', { group: BATCH, parse: integer(1, 1000) })
    .valueFlag('--rate <n>', 'Maximum number of requests per second', { group: BATCH, parse: positiveNumber })
    .switchFlag('--in-order', "Send rows in the manifest's order", BATCH)
    .with(
      (own) => addColumnFlags(own, BATCH),
      (own) => addDuplicatesFlag(own, BATCH),
      addServerFlags,
      addOutputFlags,
    )
    .action(async (flags: MintFlags) => await run(deps, flags))
}

export async function mint(deps: Deps, flags: MintFlags): Promise<void> {
  const output = createOutput(deps.io, flags, withPaid(MINTED_VIEW))
  const settings = await deps.settings(flags)
  const prepared = await readMintInput(deps, flags, settings, 'mint')
  if (prepared.kind === 'manifest') {
    const { mintManifest } = await import('../../batch/mint-manifest.ts')
    return await mintManifest(deps, prepared.manifest, flags)
  }
  const request = checkRequest(createnft.request, prepared.request, prepared.file)
  const endpoint = flags.dynamic ? 'creatednft' : 'createnft'
  await createNfts(deps, { endpoint, request, localFiles: prepared.localFiles, flags, settings, output })
}
