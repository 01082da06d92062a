import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../../../src/client/client.ts'
import { createTransport } from '../../../src/client/create-transport.ts'
import { createSharedPace } from '../../../src/client/pace/shared-pace.ts'
import { createPacer } from '../../../src/client/pacer.ts'
import { Secret } from '../../../src/core/secret.ts'
import { seededFrom } from '../../helpers/seed.ts'

/** A gdn process that only sends, to be stopped and killed: `node … <url> <pace folder> single|bulk <seed>`. */
const [url = '', folder = '', kind = 'single', seed = '0'] = process.argv.slice(2)
const random = seededFrom(Number(seed))
const apiKey = new Secret('the-key')
const shared = createSharedPace({
  folders: [folder],
  origin: new URL(url).origin,
  apiKey,
  onTrouble: (error) => process.stdout.write(`trouble: ${error}\n`),
})
const pacer = createPacer({ rate: null, observed: (endpoint) => client.observedRateLimit(endpoint), shared })
const client = createClient({
  baseUrl: url,
  apiKey,
  transport: await createTransport(kind === 'bulk' ? 'bulk' : 'single'),
  userAgent: `process/${process.pid}`,
  pacer,
})

const body = new TextEncoder().encode('{}')
const send = () => client.send('createnft', body, { idempotencyKey: 'key' })

async function sendForEver(): Promise<never> {
  for (;;) {
    if (random() < 0.5) await send()
    else {
      // In the order of a batch: the slot, then the journal, then the request.
      const leave = await pacer.take('createnft')
      await pause(random() * 5)
      await send()
      leave.done()
    }
  }
}

process.stdout.write('ready\n')
await Promise.all([sendForEver(), sendForEver(), sendForEver()])
