import { runningBackend } from '../../../config/local-backend.ts'
import { GdnError } from '../../../core/errors.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import type { Listener, ReceivedEvent } from '../../../server/admin/listen.ts'
import { GdnCommand, type Parse, valueFlag } from '../../command.ts'
import { addDataDirFlag, administeredPlace, type DataDirFlags } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addJsonFlag, type CommonFlags } from '../../flags/common.ts'
import { email } from '../../flags/email.ts'
import { safe } from '../../io/io.ts'
import { VERSION } from '../../version.ts'
import { unlessStopped } from '../serving.ts'
import { eventTypes } from '../webhook/event-flag.ts'

const LOOK_EVERY_MS = 250
const FORWARD_AT_ONCE = 4

export interface ListenFlags extends CommonFlags, DataDirFlags {
  forwardTo?: string
  event?: string[][]
  email?: string
  json?: boolean
}

export function command(deps: Deps, run = listen): GdnCommand {
  const listenCommand = new GdnCommand({
    about:
      'Shows the events that webhooks get. They are read from the data directory, so this machine needs no public address. With --forward-to, each event is posted as a webhook would be, signed with the secret that is printed at the start. The secret stays the same. Failed deliveries are not retried. Runs until Ctrl-C, with exit code 0.',
    examples: [
      ['Show the events', 'gdn local listen'],
      ['Forward them to the application that you work on', 'gdn local listen --forward-to http://localhost:3000/hook'],
      [
        'Show NFTs only, for a script',
        "gdn local listen --event nft.deployed --json | jq -r '.data.nft_gdn_id // empty'",
      ],
    ],
  })
  valueFlag(listenCommand, '--forward-to <url>', 'URL to post each event to', { parse: address })
  valueFlag(listenCommand, '--event <a,b>', "Event types to show; repeatable ('*')", {
    parse: eventTypes,
    repeatable: true,
  })
  valueFlag(listenCommand, '--email <address>', 'E-mail address of the account (the local account)', { parse: email })
  addDataDirFlag(listenCommand)
  addJsonFlag(listenCommand, 'Print a line of JSON for each event and each response')
  return listenCommand.action(async (flags: ListenFlags) => await run(deps, flags)) as GdnCommand
}

/** Accepts `localhost:3000/hook`, which people type without a scheme. */
const address: Parse<string> = (raw, flag) => {
  const url = parseUrl(/^https?:\/\//i.test(raw) ? raw : `http://${raw}`)
  if (url !== null && url.hostname !== '' && url.username === '' && url.password === '') return url.href
  throw new GdnError('usage', 'is not a URL that events can be posted to', {
    place: { flag },
    hint: 'Use a URL such as http://localhost:3000/hook.',
  })
}

export async function listen(deps: Deps, flags: ListenFlags): Promise<void> {
  deps.signals.own()
  const place = await administeredPlace(deps, flags)
  const { administrate } = await import('../../../server/administration.ts')
  const { openListener } = await import('../../../server/admin/listen.ts')
  const listening = administrate(place, async (store) => {
    const events = flags.event?.flat() ?? ['*']
    const listener = await openListener(store, {
      ...{ events, email: flags.email, userAgent: `gdn/${VERSION}`, now: deps.now },
    })
    try {
      await begin(deps, flags, listener)
      if (store.postgres === null && (await runningBackend(place.dataDir)) === null) {
        deps.io.warn('No backend is running on this data directory. Run `gdn local start` to start one.')
      }
      await receiveUntilStopped(deps, flags, listener)
    } finally {
      await listener.close()
    }
  })
  await unlessStopped(deps.signals, listening)
}

/** Prints the secret as data, because notes redact secrets. */
async function begin({ io }: Deps, { json, forwardTo }: ListenFlags, { secret }: Listener): Promise<void> {
  const signing_secret = secret.disclose()
  if (json) {
    await io.data(`${JSON.stringify({ event: 'ready', signing_secret, forward_to: forwardTo ?? null })}\n`)
  } else {
    await io.data(`Listening. Events are signed with ${signing_secret}\n`)
    if (forwardTo !== undefined) io.note(`Events are forwarded to ${safe(forwardTo)}`)
    io.note('Press Ctrl-C to stop.')
  }
}

async function receiveUntilStopped(deps: Deps, flags: ListenFlags, listener: Listener): Promise<void> {
  const { signal } = deps.signals
  const waiting: ReceivedEvent[] = []
  const forwardAll = async () => {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
      await forward(deps, flags, listener, next)
    }
  }
  while (!signal.aborted) {
    const received = await listener.receive()
    for (const event of received) await show(deps, flags, event)
    if (flags.forwardTo !== undefined) {
      waiting.push(...received)
      await Promise.all(Array.from({ length: FORWARD_AT_ONCE }, forwardAll))
    }
    if (received.length === 0) await deps.sleep(LOOK_EVERY_MS, signal).catch(() => {})
  }
}

async function show({ io, now }: Deps, { json }: ListenFlags, { id, type, body }: ReceivedEvent): Promise<void> {
  if (json) return await io.data(`${body}\n`)
  const { data } = JSON.parse(body) as { data: Record<string, unknown> }
  const subject = data.nft_gdn_id ?? data.transaction_gdn_id ?? ''
  const error = data.error === undefined ? '' : `  ${safe(String(data.error))}`
  await io.read(`${time(now())}  --> ${type}  ${safe(String(subject))}  [${id}]${error}\n`)
}

async function forward(deps: Deps, { json, forwardTo = '' }: ListenFlags, listener: Listener, event: ReceivedEvent) {
  const { status, error } = await listener.forward(event, forwardTo)
  if (deps.signals.signal.aborted) return
  if (json) {
    const line = { event: 'forwarded', id: event.id, url: forwardTo, response_status: status, error }
    return await deps.io.data(`${JSON.stringify(line)}\n`)
  }
  const outcome = error === null || status !== null ? `[${status}]` : `[failed: ${safe(error)}]`
  await deps.io.read(`${time(deps.now())}  <-- ${outcome} POST ${safe(forwardTo)}  [${event.id}]\n`)
}

const time = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
