import { STATUS_CODES } from 'node:http'
import { isIP } from 'node:net'
import { Agent, type Dispatcher, request } from 'undici'
import { parseRetryAfter } from '../core/time.ts'
import { isPublicAddress } from './address.ts'
import { tooLarge } from './body.ts'
import { FetchFailure } from './failure.ts'
import { contentProblem } from './file-content.ts'
import { checkedLookup, type Resolve, systemResolve } from './lookup.ts'
import type { Pace } from './pace.ts'
import { explainFailure } from './reasons.ts'
import { checkTarget, type Target } from './target.ts'

const REDIRECTS = [301, 302, 303, 307, 308]
const TRY_AGAIN = [408, 425, 429]
const MAX_URL_LENGTH = 8192
/** The pause for a busy server that doesn't state one. */
const DEFAULT_PAUSE_MS = 1000
export const DEFAULT_MAX_BYTES = 64 * 2 ** 20
export const DEFAULT_TIMEOUT_MS = 30_000

export interface FetcherOptions {
  /** Development only: allows private addresses, except cloud metadata addresses, and any port. */
  allowPrivate: boolean
  /** URLs whose private addresses are always allowed, because the operator configured their server. */
  isTrusted?: (url: URL) => boolean
  /** Whether HTML pages are accepted. By default they are rejected, because they often replace a missing image. */
  allowHtml?: boolean
  /** `gdn/<version>`: all that a server learns about the client. */
  userAgent: string
  /** Maximum bytes of a file, after decompression. By default 64 MiB. */
  maxBytes?: number
  /** Milliseconds for everything: resolving, redirects, and the last byte read. By default 30 s. */
  timeoutMs?: number | undefined
  maxRedirects?: number
  /** Limits the requests to one origin, redirects included. By default there is no limit. */
  pace?: Pace | undefined
  /** Resolves host names. By default with the system's resolver. */
  lookup?: Resolve
}

/** Requests files by the rules, redirects included. */
export interface Asker {
  /** Follows redirects until another response. Each hop is checked like the first. */
  follow(
    first: Target,
    clock: Clock,
    headers?: Record<string, string>,
  ): Promise<{ target: Target; response: Dispatcher.ResponseData }>
  close(): Promise<void>
}

export function createAsker(options: FetcherOptions): Asker {
  const { allowPrivate, isTrusted, userAgent, pace, timeoutMs = DEFAULT_TIMEOUT_MS, maxRedirects = 3 } = options
  const agentOf = (mayBePrivate: boolean) =>
    new Agent({
      connect: { lookup: checkedLookup(options.lookup ?? systemResolve, mayBePrivate), timeout: timeoutMs },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
  const [agent, trustingAgent] = [agentOf(allowPrivate), agentOf(true)]
  const mayBePrivate = (url: URL) => allowPrivate || (isTrusted?.(url) ?? false)

  const ask = (target: Target, signal: AbortSignal, headers: Record<string, string>) =>
    request(target.url, {
      dispatcher: mayBePrivate(target.url) ? trustingAgent : agent,
      signal,
      headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity', ...headers },
    })

  const enter = async ({ url }: Target, clock: Clock) => {
    if (pace === undefined || (mayBePrivate(url) && isPrivateHost(url))) return
    clock.hold(await clock.paused(() => pace.enter(url.origin, clock.signal)))
  }

  /** Pauses requests to an origin that returns 429 or 503. */
  const pauseIfAsked = ({ url }: Target, response: Head) => {
    if (response.statusCode !== 429 && response.statusCode !== 503) return
    pace?.pause(url.origin, parseRetryAfter(headerOf(response, 'retry-after'), Date.now()) ?? DEFAULT_PAUSE_MS)
  }

  return {
    async follow(first, clock, headers = {}) {
      const seen = new Set<string>()
      for (let target = first; ; ) {
        const current = target
        seen.add(withoutHash(current.url))
        await clock.during(current, () => enter(current, clock))
        const response = await clock.during(current, () => ask(current, clock.signal, headers))
        pauseIfAsked(current, response)
        if (!REDIRECTS.includes(response.statusCode)) return { target, response }
        discard(response)
        // Before the next request, because a request that holds one place and waits for another could deadlock.
        clock.letGo()
        const location = response.headers.location
        if (typeof location !== 'string' || location.length > MAX_URL_LENGTH) {
          throw new FetchFailure(`${current.label} redirects without a valid location`, { lasting: true })
        }
        // Named by the first URL, because the user knows that one, and the hops between would make a long chain.
        target = checkTarget(location, mayBePrivate, { label: first.label, url: current.url })
        if (seen.has(withoutHash(target.url))) {
          throw new FetchFailure(`${first.label} redirects in a loop`, { lasting: true })
        }
        if (seen.size > maxRedirects) {
          throw new FetchFailure(`${first.label} redirects more than ${maxRedirects} times`, { lasting: true })
        }
      }
    },
    close: async () => void (await Promise.all([agent.destroy(), trustingAgent.destroy()])),
  }
}

/** The single time limit, which also turns network errors into failures with a reason. */
export interface Clock {
  signal: AbortSignal
  during<T>(target: Target, work: () => Promise<T>): Promise<T>
  /** Waits for something that isn't the server's fault, which doesn't count. */
  paused<T>(work: () => Promise<T>): Promise<T>
  /** Registers cleanup for the timeout, an abort, or the regular end. */
  hold(release: () => void): void
  letGo(): void
  stop(): void
}

export function startClock(timeoutMs: number, outer: AbortSignal | undefined): Clock {
  const timeUp = new AbortController()
  const signal = outer === undefined ? timeUp.signal : AbortSignal.any([outer, timeUp.signal])
  let left = timeoutMs
  let since = 0
  let timer: NodeJS.Timeout | undefined
  let held: (() => void) | undefined
  const run = () => {
    since = performance.now()
    timer = setTimeout(() => timeUp.abort(), left)
  }
  const release = () => {
    held?.()
    held = undefined
  }
  signal.addEventListener('abort', release, { once: true })
  run()
  return {
    signal,
    async paused(work) {
      clearTimeout(timer)
      left -= performance.now() - since
      try {
        return await work()
      } finally {
        run()
      }
    },
    hold(next) {
      held = next
    },
    letGo: release,
    async during(target, work) {
      try {
        return await work()
      } catch (error) {
        if (error instanceof FetchFailure) throw error
        if (outer?.aborted) throw outer.reason
        if (timeUp.signal.aborted) {
          const hint = 'The download will be retried. Use a faster server or a smaller file.'
          throw new FetchFailure(`${target.label} took longer than ${timeoutMs / 1000} s`, { lasting: false, hint })
        }
        throw explainFailure(error, target.label)
      }
    },
    stop() {
      clearTimeout(timer)
      signal.removeEventListener('abort', release)
      release()
    },
  }
}

interface AnswerRules {
  maxBytes: number
  allowHtml: boolean
}

type Head = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

export function checkAnswer(response: Head, label: string, { maxBytes, allowHtml }: AnswerRules): void {
  const { statusCode } = response
  if (statusCode === 204 || statusCode === 205) {
    throw new FetchFailure(`${label} returned ${statusCode} without a file`, { lasting: true })
  }
  if (statusCode !== 200 && statusCode !== 203) {
    const passing = statusCode >= 500 || TRY_AGAIN.includes(statusCode)
    const status = [statusCode, STATUS_CODES[statusCode]].join(' ').trim()
    const retryAfterMs = parseRetryAfter(headerOf(response, 'retry-after'), Date.now())
    throw new FetchFailure(`${label} returned ${status}`, { lasting: !passing, retryAfterMs })
  }
  if (!allowHtml && /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(headerOf(response, 'content-type') ?? '')) {
    throw htmlPage(label)
  }
  if (Number(headerOf(response, 'content-length') ?? 0) > maxBytes) throw tooLarge(label, maxBytes)
}

function htmlPage(label: string): FetchFailure {
  return new FetchFailure(`${label} returned an HTML page, not a file`, {
    lasting: true,
    hint: 'Use the URL of the file itself, not of a page that shows it.',
  })
}

/** Throws for first bytes of content that must not be stored. */
export function checkHead(head: Uint8Array, label: string, rules: Pick<AnswerRules, 'allowHtml'>): void {
  const problem = contentProblem(head, rules)
  if (problem === 'an HTML page') throw htmlPage(label)
  if (problem !== null) throw new FetchFailure(`${label} returned ${problem}`, { lasting: true })
}

/** Whether a URL itself points to this machine or its network. Allowing it is a deliberate choice. */
function isPrivateHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && !isPublicAddress(host))
}

/** Returns a header's value; of a repeated header, the first. */
export function headerOf(response: Pick<Head, 'headers'>, name: string): string | undefined {
  const value = response.headers[name]
  return Array.isArray(value) ? value[0] : value
}

function withoutHash(url: URL): string {
  return url.href.replace(/#.*$/s, '')
}

/** Ends a transfer whose content isn't needed, and ignores its error. */
export function discard(response: Dispatcher.ResponseData | undefined): void {
  response?.body.on('error', () => undefined).destroy()
}
