import { EVENT_TYPES } from '../../../api/webhook-events.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import type { Parse } from '../../command.ts'
import { eventTypes } from '../webhook/event-types.ts'

/** A URL, and the event types to forward to it. */
export interface ForwardTarget {
  url: string
  events: readonly string[]
}

/** Matches event types before the first `=`. The value is a bare URL if `:`, `/` or `?` precedes the first `=`. */
const EVENT_MAPPING = /^([\w*][\w.,* -]*)=(.*)$/s

/** Parses `<url>` (all events) or `<events>=<url>`. */
export const parseForwardTarget: Parse<ForwardTarget> = (raw, flag) => {
  const [, events, url = ''] = EVENT_MAPPING.exec(raw) ?? []
  return events === undefined
    ? { url: parseForwardUrl(raw, flag), events: ['*'] }
    : { url: parseForwardUrl(url, flag), events: eventTypes(events, flag) }
}

/** Accepts a URL without a scheme, such as `localhost:3000/hook`. */
const parseForwardUrl: Parse<string> = (raw, flag) => {
  const url = parseUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(raw) ? raw : `http://${raw}`)
  const isWeb = url !== null && /^https?:$/.test(url.protocol) && /^[\w.:[\]-]+$/.test(url.hostname)
  if (isWeb && url.username === '' && url.password === '') return url.href
  throw new GdnError('usage', 'is not an http(s) URL that gdn can post events to', {
    place: { flag },
    hint: 'Use a URL such as http://localhost:3000/hook, or nft.deployed=http://localhost:3000/hook.',
  })
}

const includesEvent = (type: string, events: readonly string[]) => events.includes('*') || events.includes(type)

/**
 * Returns one target for each URL, with all event types that the flags specify for this URL.
 *
 * @param listened the event types that are shown
 * @throws GdnError `usage` if another event type is specified
 */
export function mergeTargets(targets: readonly ForwardTarget[], listened: readonly string[]): ForwardTarget[] {
  const byUrl = new Map<string, Set<string>>()
  for (const { url, events } of targets) {
    const unheard = events.find((type) => type !== '*' && !includesEvent(type, listened))
    if (unheard !== undefined) {
      throw flagError('--forward-to', `${unheard} is not in --event`, 'Add the event type to --event, or omit --event.')
    }
    byUrl.set(url, new Set([...(byUrl.get(url) ?? []), ...events]))
  }
  return [...byUrl].map(([url, events]) => ({
    url,
    events: events.has('*') ? ['*'] : EVENT_TYPES.filter((type) => events.has(type)),
  }))
}

const MAX_CONCURRENT_POSTS = 4
/** Maximum number of queued events for one URL. When a queue is full, no more events are received. */
const MAX_QUEUED_EVENTS = 10_000

/** Posts events to URLs. Each URL has its own queue, so an unresponsive URL doesn't delay the others. */
export class EventForwarder<Event extends { type: string }> {
  readonly #queues: { target: ForwardTarget; waiting: Event[]; active: number }[]
  readonly #post: (event: Event, url: string) => Promise<void>
  #failure: { error: unknown } | null = null

  constructor(targets: readonly ForwardTarget[], post: (event: Event, url: string) => Promise<void>) {
    this.#queues = targets.map((target) => ({ target, waiting: [], active: 0 }))
    this.#post = post
  }

  /** Returns whether more events can be added. Rethrows the first error of an earlier post. */
  canAdd(): boolean {
    if (this.#failure !== null) throw this.#failure.error
    return this.#queues.every(({ waiting }) => waiting.length < MAX_QUEUED_EVENTS)
  }

  add(event: Event): void {
    for (const queue of this.#queues) {
      if (!includesEvent(event.type, queue.target.events)) continue
      queue.waiting.push(event)
      if (queue.active < MAX_CONCURRENT_POSTS) void this.#postQueued(queue)
    }
  }

  async #postQueued(queue: { target: ForwardTarget; waiting: Event[]; active: number }): Promise<void> {
    queue.active++
    try {
      for (let next = queue.waiting.shift(); next !== undefined; next = queue.waiting.shift()) {
        await this.#post(next, queue.target.url)
      }
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      queue.active--
    }
  }

  /** Discards the queued events. */
  stop(): void {
    for (const { waiting } of this.#queues) waiting.length = 0
  }
}
