import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { webhookView } from './webhook-view.ts'

export type ShowFlags = OutputFlags & DataDirFlags

export function command(deps: Deps, run = show): GdnCommand {
  return new GdnCommand({
    about: 'The output does not contain the secret, which was shown only when the webhook was created.',
    examples: [['Show a webhook by ID', 'gdn webhook show 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d']],
  })
    .argument('<webhook>')
    .with(addDataDirFlag, addOutputFlags)
    .action(async (id: string, flags: ShowFlags) => await run(deps, id, flags))
}

export async function show(deps: Deps, id: string, flags: ShowFlags): Promise<void> {
  const output = createOutput(deps.io, flags, webhookView(deps.io))
  const { showWebhook } = await import('../../../server/admin/webhooks.ts')
  await output.one({
    ...(await withBackendDatabase(deps, flags, (store) => showWebhook(store, id, deps.now()))),
  })
}
