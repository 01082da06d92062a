import { runBatch } from '../../src/batch/run.ts'
import { createClient } from '../../src/client/client.ts'
import { createTransport } from '../../src/client/create-transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { sleep } from '../../src/core/time.ts'
import { CONTRACT, rowsUpTo } from './simulation-rows.ts'

/** Factor by which simulated time is faster, so that no test waits for half a minute. */
const HASTE = 100

/**
 * A process that runs a batch of numbered rows, to be killed: `node … <url> <state dir> <rows> [manifest] [ms]
 * [retry]`. It confirms its prompt after this many milliseconds, and prints the summary, or the code of the error. With
 * `failed` it retries failed rows, with `absent` absent rows as well.
 */
const [url = '', stateDir = '', rows = '0', manifestPath = '/drop.csv', promptMs = '0', retry] = process.argv.slice(2)
const transport = await createTransport('bulk')
const client = createClient({ baseUrl: url, apiKey: null, transport, userAgent: 'test' })
const summary = await runBatch(
  {
    stateDir,
    origin: url,
    blockchain: 'polygon',
    contractAddress: CONTRACT,
    manifestPath,
    chunkSize: 2,
    inFlight: 2,
    retryFailed: retry !== undefined,
    retryAbsent: retry === 'absent',
  },
  {
    client,
    now: () => performance.now() * HASTE,
    sleep: (ms, signal) => sleep(ms / HASTE, signal),
    confirm: () => sleep(Number(promptMs)),
    pacer: { take: async () => ({ done: () => {} }), hold: () => {} },
    async *readManifest() {
      for (const row of rowsUpTo(Number(rows))) yield { row }
    },
  },
).catch((error: unknown) => {
  if (!(error instanceof GdnError)) throw error
  return { error: error.code }
})
await client.close()
process.stdout.write(JSON.stringify(summary))
