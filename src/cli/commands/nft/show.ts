import type { Blockchain } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { isFinal } from '../../../api/nft-status.ts'
import { readNfts } from '../../../client/read-records.ts'
import { flagError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import type { Connection, Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addServerFlags,
  blockchainName,
  httpAddress,
  notEmpty,
  type OutputFlags,
  type ServerFlags,
} from '../../flags/common.ts'
import { addWatchFlag } from '../../flags/watch.ts'
import { findDrawMethod, findImageArea } from '../../image/terminal.ts'
import { nftCard } from '../../render/nft-card.ts'
import { createOutput, type DataRecord, type Output, type RecordCard, type View } from '../../render/output.ts'
import { NFT_VIEW } from '../../render/views.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { missingNftError, withBlockchain } from './blockchain-of.ts'
import {
  addTokenContractFlag,
  parseTokenReference,
  resolveTokenArguments,
  type TokenReference,
} from './token-reference.ts'

export interface ShowFlags extends OutputFlags, ServerFlags {
  nftGdnId?: string[]
  watch?: boolean
  /** Whether to show the image. `--no-image` sets this to false. */
  image?: boolean
  gateway?: string
  contract?: string
  blockchain?: Blockchain
  rpcUrl?: string
}

export function command(deps: Deps, run = show): GdnCommand {
  return new GdnCommand({
    about:
      'With one ID, the command prints one object. With several IDs, it prints a list. The exit code is 5 if the server has no NFT with one of the IDs.\nIn a terminal, the command shows a single NFT with its image. The image is a PNG, a JPEG or the first frame of a GIF, and has at most 16 MiB. gdn draws the image with the protocol of the terminal (kitty, iTerm2 or sixel), or as blocks of color. To choose another method, set GDN_IMAGES to kitty, iterm, sixel, blocks or off. gdn fetches the image from the /ipfs path of a gdn backend, or from the gateway in --gateway. It never fetches an image from a web address in the metadata of an NFT.\nWith a token ID and --contract, or with <contract>/<token ID>, the command shows a token of any contract on an EVM network: its owner, token URI, royalty, supply and metadata. gdn reads these values through --rpc-url and --gateway, or from the server that --base-url, --profile or --local selects. gdn also fetches metadata from public web addresses. If gdn cannot read a value, the command shows the reason.',
    examples: [
      ['Show an NFT', 'gdn nft show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['Show token 12 of a collection', 'gdn nft show 12 -c "Tidal Hours"'],
      [
        'Show a token of a contract that others deployed',
        'gdn nft show 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811/12 -b base \\',
        '  --rpc-url https://node.example --gateway https://ipfs.io',
      ],
      ['Watch an NFT until it is deployed', 'gdn nft show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --watch'],
      ['Show an NFT without its image', 'gdn nft show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --no-image'],
      [
        'Print the URL of the metadata',
        'gdn nft show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --json \\',
        '  | jq -r .metadata_url',
      ],
    ],
    aliases: { '--nft-gdn-ids': '--nft-gdn-id' },
  })
    .argument('[nft_gdn_id...]')
    .valueFlag('--nft-gdn-id <id>', 'Same as the argument', { parse: notEmpty, repeatable: true, hidden: true })
    .with(addWatchFlag)
    .switchFlag('--no-image', "Don't draw the image")
    .valueFlag('--gateway <url>', "IPFS gateway for the image or metadata (the gdn backend's gateway)", httpAddress)
    .with(addTokenContractFlag)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of a token', blockchainName)
    .valueFlag('--rpc-url <url>', "JSON-RPC URL of a token's chain (GDN_RPC_URL, or the server's node)", httpAddress)
    .with(addServerFlags, addOutputFlags)
    .action(async (ids: string[], flags: ShowFlags) => await run(deps, [...ids, ...(flags.nftGdnId ?? [])], flags))
}

export async function show(deps: Deps, args: readonly string[], flags: ShowFlags): Promise<void> {
  const ids = await resolveTokenArguments(deps, args, flags)
  const token = await findToken(ids, flags)
  if (token !== null) return await (await import('./token/show-token.ts')).showToken(deps, token, flags)
  let page: string | null = null
  const card = (record: DataRecord): RecordCard => [...nftCard(record), ['web explorer', page]]
  const view = { ...NFT_VIEW, card }
  const output = createOutput(deps.io, flags, view)
  if (ids.length === 0) throw missingNftError('gdn nft show <nft_gdn_id>')
  const connection = await deps.connect(await deps.settings(flags))
  const requestedIds = [...new Set(ids)]
  const look = async () => {
    const reading = readNfts({ client: connection.client, signal: deps.signals.signal }, requestedIds)
    const records = [...(await awaitResponse(deps.io, connection.server.origin, reading)).values()]
    return { records, shown: await withBlockchain(deps, records, connection) }
  }
  const refuseMissing = async (records: readonly NftRecord[]) => {
    const knownIds = new Set(records.map(({ nft_gdn_id }) => nft_gdn_id))
    const missing = requestedIds.filter((id) => !knownIds.has(id))
    if (missing.length > 0) {
      const { unknownNftsError } = await import('../../../operations/unknown-nfts.ts')
      throw unknownNftsError(missing, { takesTokens: true })
    }
  }
  // Don't start to watch if the server doesn't have one of the NFTs.
  const lookAtAll = async () => {
    const current = await look()
    await refuseMissing(current.records)
    return current
  }
  const snapshot = flags.watch ? await watchNfts(deps, flags, lookAtAll, { view, output }) : await look()
  if (snapshot === null) return
  const { records, shown: shownRecords } = snapshot
  const [first] = shownRecords
  const [nft] = records
  if (ids.length > 1) await output.many(shownRecords)
  else if (first !== undefined && nft !== undefined) {
    page = explorerPage(connection, nft)
    if (output.mode === 'table' && flags.fields === undefined) await draw(deps, connection, nft, flags)
    await output.one(first)
  }
  await refuseMissing(records)
}

/**
 * Returns the token if the argument is a contract and a token ID; null if the arguments are NFT IDs.
 *
 * @throws GdnError `usage`
 */
async function findToken(
  ids: readonly string[],
  { blockchain, rpcUrl, watch }: ShowFlags,
): Promise<TokenReference | null> {
  const token = (await Promise.all(ids.map(parseTokenReference))).find((candidate) => candidate !== null)
  if (token === undefined) {
    const idle = blockchain !== undefined ? '--blockchain' : rpcUrl !== undefined ? '--rpc-url' : null
    if (idle === null) return null
    throw flagError(idle, 'requires a token of a contract', 'Use <contract>/<token ID>, or omit the flag.')
  }
  if (ids.length > 1)
    throw flagError('<nft_gdn_id>', "a token of a contract can't be combined with other NFTs", 'Show one at a time.')
  if (watch) throw flagError('--watch', 'requires the ID of an NFT', 'Omit --watch.')
  return token
}

interface NftSnapshot {
  records: NftRecord[]
  shown: DataRecord[]
}

/** Shows NFTs until each of them is deployed or failed, and none has a change in progress. */
async function watchNfts(
  deps: Deps,
  flags: ShowFlags,
  readSnapshot: () => Promise<NftSnapshot>,
  { view, output: { fields, pick } }: { view: View; output: Output },
): Promise<NftSnapshot | null> {
  const { io } = deps
  const { renderOne, renderTable } = await import('../../render/table.ts')
  const { watch } = await import('../../request/watch.ts')
  return await watch(deps, flags, {
    readSnapshot,
    view,
    toRecords: ({ shown }) => shown,
    isFinal: ({ records }) => records.every((nft) => isFinal(nft.status) && nft.pending_change === undefined),
    async formatText({ shown: shownRecords }) {
      const [first] = shownRecords
      if (shownRecords.length === 1 && first !== undefined) return renderOne(io, pick(first), view, fields)
      const table = { columns: fields ?? view.columns, id: view.id, dropsId: false }
      const records = shownRecords.map((record) => (fields ? pick(record) : (view.cells?.(record) ?? record)))
      return (await renderTable(io, records, table)).text
    },
  })
}

/** Returns the URL of an NFT in the web explorer; null if the server isn't a gdn backend. */
function explorerPage({ client }: Connection, { nft_gdn_id }: NftRecord): string | null {
  return client.supports('idempotency') === true ? `${client.baseUrl}/nfts/${encodeURIComponent(nft_gdn_id)}` : null
}

/** Draws the image of an NFT. Loads the drawing code only if necessary. */
async function draw(deps: Deps, connection: Connection, nft: NftRecord, { image, gateway }: ShowFlags): Promise<void> {
  const graphics = image === false ? null : findDrawMethod(deps)
  const space = findImageArea(deps.io)
  if (graphics === null || space === null) return
  const { showImage } = await import('../../image/show-nft.ts')
  await showImage(deps, connection, nft, { way: graphics, room: space, gateway })
}
