import { formatPlace } from '../../core/errors.ts'
import { groupDigits } from '../../core/group-digits.ts'
import type { ManifestSummary } from '../../manifest/read.ts'
import { VERSION } from '../version.ts'
import { definitions, escapeHtml, isolateDirection, truncateText } from './html.ts'
import { filter, pageHead, ROWS_START, stats } from './page.ts'

interface PreviewTop extends Omit<ManifestSummary, 'files'> {
  name: string
  invalidRows: number
  /** Number of rows that are equal to an earlier row. */
  duplicates: number
  remoteImages: boolean
  /** Number of rows whose image is on the web. */
  onTheWeb: number
  now: number
  /**
   * The manifest's run on this machine, with the numbers of valid rows that it has sent and minted; null if there is
   * none.
   */
  run: { name: string; sent: number; minted: number } | null
}

const MAX_SHOWN_ISSUES = 12
const MAX_MESSAGE_CHARACTERS = 240

/** Returns the HTML above the rows of a manifest. */
export function previewTop(top: PreviewTop): string {
  const { name, target, rows, invalidRows, issueCount, receivers, duplicates, remoteImages, onTheWeb, now, run } = top
  const images = remoteImages ? 'file: https: http:' : 'file:'
  const isPartlySent = run !== null && run.sent > 0 && run.sent < rows
  const choices: [string, string][] = [
    ['all', `All ${groupDigits(invalidRows + rows)}`],
    ...(invalidRows > 0 && rows > 0
      ? [['only-faulty', `With errors ${groupDigits(invalidRows)}`] as [string, string]]
      : []),
    ...(isPartlySent ? [['only-new', `Not sent ${groupDigits(rows - run.sent)}`] as [string, string]] : []),
  ]
  return `${pageHead({ kind: 'preview', title: `${name}: preview`, images })}<header>
<p class="kicker">${escapeHtml(describeProgress(top))}</p>
<h1 dir="auto">${escapeHtml(truncateText(name, 300))}</h1>
${stats([
  [groupDigits(rows), issueCount === 0 ? 'rows, all valid' : 'valid rows', issueCount === 0 ? 'good' : ''],
  ...(issueCount > 0 ? ([[groupDigits(issueCount), issueCount === 1 ? 'error' : 'errors', 'bad']] as const) : []),
  ...(duplicates > 0 ? ([[groupDigits(duplicates), 'identical to an earlier row', 'bad']] as const) : []),
  [groupDigits(receivers), receivers === 1 ? 'receiver' : 'receivers'],
  ...(run === null || run.minted === 0 ? [] : ([[groupDigits(run.minted), 'already minted', 'good']] as const)),
])}${definitions([
  ['Blockchain', target.blockchain === null ? '' : escapeHtml(target.blockchain)],
  ['Collection', target.contractAddress === null ? '' : `<code>${escapeHtml(target.contractAddress)}</code>`],
  ['Run', run === null ? '' : `<code>${escapeHtml(run.name)}</code>`],
  ['Checked', `${escapeHtml(`${new Date(now).toISOString().slice(0, 16).replace('T', ' ')} UTC, by gdn ${VERSION}`)}`],
])}
${renderIssues(top)}${remoteImages || onTheWeb === 0 ? '' : '<p class="note">Images on the web are links, so this page makes no requests.</p>\n'}</header>
${choices.length > 1 ? filter(choices) : ''}${ROWS_START}`
}

/** Describes how much of the drop was sent and minted, according to this machine's records. */
function describeProgress({ run, rows }: PreviewTop): string {
  if (run === null || run.sent === 0) return 'Preview of a drop: no rows have been sent from this machine'
  if (run.minted === rows) return 'Preview of a drop: every row is already minted'
  return `Preview of a drop: ${groupDigits(run.sent)} of ${groupDigits(rows)} rows are already sent, and ${groupDigits(run.minted)} are minted`
}

function renderIssues({ issues, issueCount }: PreviewTop): string {
  if (issueCount === 0) return ''
  const items = issues.slice(0, MAX_SHOWN_ISSUES).map(({ place, message, hint }) => {
    const { file: _, field, ...at } = place
    const where =
      place.line === undefined
        ? formatPlace(place)
        : [at.line, at.column].filter((part) => part !== undefined).join(':')
    const link = place.line === undefined ? '' : `<a href="#line-${place.line}"><code>${escapeHtml(where)}</code></a> `
    const hintHtml =
      hint === undefined ? '' : ` <span class="hint">${escapeHtml(truncateText(hint, MAX_MESSAGE_CHARACTERS))}</span>`
    return `<li>${link}${isolateDirection(truncateText(message, MAX_MESSAGE_CHARACTERS))}${hintHtml}</li>`
  })
  const unlisted = issueCount - items.length
  if (unlisted > 0) items.push(`<li class="hint">and ${groupDigits(unlisted)} more, each next to its row</li>`)
  return `<section class="faults"><h2>Fix before you mint</h2><ul>${items.join('')}</ul></section>\n`
}
