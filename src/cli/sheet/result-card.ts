import { hasFailed } from '../../api/nft-status.ts'
import { isSameAddress } from '../../api/same-address.ts'
import { formatTraitValue } from '../../api/traits.ts'
import type { RowStatus } from '../../batch/types.ts'
import { groupDigits } from '../../core/group-digits.ts'
import { type DropState, isAbandoned } from '../../reveal/drop-state.ts'
import { toGatewayUrl } from '../../verify/storage-reader.ts'
import { describeEvent, type HistoryEvent, shortHash } from '../render/history-event.ts'
import { shortAddress } from '../render/short-address.ts'
import { badge, card, toExtraRows } from './card.ts'
import { escapeHtml, isolateDirection, sharedLink, truncateText } from './html.ts'
import type { Tone } from './page.ts'
import type { PresentNft, ReportRow } from './present-nfts.ts'

/** The state of a row in a report. A burned NFT counts as burned instead of deployed. */
export type ReportState = RowStatus | 'burned' | 'abandoned'

export const TONE_BY_STATE: Readonly<Record<ReportState, Tone>> = {
  deployed: 'good',
  burned: 'bad',
  accepted: 'busy',
  pending: 'busy',
  failed: 'bad',
  unknown: 'bad',
  abandoned: '',
}

/** Base URLs for links that every reader of the report can open. */
export interface ReportLinks {
  /** Block explorer of the chain; null if unknown. */
  blockExplorer: string | null
  /** Gateway that readers of the report can reach; null if there is none. */
  publicGateway: string | null
}

const MAX_REASON_CHARACTERS = 600
const MAX_EVENT_CHARACTERS = 400

/**
 * Returns the state of a row. A burn is final, so a recorded burn is valid even if the server is unreachable.
 *
 * @param drop the state of the shuffled drop; null for other runs
 */
export function toReportState({ result, nft }: ReportRow, drop: DropState | null): ReportState {
  if (isAbandoned(result.status, drop)) return 'abandoned'
  return result.status === 'deployed' && (result.burned || nft?.record.burned === true) ? 'burned' : result.status
}

/** Returns the card of a row, with its outcome and the current state of its NFT. */
export function resultCard(reportRow: ReportRow, image: string, links: ReportLinks, drop: DropState | null): string {
  const { result, row, nft } = reportRow
  const { line, key, nft_gdn_id, token_id, contract_address, error } = result
  const state = toReportState(reportRow, drop)
  const drawn = state === 'abandoned' ? null : reportRow.drawn
  const token = token_id === null ? '' : `<span>token ${escapeHtml(truncateText(token_id, 50))}</span>`
  const { blockExplorer, publicGateway } = links
  const metadataUrl = nft?.record.metadata_url ?? result.metadata_url
  const metadataLink = metadataUrl === null || publicGateway === null ? null : toGatewayUrl(publicGateway, metadataUrl)
  const tokenPage =
    blockExplorer === null || token_id === null
      ? null
      : `${blockExplorer}/token/${encodeURIComponent(contract_address)}?a=${encodeURIComponent(token_id)}`
  const code = (text: string) => `<code>${escapeHtml(truncateText(text, 200))}</code>`
  const owner = nft?.owner ?? result.receiver_wallet_address
  const ownerTerm = state !== 'burned' ? 'Owner' : (nft?.owner ?? null) === null ? 'Receiver' : 'Last owner'
  const metadata = nft?.metadata ?? row?.metadata ?? null
  const isChanged = nft?.isChanged === true ? ' is-changed' : ''
  return card({
    id: `line-${line}`,
    classes: `is-${state === 'burned' ? state : TONE_BY_STATE[state]}${isChanged}`,
    image,
    where: `${badge(state, TONE_BY_STATE[state])}${nft === null ? '' : badges(nft)}${token}<span>${drawn === null ? `line ${line}` : `line ${drawn.line}, drawn for line ${line}`}</span><span>${ownerTerm.toLowerCase()} <code>${escapeHtml(shortAddress(owner))}</code></span>`,
    title: metadata?.title ?? 'A row that is no longer in the manifest',
    description: metadata?.description ?? '',
    tags: (metadata?.attribute ?? []).map((trait) => [trait.tag, formatTraitValue(trait)]),
    problems:
      error === null
        ? ''
        : `<ul class="problems"><li>${isolateDirection(truncateText(error, MAX_REASON_CHARACTERS))}</li></ul>\n`,
    more: [
      [ownerTerm, code(owner)],
      ['Receiver', isSameAddress(owner, result.receiver_wallet_address) ? '' : code(result.receiver_wallet_address)],
      ['Token', tokenPage === null ? '' : sharedLink(tokenPage, `${token_id} in the block explorer`)],
      ['NFT', nft_gdn_id === null ? '' : code(nft_gdn_id)],
      ['Metadata', metadataUrl === null ? '' : sharedLink(metadataLink ?? metadataUrl, truncateText(metadataUrl, 200))],
      ['Row', key === '' ? '' : code(drawn?.key ?? key)],
      ['Drawn for', drawn === null ? '' : code(key)],
      ...(metadata === null ? [] : toExtraRows(metadata)),
    ],
    after: nft === null ? '' : history(nft),
  })
}

/** Returns badges that show how an NFT has changed since its mint. */
function badges({ record, isUnrevealed, isRevealed, isMoved }: PresentNft): string {
  const { revision, is_frozen, pending_change } = record
  const labels: [string, Tone][] = []
  if (isUnrevealed) labels.push(['unrevealed', ''])
  if ((revision ?? 0) > 0) labels.push([isRevealed ? 'revealed' : 'updated', ''])
  if (is_frozen === true) labels.push(['frozen', ''])
  if (isMoved) labels.push(['transferred', ''])
  if (pending_change != null) labels.push([`${truncateText(pending_change.kind, 30)} in progress`, 'busy'])
  return labels.map(([label, tone]) => badge(label, tone)).join('')
}

function history({ history: events, hasMoreHistory, record }: PresentNft): string {
  if (events === null || events.length === 0) return ''
  const more = hasMoreHistory
    ? `<li>and more: <code>gdn nft history ${escapeHtml(truncateText(record.nft_gdn_id, 100))}</code></li>`
    : ''
  return `<details class="history"><summary>History</summary><ol>${events.map(eventItem).join('')}${more}</ol></details>\n`
}

function eventItem(event: HistoryEvent): string {
  const { kind, status, block_date, accepted_date, block_number, transaction_hash, explorer_url, error } = event
  const date = block_date ?? accepted_date
  const hash = shortHash(transaction_hash)
  const facts = [
    date === null ? '' : escapeHtml(`${truncateText(date, 40)} UTC`),
    block_number === null ? '' : `block ${groupDigits(block_number)}`,
    hash === null ? '' : sharedLink(explorer_url ?? '', hash),
    status === 'deployed' ? '' : badge(status, hasFailed(status) ? 'bad' : 'busy'),
    error === null ? '' : isolateDirection(truncateText(error, MAX_REASON_CHARACTERS)),
  ].filter((fact) => fact !== '')
  return `<li><b>${kind}</b> ${isolateDirection(truncateText(describeEvent(event), MAX_EVENT_CHARACTERS))}<span>${facts.join(' · ')}</span></li>`
}
