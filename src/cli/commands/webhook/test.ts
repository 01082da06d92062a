import type { EventType } from '../../../api/webhook-events.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { DELIVERY_VIEW } from './webhook-view.ts'

/** Maximum time to wait for the delivery. An attempt takes at most 10 s, and the backend polls twice a second. */
const WAIT_MS = 15_000
const POLL_INTERVAL_MS = 150

export type TestFlags = OutputFlags & DataDirFlags

export function command(deps: Deps, run = test): GdnCommand {
  return new GdnCommand({
    about:
      'The backend sends the event webhook.test once, even if the webhook does not subscribe to it. The exit code is 5 if the receiver does not accept the event, and 8 if no backend sends it.',
    examples: [['Check that the receiver responds', 'gdn webhook test 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d']],
  })
    .argument('<webhook>')
    .with(addDataDirFlag, addOutputFlags)
    .action(async (id: string, flags: TestFlags) => await run(deps, id, flags))
}

export async function test(deps: Deps, id: string, flags: TestFlags, type?: EventType): Promise<void> {
  const output = createOutput(deps.io, flags, DELIVERY_VIEW)
  const { showDelivery, testWebhook } = await import('../../../server/admin/webhooks.ts')
  const delivery = await withBackendDatabase(deps, flags, async (store) => {
    const eventId = await testWebhook(store, id, type)
    let current = await showDelivery(store, id, eventId)
    for (let waited = 0; current.state === 'waiting' && waited < WAIT_MS; waited += POLL_INTERVAL_MS) {
      await deps.sleep(POLL_INTERVAL_MS, deps.signals.signal)
      current = await showDelivery(store, id, eventId)
    }
    return current
  })
  if (delivery.state === 'waiting') {
    throw new GdnError('pending', 'no backend has sent the test event yet', {
      hint: 'Start the backend with `gdn serve` or `gdn local start`.',
      details: { event_id: delivery.event_id },
    })
  }
  await output.one({ ...delivery })
  if (delivery.state === 'failed') {
    throw new GdnError('refused', `the receiver did not accept the test event: ${delivery.error}`, {
      hint:
        delivery.response_status === null
          ? 'There was no response. For a URL on this machine, use `gdn local listen --forward-to <url>`.'
          : `Run \`gdn webhook deliveries ${id}\` to show the response.`,
    })
  }
}
