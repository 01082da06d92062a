import type { Blockchain } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/fields.ts'
import type { DataRecord } from '../../cells.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { blockchainName, integer, notEmpty } from '../../flags/parse.ts'
import { createOutput } from '../../output.ts'
import type { View } from '../../view.ts'
import { NFT_VIEW } from '../../views.ts'
import { fetchNfts } from '../../waiting.ts'
import { whichCollection } from '../../which-collection.ts'

export interface ListFlags extends OutputFlags, ServerFlags {
  contract?: string
  blockchain?: Blockchain
  details?: boolean
  limit?: number
}

const IDS_VIEW: View = { fields: ['nft_gdn_id'], columns: ['nft_gdn_id'], id: 'nft_gdn_id' }

export function command(deps: Deps, run = list): GdnCommand {
  const listCommand = new GdnCommand({
    name: 'nft list',
    summary: 'List the NFTs of a collection',
    about: 'Their ids; with --details everything that the server tells of each.',
    examples: [
      ['Of the only collection made from this machine', 'gdn nft list --local --details'],
      [
        'Owners, for a spreadsheet',
        'gdn nft list -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon -o csv \\',
        '  --fields token_id,receiver_wallet_address',
      ],
      ['How many are there?', 'gdn nft list -o ids | wc -l'],
    ],
    aliases: { '--contract-address': '--contract', '--contract-addresses': '--contract' },
  })
  valueFlag(listCommand, '-c, --contract <address>', 'The collection', { parse: notEmpty })
  valueFlag(listCommand, '-b, --blockchain <name>', 'Its blockchain', { parse: blockchainName })
  switchFlag(listCommand, '--details', 'Token id, status, owner and metadata of each')
  valueFlag(listCommand, '--limit <n>', 'At most so many, the first ones', { parse: integer(1, 100_000_000) })
  addServerFlags(listCommand)
  addOutputFlags(listCommand)
  return listCommand.action(async (flags: ListFlags) => await run(deps, flags)) as GdnCommand
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const { io, signals } = deps
  const wantsDetails = flags.details || flags.fields?.some((field) => field !== 'nft_gdn_id') === true
  const output = createOutput(io, flags, wantsDetails ? NFT_VIEW : IDS_VIEW)
  const settings = await deps.settings(flags)
  const { client, server } = await deps.connect(settings)
  const { contract, blockchain } = await whichCollection(settings, server, io)
  const request = { contract_addresses: contract, blockchain }
  const { nft_gdn_ids } = await client.call('getnftgdnids', request, { signal: signals.signal })
  const ids = flags.limit === undefined ? nft_gdn_ids : nft_gdn_ids.slice(0, flags.limit)
  if (ids.length === 0) io.note('The collection has no NFTs yet; gdn nft mint makes one.')
  if (!wantsDetails) return await output.many(ids.map((nft_gdn_id) => ({ nft_gdn_id })))
  const here = (record: NftRecord): DataRecord => ({ ...record, blockchain })
  // One record to a line needs no end to begin with: chunks are printed as they come.
  if (output.mode === 'ndjson') {
    await fetchNfts(deps, client, ids, (records) => output.many(records.map(here)))
    return
  }
  await output.many((await fetchNfts(deps, client, ids)).map(here))
}
