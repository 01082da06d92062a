import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, integer, type OutputFlags, oneOf } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { DELIVERY_VIEW } from './webhook-view.ts'

const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const
const DEFAULT_LIMIT = 50

export interface DeliveriesFlags extends OutputFlags, DataDirFlags {
  state?: (typeof DELIVERY_STATES)[number]
  limit?: number
}

export function command(deps: Deps, run = deliveries): GdnCommand {
  return new GdnCommand({
    about:
      'The list starts with the latest event. The backend stores events for a week, with the first 200 characters of the response. A delivery in the state `waiting` may be a retry. The backend does not retry a delivery in the state `failed`.',
    examples: [
      ['List the failed deliveries', 'gdn webhook deliveries 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --state failed'],
      ['Print the responses, for a script', "gdn webhook deliveries ID --json | jq -r '.[].response'"],
    ],
  })
    .argument('<webhook>')
    .valueFlag(
      '--state <state>',
      `Show only deliveries in this state: ${DELIVERY_STATES.join(', ')}`,
      oneOf(DELIVERY_STATES),
    )
    .valueFlag('--limit <n>', `Maximum number of deliveries (${DEFAULT_LIMIT})`, integer(1, 100_000))
    .with(addDataDirFlag, addOutputFlags)
    .action(async (id: string, flags: DeliveriesFlags) => await run(deps, id, flags))
}

export async function deliveries(deps: Deps, id: string, flags: DeliveriesFlags): Promise<void> {
  const output = createOutput(deps.io, flags, DELIVERY_VIEW)
  const { state, limit = DEFAULT_LIMIT } = flags
  const { listDeliveries } = await import('../../../server/admin/webhooks.ts')
  const records = await withBackendDatabase(deps, flags, (store) => listDeliveries(store, id, { state, limit }))
  if (records.length === 0) deps.io.note('No deliveries found.')
  await output.many(records.map((delivery) => ({ ...delivery })))
}
