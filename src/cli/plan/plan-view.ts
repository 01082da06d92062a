import { count } from '../../core/count.ts'
import type { Action } from '../../plan/compare.ts'
import type { ChangePlan, PlanCounts, PlannedChange } from '../../plan/planned.ts'
import { type Io, safe } from '../io/io.ts'
import type { Paint } from '../io/paint.ts'
import { changeLines } from '../render/change-lines.ts'
import type { DataRecord, View } from '../render/view.ts'
import { cutToWidth, displayWidth } from '../text/display-width.ts'
import { wrapLine } from '../text/wrap.ts'
import { countFolded, findFoldedGroup, formatHint, groupLines, type ImpossibleChanges } from './impossible-changes.ts'
import { changePlace, changeRecord } from './open-source.ts'

/** Maximum number of changes shown on a terminal, except burns and transfers. */
const MAX_SHOWN = 50
/** Maximum number of burns and transfers shown on a terminal. It is higher, because they can't be undone. */
const MAX_FINAL = 500
const MIN_TITLE_COLUMNS = 20

export const PLAN_VIEW: View = {
  fields: [
    ...['action', 'want', 'line', 'key', 'title', 'nft_gdn_id', 'token_id', 'revision', 'changes', 'reason'],
    'reference_id',
  ],
  columns: ['action', 'line', 'key', 'title', 'changes', 'reason'],
  id: 'nft_gdn_id',
  cells: ({ changes, ...record }) => ({ ...record, changes: fieldsText(changes as PlannedChange['fields']) }),
}

/** Returns a change in the form of machine-readable output. */
export const planRecord = (change: PlannedChange): DataRecord => {
  const { action, want, line, key, title } = change
  return { action, want, line, key, title, ...changeRecord(change) }
}

/** Returns a note of the plan in the form of machine-readable output. Notes follow the changes. */
export const noteRecord = (note: string): DataRecord => ({
  ...Object.fromEntries(PLAN_VIEW.fields.map((field) => [field, null])),
  action: 'note',
  changes: [],
  reason: note,
})

const quotedValue = (value: string | null) => (value === null ? 'none' : `"${safe(value)}"`)

const fieldsText = (fields: PlannedChange['fields']): string =>
  fields.map(({ field, from, to }) => `${safe(field)}: ${quotedValue(from)} → ${quotedValue(to)}`).join(', ')

type ShownPlan = Pick<ChangePlan, 'counts' | 'changes' | 'burns'>
type FoldedGroups = Pick<ImpossibleChanges, 'folded'>

/**
 * Yields the ungrouped changes that a terminal shows. Impossible changes are first, because they block all others.
 * Burns and transfers, which can't be undone, are next. The other changes follow in manifest order.
 */
export async function* firstChanges(plan: ShownPlan, groups: FoldedGroups): AsyncGenerator<PlannedChange> {
  const shownNumbers = countShown(plan.counts, groups)
  const ofAction = (action: Action) => (change: PlannedChange) => change.action === action
  const isAlone = (change: PlannedChange) => findFoldedGroup(groups, change) === undefined
  yield* takeMatching(
    plan.changes(),
    (change) => change.action === 'impossible' && isAlone(change),
    shownNumbers.impossible,
  )
  yield* takeMatching(plan.burns(), ofAction('burn'), shownNumbers.burn)
  yield* takeMatching(plan.changes(), ofAction('transfer'), shownNumbers.transfer)
  const before = new Set<Action>(['impossible', 'burn', 'transfer'])
  yield* takeMatching(plan.changes(), ({ action }) => !before.has(action), shownNumbers.others)
}

async function* takeMatching(
  changes: AsyncIterable<PlannedChange>,
  isWanted: (change: PlannedChange) => boolean,
  max: number,
): AsyncGenerator<PlannedChange> {
  let remaining = max
  if (remaining === 0) return
  for await (const change of changes) {
    if (!isWanted(change)) continue
    yield change
    if (--remaining === 0) return
  }
}

/** Returns the number of changes of each kind that a terminal shows. */
function countShown(counts: PlanCounts, groups: FoldedGroups) {
  const { burn, transfer, mint, update, drift } = counts
  const impossible = counts.impossible - countFolded(groups)
  const burns = Math.min(burn, MAX_FINAL)
  const shownImpossible = Math.min(impossible, MAX_SHOWN)
  return {
    impossible: shownImpossible,
    burn: burns,
    transfer: Math.min(transfer, MAX_FINAL - burns),
    others: Math.min(mint + update + drift, MAX_SHOWN - shownImpossible),
  }
}

/** Returns a sentence about the changes that a terminal doesn't show; null if it shows all of them. */
function hiddenText(counts: PlanCounts, groups: FoldedGroups): string | null {
  const shownNumbers = countShown(counts, groups)
  const hidden =
    countChanges(counts) -
    countFolded(groups) -
    shownNumbers.impossible -
    shownNumbers.burn -
    shownNumbers.transfer -
    shownNumbers.others
  if (hidden === 0) return null
  const final = [
    [counts.burn - shownNumbers.burn, 'to burn'],
    [counts.transfer - shownNumbers.transfer, 'to transfer'],
  ] as const
  const finalChanges = final.flatMap(([n, label]) => (n === 0 ? [] : [`${n} ${label}`])).join(', ')
  return `And ${count(hidden, 'more change')}${finalChanges === '' ? '' : `, including ${finalChanges}`}.`
}

/** Formats the first changes of a plan for a terminal. Each changed field is on a separate line. */
export async function planLines(
  plan: ShownPlan,
  impossibleChanges: ImpossibleChanges,
  { columns, paint }: { columns: number; paint: Paint },
): Promise<string[]> {
  const impossible = paintAction('impossible', paint)
  const lines = groupLines(impossibleChanges, columns).flatMap(([head = '', ...rest]) => [impossible + head, ...rest])
  for await (const change of firstChanges(plan, impossibleChanges)) {
    const { action, title, tokenId, fields, shown = fields, reason, receiver } = change
    const places = [` ${changePlace(change)}`, tokenId === null ? '' : ` token ${safe(tokenId)}`]
    const place = `${places.filter((text) => text !== '').join(',')}: `
    const titleWidth = columns - action.length - displayWidth(place)
    const to = receiver === undefined ? '' : ` → ${safe(receiver)}`
    const isOneLine = displayWidth(safe(title)) + displayWidth(to) <= titleWidth
    const name = isOneLine ? safe(title) + to : cutToWidth(safe(title), Math.max(MIN_TITLE_COLUMNS, titleWidth))
    lines.push(paintAction(action, paint) + place + name)
    if (!isOneLine && to !== '') lines.push(`   ${to}`)
    if (reason !== null) lines.push(wrapLine(`    ${safe(reason)}`, columns))
    lines.push(...changeLines(shown, columns))
  }
  return lines
}

function paintAction(action: Action, paint: Paint): string {
  if (action === 'mint') return paint.good(action)
  return action === 'burn' || action === 'impossible' ? paint.bad(action) : paint.busy(action)
}

/** Returns the number of changes to make, plus the impossible ones, which prevent `apply`. */
export const pendingCount = ({ mint, update, transfer, burn, impossible }: PlanCounts): number =>
  mint + update + transfer + burn + impossible

/**
 * Returns the number of rows that were given an ID after their mint, and whose pairing with an NFT isn't stored yet.
 * `apply` stores the pairing on the server or only locally.
 */
export const pendingPairs = ({ paired }: Pick<ChangePlan, 'paired'>): number =>
  paired.filter(({ alias, sent }) => alias === 'wanted' || (alias === 'impossible' && sent !== null)).length

/** Returns the number of changes that a plan lists. */
export const countChanges = (counts: PlanCounts): number => pendingCount(counts) + counts.drift

/**
 * Describes the effect of `apply`, burns first, such as `Permanently burn 1 NFT, and apply 3 other changes (1 to
 * transfer, 2 to mint)`.
 */
export function appliedText(counts: PlanCounts): string {
  const { mint, update, transfer, burn } = counts
  const otherChanges = mint + update + transfer
  const burning = burn === 0 ? '' : `Permanently burn ${count(burn, 'NFT')}`
  if (otherChanges === 0) return burning
  const changes = `${count(otherChanges, burn === 0 ? 'change' : 'other change')} (${countsText({ ...counts, burn: 0, drift: 0, impossible: 0, unchanged: 0, abandoned: 0 })})`
  return burn === 0 ? `Apply ${changes}` : `${burning}, and apply ${changes}`
}

/** Describes the effect of `apply --only mint`, such as `Mint 1 NFT (2 other changes are skipped by --only mint)`. */
export function mintedText({ mint, update, transfer, burn, impossible }: PlanCounts): string {
  const skipped = update + transfer + burn + impossible
  const skippedText = `${count(skipped, 'other change')} ${skipped === 1 ? 'is' : 'are'} skipped by --only mint`
  return `Mint ${count(mint, 'NFT')}${skipped === 0 ? '' : ` (${skippedText})`}`
}

/** Formats the counts, such as `1 to transfer, 2 to mint, 97 unchanged`. */
export function countsText(counts: PlanCounts): string {
  const parts = [
    [counts.burn, 'to burn'],
    [counts.transfer, 'to transfer'],
    [counts.update, 'to update'],
    [counts.mint, 'to mint'],
    [counts.drift, 'drift'],
    [counts.impossible, 'impossible'],
    [counts.unchanged, 'unchanged'],
    [counts.abandoned, 'abandoned'],
  ] as const
  return parts.flatMap(([n, label]) => (n === 0 ? [] : [`${n} ${label}`])).join(', ')
}

/** Returns the counts, excluding removed rows. */
export const omitRemovedRows = (counts: PlanCounts): PlanCounts => ({
  ...counts,
  burn: 0,
  drift: counts.drift - counts.keptBurns,
  impossible: counts.impossible - counts.impossibleBurns,
})

/**
 * Returns the summary of a plan. Counts removed rows separately, as in `2 rows: 1 to update, 1 unchanged. Removed rows:
 * 1 to burn.` The counts can exceed the number of rows, because a row may have both an update and a transfer.
 */
export function summaryText(counts: PlanCounts): string {
  const ofRows = omitRemovedRows(counts)
  const { rows, mint, update, transfer, drift, impossible, unchanged, abandoned } = ofRows
  const twoChanges = mint + update + transfer + drift + impossible + unchanged + abandoned - rows
  const overlap =
    twoChanges <= 0 ? '' : ` (${count(twoChanges, 'row')} ${twoChanges === 1 ? 'has' : 'have'} two changes)`
  const { keptBurns, impossibleBurns } = counts
  const none = { transfer: 0, update: 0, mint: 0, unchanged: 0, abandoned: 0 }
  const removed = countsText({ ...counts, ...none, drift: keptBurns, impossible: impossibleBurns })
  return `${count(rows, 'row')}: ${countsText(ofRows) || 'none'}${overlap}.${removed === '' ? '' : ` Removed rows: ${removed}.`}`
}

/**
 * Returns the command that makes only the mints; null if these may belong to another edition. Includes --new-rows if
 * rows were removed and new rows would be minted.
 */
export function formatOnlyMintCommand(
  command: string,
  {
    counts: { mint, retries, vanished },
    otherEdition,
  }: { counts: Pick<PlanCounts, 'mint' | 'retries' | 'vanished'>; otherEdition: string | null },
  newRows: boolean | undefined,
): string | null {
  if (otherEdition !== null) return null
  const needsFlag = newRows !== true && vanished > 0 && mint > retries
  return `${command}${needsFlag ? ' --new-rows' : ''} --only mint`
}

/**
 * Prints the notes and the summary of a plan below its list of changes.
 *
 * @param allText the sentence about where to find all changes; null if the list is complete
 * @param onlyMint the command that makes only the mints; null if these may belong to another edition
 * @param onlyMints whether changes other than mints are omitted
 */
export function printPlanNotes(
  io: Pick<Io, 'note'>,
  { counts, notes }: Pick<ChangePlan, 'counts' | 'notes'>,
  impossibleChanges: ImpossibleChanges,
  { allText, onlyMint, onlyMints = false }: { allText: string | null; onlyMint: string | null; onlyMints?: boolean },
): void {
  const hidden = allText === null ? null : hiddenText(counts, impossibleChanges)
  if (hidden !== null) io.note(`${hidden} ${allText}`)
  for (const note of notes) io.note(safe(`${note}.`))
  if (counts.impossible > 0 && !onlyMints) {
    io.note(`gdn apply sends nothing if any change is impossible. ${formatHint(impossibleChanges, counts, onlyMint)}`)
  }
  io.note(summaryText(counts))
}
