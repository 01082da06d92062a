import { count } from '../../core/count.ts'
import { shortenTo } from '../../core/shorten.ts'
import type { ChangePlan, PlanCounts, PlannedChange } from '../../plan/planned.ts'
import { safe } from '../io/io.ts'
import { escapeHtml } from '../sheet/html.ts'
import { findFoldedGroup, type ImpossibleChanges, type ImpossibleGroup, placesText } from './impossible-changes.ts'
import { omitRemovedRows } from './plan-view.ts'

/** Maximum number of characters, below GitHub's limit of 65,536 characters per comment. */
const MAX_CHARS = 60_000
const MAX_VALUE_CHARACTERS = 200
/** Characters reserved for the text after the changes. */
const RESERVED_END_CHARACTERS = 500

/**
 * Formats a plan as a pull request comment: the counts, and the changes in a collapsed section.
 *
 * External text is in `<code>` elements of HTML blocks, where GitHub doesn't interpret Markdown, mentions, links or
 * issue numbers. The table contains no empty line, because an empty line would end its HTML block.
 */
export async function planMarkdown(
  name: string,
  plan: ChangePlan,
  impossibleChanges: ImpossibleChanges,
): Promise<string> {
  const { counts, notes } = plan
  const rows = countRows(counts).map(([label, n]) => `| ${label} | ${n} |`)
  const head = [
    `<h3>Plan for ${formatCode(name)}</h3>`,
    '',
    '| Change | Rows |',
    '| --- | ---: |',
    ...rows,
    '',
    ...notes.flatMap((note) => [`<p>${formatCode(note)}</p>`, '']),
  ]
  let text = `${head.join('\n')}\n`
  let [shown, all] = [0, 0]
  let table = ''
  const listedGroups = new Set<ImpossibleGroup>()
  for await (const change of plan.changes()) {
    const group = findGroup(impossibleChanges, change)
    // The whole group is already shown in the row of its first change.
    if (group !== undefined && listedGroups.has(group)) continue
    if (group !== undefined) listedGroups.add(group)
    const n = group?.count ?? 1
    all += n
    if (shown < all - n) continue
    const row = group === undefined ? changeTableRow(change) : groupRow(group)
    if (text.length + table.length + row.length > MAX_CHARS - RESERVED_END_CHARACTERS) continue
    table += row
    shown += n
  }
  if (all === 0) return text
  text += `<details><summary>${shown === all ? '' : `${shown} of `}${count(all, 'change')}</summary>\n<table>\n`
  text += `<tr><th>Action</th><th>Line</th><th>Title</th><th>Changes</th><th>Reason</th></tr>\n${table}</table>\n</details>\n`
  if (shown < all)
    text += `\n${count(all - shown, 'change')} ${all - shown === 1 ? 'is' : 'are'} not shown. \`gdn plan -o ndjson\` prints all of them.\n`
  return text
}

function countRows(counts: PlanCounts): [string, number][] {
  const { mint, update, transfer, drift, impossible, unchanged } = omitRemovedRows(counts)
  const removed: [string, number][] = [
    ['burn', counts.burn],
    ['removed row (drift, kept)', counts.keptBurns],
    ['removed row (impossible to burn)', counts.impossibleBurns],
  ]
  return [
    ['mint', mint],
    ['update', update],
    ['transfer', transfer],
    ['drift (kept)', drift],
    ['impossible', impossible],
    ['unchanged', unchanged],
    ...removed.filter(([, n]) => n > 0),
  ]
}

function changeTableRow({ action, line, title, fields, shown = fields, reason }: PlannedChange): string {
  const changes = shown
    .map(({ field, from, to }) => `${formatCode(field)}: ${valueText(from)} → ${valueText(to)}`)
    .join('<br>')
  return tableRow([
    ...[action, line === null ? '' : String(line), formatCode(title), changes],
    reason === null ? '' : formatCode(reason),
  ])
}

/**
 * Returns the group of a change. Returns undefined if the change's own reason contains more than the group's reason,
 * such as an ID to add.
 */
function findGroup(impossibleChanges: ImpossibleChanges, change: PlannedChange): ImpossibleGroup | undefined {
  const group = findFoldedGroup(impossibleChanges, change)
  return group?.reason === change.reason ? group : undefined
}

/**
 * Formats a group of impossible changes. Its places are in the title column, because the line column has room for only
 * one line number.
 */
const groupRow = (group: ImpossibleGroup): string =>
  tableRow(['impossible', '', formatCode(placesText(group)), '', formatCode(group.reason)])

const tableRow = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>\n`

const valueText = (value: string | null): string => (value === null ? 'none' : formatCode(value))

/** Shortens and escapes external text. Returns a `<code>` element. */
function formatCode(text: string): string {
  return `<code>${escapeHtml(safe(shortenTo(text, MAX_VALUE_CHARACTERS)))}</code>`
}
