import { createnft } from '../../../api/endpoints/createnft.ts'
import { checkRequest } from '../../check-request.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { printDryRun } from '../../dry-run.ts'
import { addOutputFlags, addServerFlags } from '../../flags/common.ts'
import { blockchainName, integer, keyValue, notEmpty, positiveNumber } from '../../flags/parse.ts'
import { addWaitFlags } from '../../flags/wait.ts'
import { safe } from '../../io.ts'
import { createOutput } from '../../output.ts'
import { confirmSpending } from '../../real-network.ts'
import { serverFlag } from '../../server-flag.ts'
import { MINTED_VIEW } from '../../views.ts'
import { count, DEFAULT_TIMEOUT_MS, waitForNfts } from '../../waiting.ts'
import { replaceUrls, uploadLocalFiles } from './media.ts'
import type { MintFlags } from './mint-flags.ts'
import { mintRequest } from './mint-request.ts'

export function command(deps: Deps, run = mint): GdnCommand {
  const mintCommand = new GdnCommand({
    name: 'nft mint',
    summary: 'Mint NFTs and wait until they are deployed',
    about:
      'One NFT from flags, or what a JSON request holds. A manifest (CSV, JSONL, or a JSON list of rows) goes the way of gdn batch mint. Local files are uploaded first.',
    examples: [
      [
        'One NFT with a picture',
        'gdn nft mint -c 0x5aAe…eAed -b polygon --receiver 0xfB69…d359 \\',
        '  --title Dawn --description "The first of ten" --image dawn.png',
      ],
      [
        'More about it',
        'gdn nft mint --title Dawn --receiver 0xfB69…d359 --attr Light=low \\',
        '  --extra edition=1 --media video=dawn.mp4',
      ],
      ['A JSON request from standard input', 'jq … | gdn nft mint -f - --json'],
      ['A whole drop', 'gdn nft mint -f drop.csv'],
    ],
    aliases: {
      '--contract-address': '--contract',
      '--contract-addresses': '--contract',
      '--receiver-wallet-address': '--receiver',
    },
  })
  valueFlag(mintCommand, '-c, --contract <address>', 'Collection to mint in', { parse: notEmpty })
  valueFlag(mintCommand, '-b, --blockchain <name>', 'Its blockchain', { parse: blockchainName })
  valueFlag(mintCommand, '--receiver <address>', 'Wallet that gets the NFT', { parse: notEmpty })
  valueFlag(mintCommand, '-f, --file <file>', 'JSON request or manifest; - is standard input', { parse: notEmpty })
  const METADATA = 'Metadata'
  valueFlag(mintCommand, '--title <text>', 'Title', { group: METADATA })
  valueFlag(mintCommand, '--description <text>', 'Description', { group: METADATA })
  valueFlag(mintCommand, '--image <url|path>', 'Same as --media image=…', { group: METADATA, parse: notEmpty })
  const pairs = { group: METADATA, parse: keyValue, repeatable: true }
  valueFlag(mintCommand, '--media <key=url|path>', 'A file of it; repeatable', pairs)
  valueFlag(mintCommand, '--extra <key=value>', 'An extra key; repeatable', pairs)
  valueFlag(mintCommand, '--attr <tag=value>', 'An attribute; repeatable', pairs)
  addWaitFlags(mintCommand)
  const BATCH = 'Of manifests'
  valueFlag(mintCommand, '--run <name>', 'Name of the run', { group: BATCH, parse: notEmpty })
  valueFlag(mintCommand, '--chunk-size <n>', 'NFTs to a request (50)', { group: BATCH, parse: integer(1, 1000) })
  valueFlag(mintCommand, '--rate <n>', 'Requests a second', { group: BATCH, parse: positiveNumber })
  switchFlag(mintCommand, '--again', 'Order a second drop of a finished run', BATCH)
  switchFlag(mintCommand, '--in-order', "Keep the manifest's order of rows", BATCH)
  addServerFlags(mintCommand)
  addOutputFlags(mintCommand)
  return mintCommand.action(async (flags: MintFlags) => await run(deps, flags)) as GdnCommand
}

export async function mint(deps: Deps, flags: MintFlags): Promise<void> {
  const { io, signals } = deps
  const output = createOutput(io, flags, MINTED_VIEW)
  const settings = await deps.settings(flags)
  const prepared = await mintRequest(deps, flags, settings)
  if (prepared.kind === 'manifest') {
    const { mintManifest } = await import('../batch/mint-manifest.ts')
    return await mintManifest(deps, prepared.manifest, flags)
  }
  const { localFiles, file } = prepared
  const request = checkRequest(createnft.request, prepared.request, file)
  if (flags.dryRun)
    return await printDryRun(
      io,
      settings,
      'createnft',
      replaceUrls(request, new Map(localFiles.map((one) => [one.placeholder, one.path]))),
    )

  const { client, server } = await deps.connect(settings)
  const n = request.metadata.length
  await confirmSpending(
    io,
    flags.yes,
    request.blockchain,
    server,
    `Mint ${count(n, 'NFT')} for ${request.receiver_wallet_address}`,
  )
  const uploaded = await uploadLocalFiles(deps, client, localFiles)
  const sent = replaceUrls(request, uploaded)
  const { nfts } = await client.create('createnft', sent, { signal: signals.signal })
  const accepted = nfts.map(({ nft_gdn_ids, accepted_date }, i) => ({
    nft_gdn_id: nft_gdn_ids,
    token_id: null,
    status: 'initiated',
    contract_address: request.contract_address,
    blockchain: request.blockchain,
    receiver_wallet_address: request.receiver_wallet_address,
    request_metadata: sent.metadata[i] ?? null,
    metadata_url: null,
    accepted_date,
  }))
  const print = async (records: readonly Record<string, unknown>[]) =>
    await (n === 1 && records[0] !== undefined ? output.one(records[0]) : output.many(records))
  if (flags.wait === false) {
    await print(accepted)
    return io.note(
      `Accepted. Wait for it: gdn nft wait ${accepted.map((nft) => safe(nft.nft_gdn_id)).join(' ')}${serverFlag(server)}`,
    )
  }
  const ids = accepted.map((nft) => nft.nft_gdn_id)
  const { records, problem } = await waitForNfts(deps, { client, server }, ids, flags.timeout ?? DEFAULT_TIMEOUT_MS)
  await print(accepted.map((nft) => ({ ...nft, ...records.find((record) => record.nft_gdn_id === nft.nft_gdn_id) })))
  if (problem !== null) throw problem
  io.note(`Next: gdn nft list${serverFlag(server)} -c ${request.contract_address} -b ${request.blockchain} --details`)
}
