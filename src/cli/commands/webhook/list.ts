import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import { insertBackendFlags } from '../../connect/insert-backend-flags.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { webhookView } from './webhook-view.ts'

export type ListFlags = OutputFlags & DataDirFlags

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about:
      'The list contains the webhooks of all accounts. The status is failing if deliveries have been failing for at least five minutes, and disabled after a 410 response. The counts cover the events of the last week.',
    examples: [
      ['List all webhooks', 'gdn webhook list'],
      [
        'List the webhooks that are not active, for a script',
        `gdn webhook list --json | jq '.[] | select(.status != "active")'`,
      ],
    ],
  })
    .with(addDataDirFlag, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, webhookView(deps.io))
  const { listWebhooks } = await import('../../../server/admin/webhooks.ts')
  const webhooks = await withBackendDatabase(deps, flags, (store) => listWebhooks(store, deps.now()))
  if (webhooks.length === 0)
    deps.io.note(insertBackendFlags('There are no webhooks. Run `gdn webhook add` to create one.', flags))
  await output.many(webhooks.map((webhook) => ({ ...webhook })))
}
