import { listSome } from '../../core/list-some.ts'
import { NOT_DYNAMIC_REASON } from '../../plan/compare.ts'
import { ID_ADDED_REASON } from '../../plan/mint-changes.ts'
import type { ChangePlan, PlannedChange } from '../../plan/planned.ts'
import { ORIGINAL_MANIFEST_HINT } from '../batch/report/row-warnings.ts'
import { safe } from '../io/io.ts'
import { cutToWidth } from '../text/display-width.ts'
import { wrapLine } from '../text/wrap.ts'
import { changePlace } from './open-source.ts'

/** A group of impossible changes with the same reason. */
export interface ImpossibleGroup {
  reason: string
  count: number
  /** The first changes of the group. */
  first: PlannedChange[]
}

/** The impossible changes of a plan. */
export interface ImpossibleChanges {
  /** The groups, ordered by their first change. Their number is limited. */
  all: ImpossibleGroup[]
  /** The groups that a list of changes shows as a single entry, by reason. */
  folded: Map<string, ImpossibleGroup>
  /** Whether any change is the result of an edit, which the user can undo. */
  areEdits: boolean
}

/** Maximum number of changes in a group that are shown or named individually. */
const MAX_LISTED_PER_GROUP = 5
/** Maximum number of groups. Each failed mint may have a different reason. */
const MAX_GROUPS = 1_000

/**
 * Returns the reason by which a change is grouped. For rows whose NFTs already have IDs, omits the ID, which differs in
 * each row.
 */
const groupingReason = ({ reason }: PlannedChange): string =>
  reason?.startsWith(ID_ADDED_REASON) === true ? ID_ADDED_REASON : (reason ?? '')

/** Groups the impossible changes of a plan by reason. */
export async function collectImpossibleChanges({
  counts,
  changes,
}: Pick<ChangePlan, 'counts' | 'changes'>): Promise<ImpossibleChanges> {
  const byReason = new Map<string, ImpossibleGroup>()
  let areEdits = false
  if (counts.impossible === 0) return { all: [], folded: byReason, areEdits }
  for await (const change of changes()) {
    if (change.action !== 'impossible') continue
    areEdits ||= change.fields.length > 0 || change.want === 'burn'
    const reason = groupingReason(change)
    const group = byReason.get(reason)
    if (group === undefined) {
      if (byReason.size < MAX_GROUPS) byReason.set(reason, { reason, count: 1, first: [change] })
      continue
    }
    group.count++
    if (group.first.length < MAX_LISTED_PER_GROUP) group.first.push(change)
  }
  const all = [...byReason.values()]
  return { all, folded: new Map([...byReason].filter(([, { count }]) => count > MAX_LISTED_PER_GROUP)), areEdits }
}

/** Returns the group of a change; undefined if the change is shown individually. */
export const findFoldedGroup = (
  { folded }: Pick<ImpossibleChanges, 'folded'>,
  change: PlannedChange,
): ImpossibleGroup | undefined => (change.action === 'impossible' ? folded.get(groupingReason(change)) : undefined)

export const countFolded = ({ folded }: Pick<ImpossibleChanges, 'folded'>): number =>
  [...folded.values()].reduce((sum, { count }) => sum + count, 0)

/** Formats the first places of a group, such as `line 2, line 3 and 28 more`. */
export function placesText({ count, first }: ImpossibleGroup): string {
  const places = first.map((change) => (change.line === null ? safe(change.title) : changePlace(change)))
  return listSome(places, count, ' and')
}

/** Returns the lines of each group for a terminal. The caller adds the action to the first line. */
export const groupLines = ({ folded }: ImpossibleChanges, columns: number): string[][] =>
  [...folded.values()].map((group) => {
    if (group.reason === ID_ADDED_REASON) return formatIdentifiedRows(group, columns)
    return [wrapLine(` ${placesText(group)}:`, columns), wrapLine(`    ${safe(group.reason)}`, columns)]
  })

/** Returns the lines for the rows whose NFTs already have IDs: the count and the first IDs. */
function formatIdentifiedRows({ count, first }: ImpossibleGroup, columns: number): string[] {
  const lines = first.map((change) => {
    const todo = /: (add id=.*) to the row/s.exec(change.reason ?? '')?.[1] ?? change.title
    return cutToWidth(`    ${changePlace(change)}: ${safe(todo)}`, columns)
  })
  return [
    wrapLine(`: ${count} rows lack the IDs of their NFTs`, columns),
    ...lines,
    `    and ${count - first.length} more`,
  ]
}

/** Maximum number of lines about impossible changes in an error. */
const MAX_ERROR_LINES = 5

/** Formats the impossible changes of a plan for an error. Each line has a reason and its places. */
export function impossibleChangesText({ all }: ImpossibleChanges, impossible: number): string {
  // List these rows individually, because each needs a different ID.
  const lines = all.flatMap((group) =>
    group.reason === ID_ADDED_REASON
      ? group.first.map((change) => ({ reason: change.reason ?? '', count: 1, first: [change] }))
      : [group],
  )
  const listedGroups = lines.slice(0, MAX_ERROR_LINES)
  const more = impossible - listedGroups.reduce((sum, { count }) => sum + count, 0)
  return `${listedGroups.map((group) => `\n${placesText(group)}: ${group.reason}`).join('')}${more > 0 ? `\nand ${more} more` : ''}`
}

/**
 * Returns a hint about resolving impossible changes.
 *
 * @param onlyMint the command that makes only the mints; null if these may belong to another edition
 */
export function formatHint(
  { all, areEdits }: ImpossibleChanges,
  { mint }: { mint: number },
  onlyMint: string | null,
): string {
  const ways: string[] = []
  if (all.some(({ reason }) => reason !== NOT_DYNAMIC_REASON)) {
    ways.push(`Fix the cause of each impossible change${areEdits ? ', or revert your edits to these rows' : ''}.`)
  }
  if (all.some(({ first }) => first.some(({ want }) => want === 'burn'))) {
    ways.push('To keep the NFTs of removed rows, omit --prune.')
  }
  if (all.some(({ reason }) => reason === NOT_DYNAMIC_REASON)) {
    ways.push(
      'gdn updates only NFTs that were minted with --dynamic. For the other NFTs, restore the former rows and files. If the collection permits burns, you can also burn these NFTs, and mint their rows again with new IDs.',
    )
  }
  if (mint > 0)
    ways.push(onlyMint === null ? ORIGINAL_MANIFEST_HINT : `To mint only the new rows, run \`${onlyMint}\`.`)
  return ways.join(' ')
}
