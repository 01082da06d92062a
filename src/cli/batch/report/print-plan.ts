import type { BatchOptions, PlannedEvent } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import { shortPath } from '../../../core/short-path.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { differingRowsText, removedReceiversText, removedTexts } from '../../render/differing-rows-text.ts'
import type { BatchMintFlags } from '../options/flags.ts'
import { formatPlanCommand } from '../options/format-flags.ts'
import { changesText, exampleText } from './changes-text.ts'

interface PlanPrintOptions {
  options: Pick<BatchOptions, 'manifestPath'>
  flags: BatchMintFlags
  /** Whether the run is part of `gdn apply`, which has printed the row changes. */
  isApplied?: boolean | undefined
}

/**
 * Prints the plan of a run before it is sent, including the changes to the manifest since the run last read it.
 *
 * @param where the collection and the blockchain, such as `Tides (0xaab8d6…0811) on polygon`
 */
export function printPlan(
  { io, cwd }: Pick<Deps, 'io' | 'cwd'>,
  planned: PlannedEvent,
  where: string,
  sending: PlanPrintOptions,
): void {
  const { isApplied = false } = sending
  const { run, resumed, rows, requests, receivers, files, changes } = planned
  io.note(`Run ${io.errPaint.bold(safe(run.name))} in ${safe(where)}${resumed ? ', resumed' : ''}`)
  const uploads = files === 0 ? '' : ` (${count(files, 'row')} ${files === 1 ? 'has' : 'have'} local files)`
  io.note(
    rows.pending === 0
      ? '  No rows to send'
      : `  ${count(rows.pending, 'row')} to send to ${count(receivers, 'receiver')} in ${count(requests, 'request')}${uploads}`,
  )
  const sentRows = rows.total - rows.pending
  if (resumed && sentRows > 0)
    io.note(`  ${sentRows} of ${count(rows.total, 'row')} ${sentRows === 1 ? 'was' : 'were'} sent before`)
  for (const note of describePlan(planned, sending, cwd)) io.note(`  ${safe(note)}`)
  if (!isEdited(planned, isApplied)) return
  io.note(`  The ${changes.receivers === undefined ? 'manifest' : 'list'} changed: ${changesText(changes)}.`)
  for (const example of changes.examples.slice(0, 5)) io.note(`    ${exampleText(example)}`)
}

// The changes that `gdn apply` counts are relative to the NFTs, not to the rows that the run last read.
const isEdited = ({ resumed, changes: { added, changed, removed } }: PlannedEvent, isApplied: boolean): boolean =>
  resumed && !isApplied && added + changed + removed > 0

/** Returns the notes that are printed before a run is sent. The run's summary contains them too. */
export function describePlan(
  planned: PlannedEvent,
  { isApplied = false, options, flags }: PlanPrintOptions,
  cwd: string,
): string[] {
  const { changes } = planned
  const { keptAccepted, removed, receivers } = changes
  const edited = isEdited(planned, isApplied)
  const plan = formatPlanCommand(options.manifestPath && shortPath(options.manifestPath, cwd), flags)
  return [
    ...(planned.notes ?? []),
    ...(planned.reordered ? ["Token IDs won't follow the manifest's order. Add --in-order to keep the order."] : []),
    ...(edited && keptAccepted > 0 ? [differingRowsText(keptAccepted, plan)] : []),
    ...(edited && removed > 0
      ? receivers === undefined
        ? removedTexts(changes, plan)
        : [removedReceiversText(removed)]
      : []),
  ]
}
