import { runBatch } from '../../src/batch/run.ts'
import { createClient } from '../../src/client/client.ts'
import { createTransport } from '../../src/client/create-transport.ts'
import { sleep } from '../../src/core/time.ts'
import { readListRows } from '../../src/manifest/list-rows.ts'
import { CONTRACT } from './simulation-rows.ts'

/** Factor by which simulated time is faster, so that no test waits for half a minute. */
const HASTE = 100

/** A process that mints a row to a list of receivers, to be killed: `node … <url> <state dir> <row> <list>`. */
const [url = '', stateDir = '', row = '', path = ''] = process.argv.slice(2)
const transport = await createTransport('bulk')
const client = createClient({ baseUrl: url, apiKey: null, transport, userAgent: 'test' })
const list = { path, merge: false, skipsContracts: false }
const summary = await runBatch(
  {
    stateDir,
    origin: url,
    blockchain: 'polygon',
    contractAddress: CONTRACT,
    manifestPath: row,
    runName: 'airdrop',
    reading: { list },
    newRows: true,
    inFlight: 8,
  },
  {
    client,
    now: () => performance.now() * HASTE,
    sleep: (ms, signal) => sleep(ms / HASTE, signal),
    pacer: { take: async () => ({ done: () => {} }), hold: () => {} },
    readManifest: () => readListRows(row, { ...list, source: { path } }, { blockchain: 'polygon', localFiles: false }),
  },
)
await client.close()
process.stdout.write(JSON.stringify(summary))
