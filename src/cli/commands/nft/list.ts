import type { Blockchain } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { IDS_PER_REQUEST, readNftPages } from '../../../client/read-records.ts'
import { count } from '../../../core/count.ts'
import { GdnCommand } from '../../command.ts'
import { resolveCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addServerFlags,
  blockchainName,
  integer,
  notEmpty,
  type OutputFlags,
  type ServerFlags,
} from '../../flags/common.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { NFT_VIEW } from '../../render/views.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { findNewestManifest, printSheet } from './list-sheet.ts'

export interface ListFlags extends OutputFlags, ServerFlags {
  contract?: string
  blockchain?: Blockchain
  limit?: number
}

/** The view of the list. If a terminal is too narrow for both titles and IDs, the table omits the IDs. */
const LIST_VIEW: View = { ...NFT_VIEW, dropsId: true }

/** Number of NFTs that a terminal shows without `--limit`. They fit into one getnfts request. */
const DEFAULT_TERMINAL_LIMIT = IDS_PER_REQUEST

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about: `The command shows the token ID, title, status and owner of each NFT. If the terminal is wide enough, it also shows the ID of the NFT. In a terminal, the table shows the first ${DEFAULT_TERMINAL_LIMIT} NFTs unless you set --limit. In other formats, and in pipes and files, the output contains all NFTs. To get the details, gdn sends one getnfts request per ${IDS_PER_REQUEST} NFTs, except with -o ids or --fields nft_gdn_id. With --for-spreadsheet, the command writes the metadata in columns, as in a manifest. The command uses the separator and the headers of the manifest that this machine last minted into the collection.`,
    examples: [
      ['List the NFTs of the only collection created on this machine', 'gdn nft list --local'],
      [
        'Print tokens and owners for a spreadsheet',
        'gdn nft list -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon \\',
        '  -o csv --for-spreadsheet --fields token_id,receiver_wallet_address',
      ],
      ['Print the IDs, for a script', 'gdn nft list -o ids'],
    ],
    aliases: { '--contract-address': '--contract', '--contract-addresses': '--contract' },
  })
    .valueFlag('-c, --contract <address>', 'Address or name of the collection to list', notEmpty)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the collection', blockchainName)
    .valueFlag('--limit <n>', 'List only the first n NFTs', integer(1, 100_000_000))
    .with(addServerFlags, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const { io, signals } = deps
  let output = createOutput(io, flags, LIST_VIEW)
  const needsDetails = output.mode !== 'ids' && output.fields?.every((field) => field === 'nft_gdn_id') !== true
  const settings = await deps.settings(flags)
  const { client, server } = await deps.connect(settings)
  const { contract, blockchain } = await resolveCollection(deps, settings, server, { io })
  const manifest = flags.forSpreadsheet ? await findNewestManifest(settings, { contract, blockchain }) : null
  if (manifest !== null) output = createOutput(io, flags, LIST_VIEW, { manifest })
  const request = { contract_addresses: contract, blockchain }
  const reading = client.call('getnftgdnids', request, { signal: signals.signal })
  const { nft_gdn_ids } = await awaitResponse(io, server.origin, reading)
  if (nft_gdn_ids.length === 0) io.note('The collection has no NFTs yet. Run `gdn nft mint` to mint one.')
  const isShown = output.mode === 'table' && io.stdoutTty && needsDetails
  const limit = flags.limit ?? (isShown ? DEFAULT_TERMINAL_LIMIT : nft_gdn_ids.length)
  const ids = nft_gdn_ids.slice(0, limit)
  if (ids.length < nft_gdn_ids.length) {
    output = createOutput(io, flags, { ...LIST_VIEW, plural: 'NFTs shown' }, { manifest })
  }
  if (!needsDetails) return await output.many(ids.map((nft_gdn_id) => ({ nft_gdn_id })))

  const withBlockchain = (record: NftRecord): DataRecord => ({ ...record, blockchain })
  // In these modes, each record is a complete line, so each chunk can be printed when it arrives.
  const streams = output.mode === 'ndjson' || (output.mode === 'table' && !io.stdoutTty)
  // If records are streamed, show no spinner: it would be on the same line as the rows, which already show the
  // progress.
  const progress = streams ? null : await startProgress(deps, ids.length)
  const records: NftRecord[] = []
  const readAll = async () => {
    for await (const { nfts, done } of readNftPages({ client, signal: signals.signal }, ids)) {
      records.push(...nfts)
      progress?.update(`Reading ${done} of ${count(ids.length, 'NFT')}`)
      if (streams) await output.many(nfts.map(withBlockchain))
    }
  }
  try {
    await (progress === null && !streams ? awaitResponse(io, server.origin, readAll()) : readAll())
  } finally {
    progress?.stop()
  }
  if (flags.forSpreadsheet && flags.fields === undefined) {
    await printSheet(deps, settings, records, { manifest, blockchain })
  } else if (!streams) await output.many(records.map(withBlockchain))
  // Print a warning, which `-q` doesn't suppress, so that a truncated list doesn't look complete.
  if (flags.limit === undefined && ids.length < nft_gdn_ids.length) {
    io.warn(
      `Showing the first ${ids.length} of ${nft_gdn_ids.length} NFTs. Add \`--limit ${nft_gdn_ids.length}\` to show all, or \`-o ids\` for all IDs.`,
    )
  }
}

/** Shows progress if the NFTs need more than one request. Otherwise returns null. */
async function startProgress({ io }: Deps, nfts: number) {
  return nfts > IDS_PER_REQUEST ? await io.progress(`Reading ${count(nfts, 'NFT')}`) : null
}
