import { createClient } from '../../src/client/client.ts'
import { createTransport } from '../../src/client/create-transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { sleep } from '../../src/core/time.ts'
import { operate } from '../../src/operations/operate.ts'
import { openState } from '../../src/state/open-state.ts'

/** A process that runs one command and leaves it unfinished: `node … <state directory> <url> <round>`. */
const [stateDir = '', url = '', round = ''] = process.argv.slice(2)
const contract = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const request = {
  contract_address: contract,
  blockchain: 'polygon',
  receiver_wallet_address: contract,
  metadata: [{ title: `Round ${round}`, description: '', file_fields: [] }],
}
const apiKey = new Secret('the-key')
const client = createClient({ baseUrl: url, apiKey, transport: await createTransport('single'), userAgent: 'gdn/test' })
try {
  const state = await openState(stateDir)
  await operate(
    {
      state,
      client,
      now: Date.now,
      // These tests don't cover a listing that lags.
      sleep: (ms, signal) => sleep(ms / 50, signal),
      signal: new AbortController().signal,
      onEvent: () => {},
    },
    {
      endpoint: 'createnft',
      origin: url,
      blockchain: 'polygon',
      contract,
      content: request,
      note: 'nft mint',
      again: false,
      operationId: null,
      backend: { url, id: null, incarnation: null, silence: null, isLocal: false },
      mayForget: false,
      request: async () => request,
    },
    async () => ({ ended: false, state: null, problem: null }),
  )
  process.stdout.write('accepted\n')
} catch (error) {
  process.stdout.write(`${error instanceof GdnError ? error.code : error}\n`)
}
process.exit(0)
