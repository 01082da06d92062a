import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, onDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { WEBHOOK_VIEW } from './webhook-view.ts'

export type ListFlags = OutputFlags & DataDirFlags

export function command(deps: Deps, run = list): GdnCommand {
  const listCommand = new GdnCommand({
    about:
      'Of all accounts. failing: nothing was taken for five minutes and more; disabled: the receiver answered 410. Counts are of events of the last week.',
    examples: [
      ['All of them', 'gdn webhook list'],
      ['Those in trouble, for a script', `gdn webhook list --json | jq '.[] | select(.status != "active")'`],
    ],
  })
  addDataDirFlag(listCommand)
  addOutputFlags(listCommand)
  return listCommand.action(async (flags: ListFlags) => await run(deps, flags)) as GdnCommand
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, WEBHOOK_VIEW)
  const { getWebhooks } = await import('../../../server/admin/webhooks.ts')
  const webhooks = await onDatabase(deps, flags, (store) => getWebhooks(store, deps.now()))
  if (webhooks.length === 0) deps.io.note('There are no webhooks: gdn webhook add makes one.')
  await output.many(webhooks.map((webhook) => ({ ...webhook })))
}
