import type { runBatch } from '../../../batch/run.ts'
import type { BatchOptions, PlannedEvent } from '../../../batch/types.ts'
import type { Settings } from '../../../config/settings.ts'
import type { ManifestItem } from '../../../manifest/read.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io.ts'
import type { Output } from '../../output.ts'
import { confirmSpending } from '../../real-network.ts'
import { count } from '../../waiting.ts'
import type { BatchMintFlags } from './flags.ts'
import { BatchProgress } from './progress.ts'
import { complaintOf, summaryData, tellNext } from './summary.ts'

/** More than the pacer lets out: it alone decides. */
const IN_FLIGHT = 8

interface Sending {
  settings: Settings
  options: BatchOptions
  /** Null goes on with the rows as they were kept. */
  read: (() => AsyncIterable<ManifestItem>) | null
  output: Output
  flags: Pick<BatchMintFlags, 'yes' | 'rate'>
  run: typeof runBatch
}

/** Sends a run with progress for people, prints its summary, and throws what is to be complained about. */
export async function sendRun(deps: Deps, { settings, options, read, output, flags, run }: Sending): Promise<void> {
  const { io, signals } = deps
  const { client, server, pacer } = await deps.connect(settings, 'bulk')
  const progress = new BatchProgress(io, signals)
  try {
    await progress.start()
    const summary = await run(
      { ...options, inFlight: IN_FLIGHT, signal: signals.signal },
      {
        client,
        pacer,
        readManifest: read,
        onEvent: (event) => progress.tell(event),
        confirm: async (planned) => {
          const rows = planned.rows.pending
          if (rows === 0) return
          progress.stop()
          tellPlan(deps, planned)
          await confirmSpending(
            io,
            flags.yes,
            options.blockchain,
            server,
            `Mint ${count(rows, 'NFT')} for ${count(planned.receivers, 'receiver')}`,
          )
          await progress.start()
        },
      },
    )
    progress.stop()
    await output.one(summaryData(summary, options))
    const complaint = complaintOf(summary)
    if (complaint !== null) throw complaint
    if (!io.stdoutTty || output.mode !== 'table') tellNext(io, summary)
  } finally {
    progress.stop()
    await client.close()
  }
}

/** What is about to happen, before it does; above all what differs from the last time. */
function tellPlan(
  { io }: Deps,
  { run, resumed, rows, requests, receivers, reordered, files, changes }: PlannedEvent,
): void {
  io.note(`Run ${io.errPaint.bold(safe(run.name))}${resumed ? ', resumed' : ''}`)
  const uploads = files === 0 ? '' : `, ${count(files, 'row')} with local files`
  io.note(
    `  ${count(rows.pending, 'row')} to send to ${count(receivers, 'receiver')} in ${count(requests, 'request')}${uploads}`,
  )
  if (resumed) io.note(`  ${rows.total - rows.pending} of ${rows.total} rows were sent before`)
  if (reordered) io.note("  Token ids won't follow the manifest's order; --in-order keeps it")
  const { added, changed, removed, keptAccepted, examples } = changes
  if (resumed && added + changed + removed > 0) {
    io.note(`  The manifest changed: ${added} rows added, ${changed} changed, ${removed} removed.`)
    if (keptAccepted > 0)
      io.note(`  ${count(keptAccepted, 'changed row')} had been minted already and won't be minted again.`)
    for (const { kind, key, line } of examples.slice(0, 5)) io.note(`    ${kind}: ${safe(key)} (line ${line})`)
  }
}
