import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, isOutputRequested } from '../../render/output.ts'
import { eventTypes } from './event-types.ts'
import { warnOfPrivateAddress } from './warn-private.ts'
import { webhookView } from './webhook-view.ts'

export interface UpdateFlags extends OutputFlags, DataDirFlags {
  event?: string[][]
  url?: string
}

export function command(deps: Deps, run = update): GdnCommand {
  return new GdnCommand({
    about:
      'The signing secret stays the same. Pending events go to the new URL, even if the webhook was disabled. Events in flight may still go to the old URL. --event replaces the event types, but the backend still delivers pending events of other types. You can run this command while the backend is running.',
    examples: [
      [
        'Send the events to another URL',
        'gdn webhook update 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --url https://example.com/new',
      ],
      [
        'Deliver only failure events',
        'gdn webhook update 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --event nft.failed,collection.failed',
      ],
    ],
  })
    .argument('<webhook>')
    .valueFlag('--url <url>', 'New URL', notEmpty)
    .valueFlag('--event <a,b>', 'Event types to deliver; repeatable', { parse: eventTypes, repeatable: true })
    .with(addDataDirFlag, addOutputFlags)
    .action(async (id: string, flags: UpdateFlags) => await run(deps, id, flags))
}

export async function update(deps: Deps, id: string, flags: UpdateFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, webhookView(io))
  if (flags.url === undefined && flags.event === undefined) {
    throw new GdnError('usage', 'no change is specified', { hint: 'Add --url <url>, --event <a,b>, or both.' })
  }
  const { checkWebhookUrl } = await import('../../../server/admin/webhook-url.ts')
  const target = flags.url === undefined ? undefined : checkWebhookUrl(flags.url, '--url')
  const changes = { url: target?.href, events: flags.event?.flat() }
  const { updateWebhook } = await import('../../../server/admin/webhooks.ts')
  const webhook = await withBackendDatabase(deps, flags, (store) => updateWebhook(store, id, changes, deps.now()))
  if (isOutputRequested(flags)) await output.one({ ...webhook })
  io.note(`The webhook to ${safe(webhook.url)} receives ${webhook.events.join(', ')}.`)
  if (target?.isPrivate) await warnOfPrivateAddress(deps, flags)
}
