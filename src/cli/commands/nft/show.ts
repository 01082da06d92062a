import type { NftRecord } from '../../../api/nft-record.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import type { Connection, Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { httpAddress, notEmpty } from '../../flags/parse.ts'
import { roomOf, wayOf } from '../../picture/terminal.ts'
import type { DataRecord } from '../../render/cells.ts'
import { nftCard } from '../../render/nft-card.ts'
import { createOutput } from '../../render/output.ts'
import type { Card } from '../../render/view.ts'
import { NFT_VIEW } from '../../render/views.ts'
import { fetchNfts } from '../../request/fetch-nfts.ts'
import { withBlockchain } from './blockchain-of.ts'

export interface ShowFlags extends OutputFlags, ServerFlags {
  nftGdnId?: string[]
  /** False with --no-image. */
  image?: boolean
  gateway?: string
}

export function command(deps: Deps, run = show): GdnCommand {
  const showCommand = new GdnCommand({
    about:
      'One id prints one thing, several print a list. Ids that the server does not know are named, and the exit code is 5.\nOn a terminal one NFT comes with its picture, drawn by the terminal itself (kitty, iTerm2, sixel) or in blocks of color: a PNG, a JPEG or the first frame of a GIF, of at most 16 MiB. It is fetched from the /ipfs of a gdn backend or from --gateway, never from a web address that somebody put into an NFT. GDN_IMAGES says how to draw where that is not found out.',
    examples: [
      ['One NFT', 'gdn nft show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['Without its picture', 'gdn nft show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --no-image'],
      [
        'Where its metadata is',
        'gdn nft show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --json \\',
        '  | jq -r .metadata_url',
      ],
    ],
    aliases: { '--nft-gdn-ids': '--nft-gdn-id' },
  })
  showCommand.argument('[nft_gdn_id...]')
  valueFlag(showCommand, '--nft-gdn-id <id>', 'Same as the argument', {
    parse: notEmpty,
    repeatable: true,
    hidden: true,
  })
  switchFlag(showCommand, '--no-image', 'Draw no picture')
  valueFlag(showCommand, '--gateway <url>', "IPFS gateway to take the picture from; without it, a gdn backend's own", {
    parse: httpAddress,
  })
  addServerFlags(showCommand)
  addOutputFlags(showCommand)
  return showCommand.action(async (ids: string[], flags: ShowFlags) => {
    await run(deps, [...ids, ...(flags.nftGdnId ?? [])], flags)
  }) as GdnCommand
}

export async function show(deps: Deps, ids: readonly string[], flags: ShowFlags): Promise<void> {
  let page: string | null = null
  const card = (record: DataRecord): Card => [...nftCard(record), ['web explorer', page]]
  const output = createOutput(deps.io, flags, { ...NFT_VIEW, card })
  if (ids.length === 0) throw new GdnError('usage', 'no NFT is named', { hint: 'gdn nft show <nft_gdn_id>' })
  const connection = await deps.connect(await deps.settings(flags))
  const asked = [...new Set(ids)]
  const records = await fetchNfts(deps, connection.client, asked)
  const shown = await withBlockchain(deps, records, connection)
  const [first] = shown
  const [nft] = records
  if (ids.length > 1) await output.many(shown)
  else if (first !== undefined && nft !== undefined) {
    page = explorerPage(connection, nft)
    if (output.mode === 'table' && flags.fields === undefined) await draw(deps, connection, nft, flags)
    await output.one(first)
  }
  const known = new Set(records.map(({ nft_gdn_id }) => nft_gdn_id))
  refuseUnknown(asked.filter((id) => !known.has(id)))
}

/** Where a person sees it in the browser; null where the server is no backend of gdn, which alone has such pages. */
function explorerPage({ client }: Connection, { nft_gdn_id }: NftRecord): string | null {
  return client.supportsIdempotency() === true ? `${client.baseUrl}/nfts/${encodeURIComponent(nft_gdn_id)}` : null
}

/** Nothing of what draws is loaded where nothing is drawn. */
async function draw(deps: Deps, connection: Connection, nft: NftRecord, { image, gateway }: ShowFlags): Promise<void> {
  const way = image === false ? null : wayOf(deps)
  const room = roomOf(deps.io)
  if (way === null || room === null) return
  const { showPicture } = await import('../../picture/show-nft.ts')
  await showPicture(deps, connection, nft, { way, room, gateway })
}

/** getnfts leaves out what it doesn't know; a person who asked wants to be told. */
export function refuseUnknown(missing: readonly string[]): void {
  if (missing.length > 0) throw unknownNfts(missing)
}

export const unknownNfts = (missing: readonly string[]) =>
  new GdnError('not_found', `the server knows no NFT ${missing.join(', ')}`, {
    hint: 'check the id, the server and the account of the key',
    details: { nft_gdn_ids: missing },
  })
