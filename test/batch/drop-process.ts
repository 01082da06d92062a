import { runBatch } from '../../src/batch/run.ts'
import { runResults } from '../../src/batch/runs/run-rows.ts'
import { openRun } from '../../src/batch/runs/runs.ts'
import type { BatchOptions } from '../../src/batch/types.ts'
import { createClient } from '../../src/client/client.ts'
import { createTransport } from '../../src/client/create-transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { sleep } from '../../src/core/time.ts'
import { readManifest } from '../../src/manifest/read.ts'

/** One run of a manifest, as given to a process. */
export interface DropJob {
  url: string
  apiKey: string
  options: Pick<BatchOptions, 'stateDir' | 'origin' | 'contractAddress' | 'chunkSize' | 'inFlight' | 'inOrder'> & {
    manifestPath: string
  }
}

/** The result: the ID of each row by its line, or the code of an error. */
export type DropEnd = { ids: Record<number, string> } | { error: string }

/** Factor by which simulated time is faster. The server under test responds at once. */
const HASTE = 100

/** Runs the requested drops one after the other, until the process is killed. */
process.on('message', async (job: DropJob) => process.send?.(await run(job)))
process.on('disconnect', () => process.exit())

async function run({ url, apiKey, options }: DropJob): Promise<DropEnd> {
  const { manifestPath, stateDir } = options
  const transport = await createTransport('bulk')
  const client = createClient({ baseUrl: url, apiKey: new Secret(apiKey), transport, userAgent: 'gdn/test' })
  try {
    const { run: ref, counts } = await runBatch(
      { ...options, blockchain: 'polygon', wait: false },
      {
        client,
        pacer: { take: async () => ({ done: () => {} }), hold: () => {} },
        readManifest: () => readManifest({ path: manifestPath }, { blockchain: 'polygon', localFiles: false }),
        sleep: (ms, signal) => sleep(ms / HASTE, signal),
      },
    )
    if (counts.accepted + counts.deployed < counts.total) return { error: JSON.stringify(counts) }
    return { ids: await idsOf(stateDir, ref.id) }
  } catch (error) {
    if (!(error instanceof GdnError)) return { error: String(error) }
    if (error.code !== 'run_finished') return { error: error.code }
    return { ids: await idsOf(stateDir, (error.details as { run_id: string }).run_id) }
  } finally {
    await client.close()
  }
}

async function idsOf(stateDir: string, run: string): Promise<Record<number, string>> {
  const ids: Record<number, string> = {}
  for await (const row of runResults(await openRun(stateDir, run))) ids[row.line] = row.nft_gdn_id ?? ''
  return ids
}
