import { findRunningBackend } from '../../../config/local-backend.ts'
import { formatUtcTime } from '../../../core/time.ts'
import type { EventReceiver, ReceivedEvent } from '../../../server/admin/listen.ts'
import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, resolveAdministeredDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addJsonFlag, type CommonFlags } from '../../flags/common.ts'
import { email } from '../../flags/email.ts'
import { safe } from '../../io/io.ts'
import { formatLocalTime } from '../../text/local-time.ts'
import { VERSION } from '../../version.ts'
import { runUnlessStopped } from '../serving.ts'
import { eventTypes } from '../webhook/event-types.ts'
import { EventForwarder, type ForwardTarget, mergeTargets, parseForwardTarget } from './forwarding.ts'

const POLL_INTERVAL_MS = 250

export interface ListenFlags extends CommonFlags, DataDirFlags {
  forwardTo?: ForwardTarget[]
  event?: string[][]
  email?: string
  json?: boolean
}

export function command(deps: Deps, run = listen): GdnCommand {
  return new GdnCommand({
    about:
      'The command shows the events that webhooks receive. It reads the events from the data directory, so this machine needs no public address. With --forward-to, it posts each event to a URL as a webhook would, signed with a secret that it prints at the start. The secret is the same each time you run the command. To post only some event types to a URL, put the types before the URL, as in nft.deployed=http://localhost:3000. An unresponsive URL does not delay deliveries to other URLs. The command does not retry failed deliveries. The command runs until you press Ctrl-C, and exits with code 0.',
    examples: [
      ['Show the events', 'gdn local listen'],
      [
        'Forward the events to the application that you are developing',
        'gdn local listen --forward-to http://localhost:3000/hook',
      ],
      [
        'Forward the events of NFTs and of collections to different URLs',
        'gdn local listen --forward-to nft.deployed,nft.failed=localhost:3000/nfts \\',
        '  --forward-to collection.deployed=localhost:3000/collections',
      ],
      [
        'Print the IDs of deployed NFTs, for a script',
        "gdn local listen --event nft.deployed --json | jq -r '.data.nft_gdn_id // empty'",
      ],
    ],
  })
    .valueFlag('--forward-to <url>', 'URL to post events to, or <events>=<url>; repeatable', {
      parse: parseForwardTarget,
      repeatable: true,
    })
    .valueFlag('--event <a,b>', "Event types to show; repeatable ('*')", { parse: eventTypes, repeatable: true })
    .valueFlag('--email <address>', 'E-mail address of the account (the local account)', email)
    .with(addDataDirFlag, (own) => addJsonFlag(own, 'Print a line of JSON for each event and each response'))
    .action(async (flags: ListenFlags) => await run(deps, flags))
}

export async function listen(deps: Deps, flags: ListenFlags): Promise<void> {
  const events = flags.event?.flat() ?? ['*']
  const targets = mergeTargets(flags.forwardTo ?? [], events)
  deps.signals.own()
  const place = await resolveAdministeredDatabase(deps, flags)
  const { withDatabase } = await import('../../../server/open-database.ts')
  const { openListener } = await import('../../../server/admin/listen.ts')
  const listening = withDatabase(place, async (store) => {
    const listener = await openListener(store, {
      events,
      email: flags.email,
      userAgent: `gdn/${VERSION}`,
      now: deps.now,
    })
    try {
      await printStart(deps, flags, listener, targets)
      if (store.postgres === null && (await findRunningBackend(place.dataDir)) === null) {
        deps.io.warn('No backend is using this data directory. Run `gdn local start` to start one.')
      }
      await receiveUntilStopped(deps, flags, listener, targets)
    } finally {
      await listener.close()
    }
  })
  await runUnlessStopped(deps.signals, listening)
}

/** Prints the secret as data, because secrets in notes are redacted. */
async function printStart(
  { io }: Deps,
  { json, email: account }: ListenFlags,
  { secret }: EventReceiver,
  targets: ForwardTarget[],
): Promise<void> {
  const signing_secret = secret.disclose()
  if (json) {
    await io.data(`${JSON.stringify({ event: 'ready', signing_secret, forward_to: targets })}\n`)
  } else {
    await io.data(`Listening. Events are signed with ${signing_secret}\n`)
    if (targets.length > 0) io.note('Start your application with this secret. Each webhook has its own secret.')
    io.note(
      account === undefined
        ? 'Showing the events of the local account. To show the events of another account, add --email <address>.'
        : `Showing the events of the account ${safe(account)}.`,
    )
    for (const { url, events } of targets) {
      const eventsText = events.includes('*') ? 'events' : `the events ${events.join(', ')}`
      io.note(`Forwarding ${eventsText} to ${safe(url)}`)
    }
    io.note('Press Ctrl-C to stop.')
  }
}

async function receiveUntilStopped(deps: Deps, flags: ListenFlags, listener: EventReceiver, targets: ForwardTarget[]) {
  const { signal } = deps.signals
  const forwarding = new EventForwarder<ReceivedEvent>(targets, (event, url) =>
    forward(deps, flags, listener, event, url),
  )
  while (!signal.aborted) {
    const received = forwarding.canAdd() ? await listener.receive() : []
    for (const event of received) {
      await show(deps, flags, event)
      forwarding.add(event)
    }
    if (received.length === 0) await deps.sleep(POLL_INTERVAL_MS, signal).catch(() => {})
  }
  forwarding.stop()
}

async function show(deps: Deps, { json }: ListenFlags, { id, type, body }: ReceivedEvent): Promise<void> {
  const { io } = deps
  if (json) return await io.data(`${body}\n`)
  const { data } = JSON.parse(body) as { data: Record<string, unknown> }
  const subject = data.nft_gdn_id ?? data.transaction_gdn_id ?? ''
  const error = data.error === undefined ? '' : `  ${safe(String(data.error))}`
  await io.print(`${formatNow(deps)}  --> ${type}  ${safe(String(subject))}  [${id}]${error}\n`)
}

async function forward(deps: Deps, { json }: ListenFlags, listener: EventReceiver, event: ReceivedEvent, url: string) {
  const { status, error } = await listener.forward(event, url)
  if (deps.signals.signal.aborted) return
  if (json) {
    const line = { event: 'forwarded', id: event.id, url, response_status: status, error }
    return await deps.io.data(`${JSON.stringify(line)}\n`)
  }
  const outcome = error === null || status !== null ? `[${status}]` : `[failed: ${safe(error)}]`
  await deps.io.print(`${formatNow(deps)}  <-- ${outcome} POST ${safe(url)}  [${event.id}]\n`)
}

const formatNow = ({ io, now }: Deps) => (io.stdoutTty ? formatLocalTime(now()) : formatUtcTime(now()))
