import { runBatch } from '../../src/batch/run.ts'
import { createClient } from '../../src/client/client.ts'
import { createTransport } from '../../src/client/create-transport.ts'
import { sleep } from '../../src/core/time.ts'
import { CONTRACT, rowsUpTo } from './simulation-rows.ts'

/** How much faster time goes by than it does: nobody waits half a minute for a test. */
const HASTE = 100

/** A process of its own that runs a batch of numbered rows, to be killed: `node … <url> <state dir> <rows>`. */
const [url = '', stateDir = '', rows = '0'] = process.argv.slice(2)
const transport = await createTransport('bulk')
const client = createClient({ baseUrl: url, apiKey: null, transport, userAgent: 'test' })
const summary = await runBatch(
  { stateDir, origin: url, blockchain: 'polygon', contractAddress: CONTRACT, manifestPath: '/drop.csv', chunkSize: 2 },
  {
    client,
    now: () => performance.now() * HASTE,
    sleep: (ms, signal) => sleep(ms / HASTE, signal),
    pacer: { take: async () => ({ done: () => {} }), hold: () => {} },
    async *readManifest() {
      for (const row of rowsUpTo(Number(rows))) yield { row }
    },
  },
)
await client.close()
process.stdout.write(JSON.stringify(summary))
