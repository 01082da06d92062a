import type { RunTimes } from '../../batch/runs/run-times.ts'
import type { RunStatus } from '../../batch/types.ts'
import { groupDigits } from '../../core/group-digits.ts'
import { type DropState, describeDropState } from '../../reveal/drop-state.ts'
import { spentText } from '../cost/spent.ts'
import type { DataRecord } from '../render/view.ts'
import { VERSION } from '../version.ts'
import { definitions, escapeHtml, isolateDirection, sharedLink, truncateText } from './html.ts'
import { filter, pageHead, ROWS_START, shareBar, stats } from './page.ts'
import type { PresentNfts } from './present-nfts.ts'
import { type ReportLinks, type ReportState, TONE_BY_STATE } from './result-card.ts'

export interface ReportTop extends ReportLinks {
  status: RunStatus
  /** Counts of rows by state. A burned NFT is counted as burned, not as deployed. */
  counts: Readonly<Record<ReportState, number>>
  name: string
  collection: string | null
  owners: number
  times: RunTimes
  /** The cost of the run so far; null if unknown. */
  spent: DataRecord | null
  failures: ReadonlyMap<string, { count: number; lines: readonly number[] }>
  /** Number of rows whose image is only linked or named in the text. */
  notEmbedded: number
  present: Pick<PresentNfts, 'missing' | 'historiesLeft' | 'isPlain' | 'hasServer'>
  /** Number of NFTs that changed after their mint. */
  changed: number
  now: number
  /** The state of the shuffled drop; null for other runs. */
  drop: DropState | null
}

const REPORT_STATES: readonly ReportState[] = [
  'deployed',
  'burned',
  'accepted',
  'pending',
  'failed',
  'unknown',
  'abandoned',
]
const STATE_LABELS: Readonly<Record<ReportState, string>> = {
  deployed: 'deployed',
  burned: 'burned',
  accepted: 'accepted, not deployed yet',
  pending: 'planned, not sent yet',
  failed: 'failed',
  unknown: 'outcome unknown',
  abandoned: 'abandoned',
}
const MAX_SHOWN_FAILURES = 8
const MAX_REASON_CHARACTERS = 300

/** Returns the HTML above the rows of a run. */
export function reportTop(top: ReportTop): string {
  const { status, counts, name, collection, owners, times, spent, notEmbedded, now, blockExplorer, drop } = top
  const total = REPORT_STATES.reduce((sum, state) => sum + counts[state], 0)
  const contract = `<code>${escapeHtml(status.contractAddress)}</code>`
  return `${pageHead({ kind: 'report', title: `${name}: report`, images: 'data:' })}<header>
<p class="kicker">Report of a drop</p>
<h1 dir="auto">${escapeHtml(truncateText(name, 300))}</h1>
${stats([
  ...REPORT_STATES.filter((state) => counts[state] > 0 || state === 'deployed').map(
    (state) =>
      [groupDigits(counts[state]), STATE_LABELS[state], counts[state] > 0 ? TONE_BY_STATE[state] : ''] as const,
  ),
  [groupDigits(owners), owners === 1 ? 'owner' : 'owners'],
  ...(spent === null ? [] : ([[groupDigits(Number(spent.gas_used)), 'gas']] as const)),
])}${total === 0 ? '' : shareBar(REPORT_STATES.map((state) => ({ share: counts[state] / total, tone: TONE_BY_STATE[state], what: `${counts[state]} ${STATE_LABELS[state]}` })))}${definitions(
  [
    ['Collection', collection === null ? '' : isolateDirection(truncateText(collection, 300))],
    [
      'Contract',
      blockExplorer === null
        ? contract
        : `${contract} ${sharedLink(`${blockExplorer}/address/${encodeURIComponent(status.contractAddress)}`, 'in the block explorer')}`,
    ],
    ['Blockchain', escapeHtml(status.blockchain)],
    ['Shuffle', drop === null ? '' : `${escapeHtml(describeDropState(drop, now))}.`],
    ['Started', time(times.startedAt)],
    [
      counts.pending + counts.unknown > 0 ? 'Last response' : 'All accepted',
      times.answeredAt === null
        ? ''
        : `${time(times.answeredAt)}, ${formatTimeSpan(times.startedAt, times.answeredAt)} later`,
    ],
    [
      'Completed',
      times.endedAt === null ? '' : `${time(times.endedAt)}, ${formatTimeSpan(times.startedAt, times.endedAt)} in all`,
    ],
    ['Paid', spent === null ? '' : escapeHtml(spentText(spent))],
    ['Gas', spent === null ? 'unknown' : ''],
    [
      'Run',
      `<code>${escapeHtml(status.name)}</code>${status.generation > 1 ? ` (run ${status.generation} of this manifest)` : ''}`,
    ],
    ['Written', `${time(new Date(now).toISOString())}, by gdn ${VERSION}`],
  ],
)}
${renderFailures(top)}${notEmbedded === 0 ? '' : `<p class="note">${groupDigits(notEmbedded)} ${notEmbedded === 1 ? 'image is' : 'images are'} not in this file. The report contains only ${notEmbedded === 1 ? 'its name or link' : 'their names or links'}.</p>\n`}${presentNotes(top)}</header>
${filter(toFilterChoices(top, total))}${ROWS_START}`
}

/** Returns notes about NFTs that aren't shown in their current state, and about missing parts. */
function presentNotes({ counts, present, times }: ReportTop): string {
  const { missing, historiesLeft, isPlain, hasServer } = present
  const notes: string[] = []
  if (missing > 0) {
    const isAll = missing === counts.deployed + counts.burned
    const them = isAll || missing > 1 ? 'them' : 'it'
    const subject = isAll ? 'NFTs are' : `${groupDigits(missing)} deployed ${missing === 1 ? 'row is' : 'rows are'}`
    const which = `${subject} shown as gdn recorded ${them} on this machine`
    const at = times.endedAt ?? times.answeredAt
    const why = hasServer ? `the server did not return ${them}` : 'the server could not be reached'
    notes.push(`${which}${at === null ? '' : `, as of ${time(at)}`}: ${why}.`)
  }
  if (isPlain) notes.push('The server does not report updates, freezes or burns.')
  if (historiesLeft > 0) {
    notes.push(
      `The history of ${groupDigits(historiesLeft)} ${historiesLeft === 1 ? 'NFT' : 'NFTs'} is not in this file. <code>gdn nft history</code> shows it.`,
    )
  }
  return notes.map((note) => `<p class="note">${note}</p>\n`).join('')
}

function toFilterChoices({ counts, changed }: ReportTop, total: number): [string, string][] {
  const parts: [string, string, number][] = [
    ['only-good', 'Deployed', counts.deployed],
    ['only-burned', 'Burned', counts.burned],
    ['only-busy', 'In progress', counts.accepted + counts.pending],
    ['only-bad', 'Failed', counts.failed + counts.unknown],
  ]
  const some = parts.filter(([, , count]) => count > 0)
  if (some.length < 2) some.length = 0
  if (changed > 0) some.push(['only-changed', 'Changed', changed])
  if (some.length === 0) return []
  return [
    ['all', `All ${groupDigits(total)}`],
    ...some.map(([id, label, count]): [string, string] => [id, `${label} ${groupDigits(count)}`]),
  ]
}

function renderFailures({ failures: byReason }: ReportTop): string {
  if (byReason.size === 0) return ''
  const sorted = [...byReason].sort(([, a], [, b]) => b.count - a.count)
  const items = sorted.slice(0, MAX_SHOWN_FAILURES).map(([reason, { count, lines }]) => {
    const links = lines.map((line) => `<a href="#line-${line}">${line}</a>`).join(', ')
    const more = count > lines.length ? `, and ${groupDigits(count - lines.length)} more` : ''
    const rows = `<span class="hint">(${lines.length === 1 && count === 1 ? 'line' : 'lines'} ${links}${more})</span>`
    return `<li>${isolateDirection(truncateText(reason, MAX_REASON_CHARACTERS))} ${rows}</li>`
  })
  if (sorted.length > MAX_SHOWN_FAILURES)
    items.push(
      `<li class="hint">and ${groupDigits(sorted.length - MAX_SHOWN_FAILURES)} other reasons, each next to its row</li>`,
    )
  return `<section class="faults"><h2>Failures</h2><ul>${items.join('')}</ul></section>\n`
}

const time = (iso: string) =>
  `<time datetime="${escapeHtml(iso)}">${escapeHtml(iso.slice(0, 19).replace('T', ' '))} UTC</time>`

/** Describes the duration between two ISO dates in words. */
export function formatTimeSpan(from: string, to: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000))
  if (seconds < 1) return 'less than a second'
  if (seconds < 90) return seconds === 1 ? 'a second' : `${seconds} seconds`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} minutes`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} hours`
  return `${Math.round(seconds / 86_400)} days`
}
