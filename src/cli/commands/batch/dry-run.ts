import { dryRunBatch } from '../../../batch/dry-run.ts'
import type { BatchOptions } from '../../../batch/types.ts'
import type { Settings } from '../../../config/settings.ts'
import type { ManifestItem } from '../../../manifest/read.ts'
import type { Deps } from '../../deps.ts'
import { count } from '../../waiting.ts'

/** Shows what a run would send, and sends nothing. */
export async function printBatchDryRun(
  { io }: Deps,
  options: BatchOptions,
  read: () => AsyncIterable<ManifestItem>,
  settings: Settings,
): Promise<void> {
  const { run, rows, requests, bytes, receivers, files, reordered, seconds, firstRequest } = await dryRunBatch(
    options,
    {
      readManifest: read,
    },
  )
  const { blockchain, contractAddress } = options
  const plan = {
    run: run.name,
    blockchain,
    contract_address: contractAddress,
    rows: rows.total,
    to_send: rows.pending,
    requests,
    receivers,
    bytes,
    files,
    reordered,
    seconds: Math.round(seconds * 10) / 10,
    first_request: firstRequest,
  }
  const machine = io.settings.machine && !io.stdoutTty
  await io.data(`${JSON.stringify(plan, null, machine ? undefined : 2)}\n`)
  const pace = settings.rate === null ? "at the server's rate limit" : `at ${settings.rate.value} requests a second`
  io.note(
    `${count(rows.pending, 'row')} in ${count(requests, 'request')}: ${Math.ceil(seconds)} s ${pace}. Nothing was sent.`,
  )
}
