import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, isOutputRequested } from '../../render/output.ts'
import { webhookView } from './webhook-view.ts'

export interface RmFlags extends OutputFlags, DataDirFlags {
  yes?: boolean
}

export function command(deps: Deps, run = rm): GdnCommand {
  return new GdnCommand({
    about:
      'The command also deletes the signing secret and the pending events of the webhook. You can run this command while the backend is running. In a terminal, gdn prompts for confirmation. In a script, add --yes.',
    examples: [
      ['Delete a webhook by ID', 'gdn webhook rm 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['Delete a webhook in a script', 'gdn webhook rm 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --yes'],
    ],
  })
    .argument('<webhook>')
    .switchFlag('-y, --yes', "Don't prompt")
    .with(addDataDirFlag, addOutputFlags)
    .action(async (id: string, flags: RmFlags) => await run(deps, id, flags))
}

export async function rm(deps: Deps, id: string, flags: RmFlags): Promise<void> {
  const output = createOutput(deps.io, flags, webhookView(deps.io))
  const { removeWebhook, showWebhook } = await import('../../../server/admin/webhooks.ts')
  if (!flags.yes) {
    const { url } = await withBackendDatabase(deps, flags, (store) => showWebhook(store, id, deps.now()))
    const question = `Delete the webhook to ${safe(url)}, its signing secret and its pending events?`
    await deps.io.confirm(question, '--yes', { message: 'nothing was deleted' })
  }
  const webhook = await withBackendDatabase(deps, flags, (store) => removeWebhook(store, id, deps.now()))
  if (isOutputRequested(flags)) await output.one({ ...webhook })
  deps.io.note(`Deleted the webhook to ${safe(webhook.url)}.`)
}
