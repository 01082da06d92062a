import type { PlannedEvent } from '../../batch/types.ts'
import { count } from '../../core/count.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { keptText } from '../render/kept-text.ts'
import { changesText, exampleText } from './changes-text.ts'

/**
 * Prints the plan of a run before it is sent, with the manifest's changes since the last time.
 *
 * @param isApplied whether the run is part of `gdn apply`, which has printed the row changes
 */
export function printPlan(
  { io }: Deps,
  { run, resumed, rows, requests, receivers, reordered, files, changes, notes = [] }: PlannedEvent,
  isApplied: boolean,
): void {
  io.note(`Run ${io.errPaint.bold(safe(run.name))}${resumed ? ', resumed' : ''}`)
  const uploads = files === 0 ? '' : `, ${count(files, 'row')} with local files`
  io.note(
    rows.pending === 0
      ? '  No rows to send'
      : `  ${count(rows.pending, 'row')} to send to ${count(receivers, 'receiver')} in ${count(requests, 'request')}${uploads}`,
  )
  const sent = rows.total - rows.pending
  if (resumed && sent > 0)
    io.note(`  ${sent} of ${count(rows.total, 'row')} ${sent === 1 ? 'was' : 'were'} sent before`)
  for (const note of notes) io.note(`  ${safe(note)}`)
  if (reordered) io.note("  Token IDs won't follow the manifest's order. Add --in-order to keep it.")
  const { added, changed, removed, keptAccepted, examples } = changes
  // `gdn apply` counts differences from the NFTs, not from the rows that the run read last.
  if (resumed && !isApplied && added + changed + removed > 0) {
    io.note(`  The manifest changed: ${changesText(changes)}.`)
    if (keptAccepted > 0) io.note(`  ${keptText(keptAccepted)}`)
    for (const example of examples.slice(0, 5)) io.note(`    ${exampleText(example)}`)
  }
}
