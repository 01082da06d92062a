import type { Action } from '../../../plan/compare.ts'
import type { ChangePlan, PlanCounts, PlannedChange } from '../../../plan/planned.ts'
import { type Io, safe } from '../../io/io.ts'
import type { Paint } from '../../io/paint.ts'
import type { DataRecord } from '../../render/cells.ts'
import { changeLines } from '../../render/change-lines.ts'
import { count } from '../../render/count.ts'
import type { View } from '../../render/view.ts'
import { cutToWidth, displayWidth } from '../../text/display-width.ts'
import { wrapLine } from '../../text/wrap.ts'

/** Changes that a terminal shows. */
const MAX_SHOWN = 50
const MIN_TITLE = 20

export const PLAN_VIEW: View = {
  fields: [
    ...['action', 'want', 'line', 'key', 'title', 'nft_gdn_id', 'token_id', 'revision', 'changes', 'reason'],
    'reference_id',
  ],
  columns: ['action', 'line', 'title', 'changes', 'reason'],
  id: 'nft_gdn_id',
  cells: ({ changes, ...record }) => ({ ...record, changes: fieldsText(changes as PlannedChange['fields']) }),
}

/** A change as scripts read it. */
export const planRecord = (change: PlannedChange): DataRecord => {
  const { action, want, line, key, title, nftGdnId, tokenId, revision, fields, reason, reference } = change
  return {
    action,
    want,
    line,
    key,
    title,
    nft_gdn_id: nftGdnId,
    token_id: tokenId,
    revision,
    changes: fields,
    reason,
    reference_id: reference,
  }
}

const shown = (value: string | null) => (value === null ? 'none' : `"${safe(value)}"`)

const fieldsText = (fields: PlannedChange['fields']): string =>
  fields.map(({ field, from, to }) => `${safe(field)}: ${shown(from)} → ${shown(to)}`).join(', ')

/** Yields the first changes of a plan. Where there are more, impossible ones come first: they prevent all others. */
export async function* firstChanges(plan: ChangePlan): AsyncGenerator<PlannedChange> {
  let left = MAX_SHOWN
  const isImpossible = ({ action }: PlannedChange) => action === 'impossible'
  const isSplit = plan.counts.impossible > 0 && changesIn(plan.counts) > MAX_SHOWN
  const passes = isSplit ? [isImpossible, (change: PlannedChange) => !isImpossible(change)] : [() => true]
  for (const isNext of passes) {
    for await (const change of plan.changes()) {
      if (!isNext(change)) continue
      if (left-- === 0) return
      yield change
    }
  }
}

const MAX_OBSTACLES = 5

/** Names the first changes that are impossible, each on a line with its reason. */
export async function obstaclesText(plan: ChangePlan): Promise<string> {
  let text = ''
  let left = MAX_OBSTACLES
  for await (const { action, line, title, reason } of plan.changes()) {
    if (action !== 'impossible') continue
    if (left-- === 0) break
    text += `\n${line === null ? title : `line ${line}`}: ${reason ?? ''}`
  }
  return text
}

/** Formats the first changes of a plan for a terminal, each with its fields on lines of their own. */
export async function planLines(
  plan: ChangePlan,
  { columns, paint }: { columns: number; paint: Paint },
): Promise<string[]> {
  const lines: string[] = []
  for await (const { action, line, title, tokenId, fields, shown = fields, reason } of firstChanges(plan)) {
    const places = [line === null ? '' : ` line ${line}`, tokenId === null ? '' : ` token ${safe(tokenId)}`]
    const place = `${places.filter((text) => text !== '').join(',')}: `
    const room = columns - action.length - displayWidth(place)
    lines.push(paintAction(action, paint) + place + cutToWidth(safe(title), Math.max(MIN_TITLE, room)))
    if (reason !== null) lines.push(wrapLine(`    ${safe(reason)}`, columns))
    lines.push(...changeLines(shown, columns))
  }
  return lines
}

function paintAction(action: Action, paint: Paint): string {
  if (action === 'mint') return paint.good(action)
  return action === 'burn' || action === 'impossible' ? paint.bad(action) : paint.busy(action)
}

/** The changes that `apply` makes, and those that prevent it. */
export const pendingCount = ({ mint, update, transfer, burn, impossible }: PlanCounts): number =>
  mint + update + transfer + burn + impossible

/** The rows that got an ID since their mint, and whose pairs `apply` stores at the server or only here. */
export const pendingPairs = ({ paired }: Pick<ChangePlan, 'paired'>): number =>
  paired.filter(({ alias, sent }) => alias === 'wanted' || (alias === 'impossible' && sent !== null)).length

/** The changes that a plan shows. */
export const changesIn = (counts: PlanCounts): number => pendingCount(counts) + counts.drift

/** Returns the counts as a sentence: `2 to mint, 1 to transfer, 97 unchanged`. */
export function countsText(counts: PlanCounts): string {
  const parts = [
    [counts.mint, 'to mint'],
    [counts.update, 'to update'],
    [counts.transfer, 'to transfer'],
    [counts.burn, 'to burn'],
    [counts.drift, 'changed elsewhere'],
    [counts.impossible, 'impossible'],
    [counts.unchanged, 'unchanged'],
  ] as const
  return parts.flatMap(([n, what]) => (n === 0 ? [] : [`${n} ${what}`])).join(', ')
}

/**
 * Prints what the list of changes does not have.
 *
 * @param isBrief whether the list has only the first changes
 */
export function printPlanNotes(io: Io, { counts, notes }: ChangePlan, isBrief: boolean): void {
  const hidden = changesIn(counts) - MAX_SHOWN
  if (isBrief && hidden > 0) io.note(`And ${count(hidden, 'more change')}. Add \`-o ndjson\` to print all of them.`)
  for (const note of notes) io.note(safe(`${note}.`))
  if (counts.drift > counts.burned) {
    io.note('Changes made elsewhere are kept. Add --take-over to replace them with those of the manifest.')
  }
  if (counts.impossible > 0) {
    io.note(
      'gdn apply sends nothing while a change is impossible. Fix each cause, or add --only mint to mint only the new rows.',
    )
  }
  // Burns are of NFTs that have no row.
  const burns = counts.burn === 0 ? '' : ` ${count(counts.burn, 'NFT')} to burn.`
  io.note(`${count(counts.rows, 'row')}: ${countsText({ ...counts, burn: 0 }) || 'none'}.${burns}`)
}
