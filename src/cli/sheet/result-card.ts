import type { RunRow } from '../../batch/run-rows.ts'
import type { RowStatus } from '../../batch/types.ts'
import { atGateway } from '../../nft/storage-reader.ts'
import { badge, card, extrasOf } from './card.ts'
import { beginningOf, escapeHtml, ownDirection, webLink } from './html.ts'
import type { Tone } from './page.ts'

export const TONES: Readonly<Record<RowStatus, Tone>> = {
  deployed: 'good',
  accepted: 'busy',
  pending: 'busy',
  failed: 'bad',
  unknown: 'bad',
}

/** Base URLs of links that every reader of a report can open. */
export interface ReportLinks {
  /** Block explorer of the chain, if it is known. */
  blockExplorer: string | null
  /** Gateway that others can reach too. */
  publicGateway: string | null
}

const MAX_REASON = 600

/** Shortens an address to both ends, by which people recognize it. */
const shortened = (address: string) => (address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address)

/** Returns the card of a row with its outcome. */
export function resultCard({ result, row }: RunRow, picture: string, links: ReportLinks): string {
  const { line, key, status, nft_gdn_id, token_id, contract_address, receiver_wallet_address, metadata_url, error } =
    result
  const tone = TONES[status]
  const token = token_id === null ? '' : `<span>token ${escapeHtml(beginningOf(token_id, 50))}</span>`
  const { blockExplorer, publicGateway } = links
  const metadata = metadata_url === null || publicGateway === null ? null : atGateway(publicGateway, metadata_url)
  const tokenPage =
    blockExplorer === null || token_id === null
      ? null
      : `${blockExplorer}/token/${encodeURIComponent(contract_address)}?a=${encodeURIComponent(token_id)}`
  const code = (text: string) => `<code>${escapeHtml(text)}</code>`
  return card({
    id: `line-${line}`,
    classes: `is-${tone}`,
    picture,
    where: `${badge(status, tone)}${token}<span>line ${line}</span><span>owner <code>${escapeHtml(shortened(receiver_wallet_address))}</code></span>`,
    title: row === null ? 'A row that is no longer in the manifest' : row.metadata.title,
    description: row?.metadata.description ?? '',
    tags: (row?.metadata.attribute ?? []).map(({ tag, value }) => [tag, value]),
    problems:
      error === null ? '' : `<ul class="problems"><li>${ownDirection(beginningOf(error, MAX_REASON))}</li></ul>\n`,
    more: [
      ['Owner', code(receiver_wallet_address)],
      ['Token', tokenPage === null ? '' : webLink(tokenPage, `${token_id} in the block explorer`)],
      ['NFT', nft_gdn_id === null ? '' : code(nft_gdn_id)],
      ['Metadata', metadata_url === null ? '' : webLink(metadata ?? metadata_url, beginningOf(metadata_url, 200))],
      ['Row', key === '' ? '' : code(beginningOf(key, 100))],
      ...(row === null ? [] : extrasOf(row.metadata)),
    ],
  })
}
