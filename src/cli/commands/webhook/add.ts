import { EVENT_TYPES } from '../../../api/webhook-events.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import { insertBackendFlags } from '../../connect/insert-backend-flags.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { email } from '../../flags/email.ts'
import { safe } from '../../io/io.ts'
import { createOutput, isOutputRequested } from '../../render/output.ts'
import { eventTypes } from './event-types.ts'
import { warnOfPrivateAddress } from './warn-private.ts'
import { webhookView } from './webhook-view.ts'

export interface AddFlags extends OutputFlags, DataDirFlags {
  event?: string[][]
  email?: string
}

export function command(deps: Deps, run = add): GdnCommand {
  return new GdnCommand({
    about: `The backend posts each event to the URL as JSON. The header Gdn-Signature is t=<unix seconds>,v1=<hex HMAC-SHA-256 of "<t>.<body>">, with the signing secret as the key. The command prints the secret only once. The backend stores the secret in its database. The backend delivers each event at least once, in any order. A repeated event has the same Gdn-Event-Id. If the URL does not return a 2xx response within 10 seconds, the backend retries the delivery for three days. A 410 response disables the webhook. Events are ${EVENT_TYPES.join(', ')}, or * for all. You can run this command while the backend is running.`,
    examples: [
      [
        'Receive the events of NFTs',
        'gdn webhook add https://example.com/hooks/gdn \\\n  --event nft.deployed,nft.failed',
      ],
      [
        "Receive all events of a customer's account",
        "gdn webhook add https://example.com/hooks/gdn --event '*' \\\n  --email shop@example.com",
      ],
      [
        'Save the secret in a secret store',
        "gdn webhook add https://example.com/hooks/gdn --event '*' | pass insert -e gdn/hook",
      ],
    ],
  })
    .argument('<url>')
    .valueFlag('--event <a,b>', 'Event types to deliver; repeatable', { parse: eventTypes, repeatable: true })
    .valueFlag('--email <address>', 'E-mail address of the account (the local account)', email)
    .with(addDataDirFlag, addOutputFlags)
    .action(async (url: string, flags: AddFlags) => await run(deps, url, flags))
}

export async function add(deps: Deps, text: string, flags: AddFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, webhookView(io, 'signing_secret'), { shownOnce: 'signing_secret' })
  if (flags.event === undefined) {
    throw requiredFlagError(
      '--event',
      `Add --event nft.deployed,nft.failed, or '*' for all. Events are ${EVENT_TYPES.join(', ')}.`,
    )
  }
  const { checkWebhookUrl } = await import('../../../server/admin/webhook-url.ts')
  const { href: url, isPrivate } = checkWebhookUrl(text, '<url>')
  const request = { url, events: flags.event.flat(), email: flags.email, now: deps.now() }
  const { addWebhook } = await import('../../../server/admin/webhooks.ts')
  const { webhook, secret, others } = await withBackendDatabase(deps, flags, (store) => addWebhook(store, request))
  if (isOutputRequested(flags)) await output.one({ ...webhook, signing_secret: secret.disclose() })
  else await io.data(`${secret.disclose()}\n`)
  const account = webhook.email === null ? 'the local account' : safe(webhook.email)
  io.note(`This secret signs the events of the webhook ${webhook.id} of ${account}: ${webhook.events.join(', ')}.`)
  io.note(
    insertBackendFlags(
      `The secret is not shown again. To send a test event, run \`gdn webhook test ${webhook.id}\`.`,
      flags,
    ),
  )
  const [other] = others
  if (other !== undefined) {
    io.warn(
      insertBackendFlags(
        `Another webhook has the same URL. Events of types that both webhooks receive are delivered twice. To delete the other webhook, run \`gdn webhook rm ${other}\`.`,
        flags,
      ),
    )
  }
  if (isPrivate) await warnOfPrivateAddress(deps, flags)
}
