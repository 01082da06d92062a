import { STATUS_CODES } from 'node:http'
import { isIP } from 'node:net'
import { Agent, type Dispatcher, request } from 'undici'
import { isTemporaryStatus } from '../core/http-status.ts'
import { parseRetryAfter } from '../core/time.ts'
import { isPublicAddress } from './address.ts'
import { tooLargeError } from './body.ts'
import { FetchFailure } from './failure.ts'
import { toFetchFailure } from './fetch-error.ts'
import { contentProblem } from './file-content.ts'
import { createCheckedLookup, type Resolve, systemResolve } from './lookup.ts'
import type { Pace } from './pace.ts'
import { checkTarget, type FileTarget } from './target.ts'

const REDIRECT_STATUSES = [301, 302, 303, 307, 308]
const MAX_URL_LENGTH = 8192
/** The pause in milliseconds if a busy server doesn't specify a pause. */
const DEFAULT_PAUSE_MS = 1000
export const DEFAULT_MAX_BYTES = 64 * 2 ** 20
export const DEFAULT_FILE_TIMEOUT_MS = 30_000

export interface FetcherOptions {
  /**
   * Whether to allow private addresses and any port, for development. Cloud metadata addresses are always forbidden.
   */
  allowPrivate: boolean
  /** Returns whether a URL may always have a private address, because the operator configured its server. */
  isTrusted?: (url: URL) => boolean
  /** Whether to accept HTML pages. Default: false, because servers often return a page in place of a missing image. */
  allowHtml?: boolean
  /** The user agent `gdn/<version>`. Requests contain no other information about the client. */
  userAgent: string
  /** Maximum size of a file in bytes, after decompression. Default: 64 MiB. */
  maxBytes?: number
  /** Total time in milliseconds for name resolution, redirects and the transfer. Default: 30 s. */
  timeoutMs?: number | undefined
  maxRedirects?: number
  /** Limits the requests to each origin, including redirects. Default: no limit. */
  pace?: Pace | undefined
  /** Resolves host names. Default: the system's resolver. */
  lookup?: Resolve
}

/** Requests files and follows redirects according to the options. */
export interface FileRequester {
  /**
   * Sends a request, and follows redirects until a response isn't a redirect. Checks each redirect target like the
   * first URL.
   *
   * @param post the body of a POST request, which is sent again after every redirect. Default: a GET request
   */
  follow(
    first: FileTarget,
    timeLimit: TimeLimit,
    headers?: Record<string, string>,
    post?: string,
  ): Promise<{ target: FileTarget; response: Dispatcher.ResponseData }>
  close(): Promise<void>
}

export function createFileRequester(options: FetcherOptions): FileRequester {
  const { allowPrivate, isTrusted, userAgent, pace, timeoutMs = DEFAULT_FILE_TIMEOUT_MS, maxRedirects = 3 } = options
  const agentOf = (mayBePrivate: boolean) =>
    new Agent({
      connect: { lookup: createCheckedLookup(options.lookup ?? systemResolve, mayBePrivate), timeout: timeoutMs },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
  const [agent, trustingAgent] = [agentOf(allowPrivate), agentOf(true)]
  const mayBePrivate = (url: URL) => allowPrivate || (isTrusted?.(url) ?? false)

  const ask = (target: FileTarget, signal: AbortSignal, headers: Record<string, string>, post: string | undefined) =>
    request(target.url, {
      method: post === undefined ? 'GET' : 'POST',
      body: post ?? null,
      dispatcher: mayBePrivate(target.url) ? trustingAgent : agent,
      signal,
      headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity', ...headers },
    })

  const enter = async ({ url }: FileTarget, timeLimit: TimeLimit) => {
    if (pace === undefined || (mayBePrivate(url) && isPrivateHost(url))) return
    timeLimit.setCleanup(await timeLimit.runUnlimited(() => pace.enter(url.origin, timeLimit.signal)))
  }

  /** If an origin responded with 429 or 503, pauses requests to it. */
  const pauseIfAsked = ({ url }: FileTarget, response: ResponseHead) => {
    if (response.statusCode !== 429 && response.statusCode !== 503) return
    pace?.pause(url.origin, parseRetryAfter(readHeader(response, 'retry-after'), Date.now()) ?? DEFAULT_PAUSE_MS)
  }

  return {
    async follow(first, timeLimit, headers = {}, post) {
      const visited = new Set<string>()
      for (let target = first; ; ) {
        const current = target
        visited.add(withoutHash(current.url))
        await timeLimit.runLimited(current, () => enter(current, timeLimit))
        const response = await timeLimit.runLimited(current, () => ask(current, timeLimit.signal, headers, post))
        pauseIfAsked(current, response)
        if (!REDIRECT_STATUSES.includes(response.statusCode)) return { target, response }
        discardBody(response)
        // Release the slot at this origin before the next request. Requests that hold one slot while waiting for
        // another could deadlock.
        timeLimit.runCleanup()
        const location = response.headers.location
        if (typeof location !== 'string' || location.length > MAX_URL_LENGTH) {
          throw new FetchFailure(`${current.label} redirects without a valid location`, { isLasting: true })
        }
        // Errors contain only the first URL, because users recognize it, and a list of all redirects would be long.
        target = checkTarget(location, mayBePrivate, { label: first.label, url: current.url })
        if (visited.has(withoutHash(target.url))) {
          throw new FetchFailure(`${first.label} redirects in a loop`, { isLasting: true })
        }
        if (visited.size > maxRedirects) {
          throw new FetchFailure(`${first.label} redirects more than ${maxRedirects} times`, { isLasting: true })
        }
      }
    },
    close: async () => void (await Promise.all([agent.destroy(), trustingAgent.destroy()])),
  }
}

/** The time limit of a whole exchange. Also converts network errors to failures with a reason. */
export interface TimeLimit {
  signal: AbortSignal
  runLimited<T>(target: FileTarget, work: () => Promise<T>): Promise<T>
  /** Runs work that doesn't count toward the time limit, such as a wait that the server didn't cause. */
  runUnlimited<T>(work: () => Promise<T>): Promise<T>
  /** Registers a cleanup function that runs at the timeout, an abort, or the regular end. */
  setCleanup(release: () => void): void
  runCleanup(): void
  stop(): void
}

export function startTimeLimit(timeoutMs: number, outer: AbortSignal | undefined): TimeLimit {
  const timeUp = new AbortController()
  const signal = outer === undefined ? timeUp.signal : AbortSignal.any([outer, timeUp.signal])
  let remainingMs = timeoutMs
  let since = 0
  let timer: NodeJS.Timeout | undefined
  let releaseHold: (() => void) | undefined
  const run = () => {
    since = performance.now()
    timer = setTimeout(() => timeUp.abort(), remainingMs)
  }
  const release = () => {
    releaseHold?.()
    releaseHold = undefined
  }
  signal.addEventListener('abort', release, { once: true })
  run()
  return {
    signal,
    async runUnlimited(work) {
      clearTimeout(timer)
      remainingMs -= performance.now() - since
      try {
        return await work()
      } finally {
        run()
      }
    },
    setCleanup(next) {
      releaseHold = next
    },
    runCleanup: release,
    async runLimited(target, work) {
      try {
        return await work()
      } catch (error) {
        if (error instanceof FetchFailure) throw error
        if (outer?.aborted) throw outer.reason
        if (timeUp.signal.aborted) {
          const hint = 'The download will be retried. Use a faster server or a smaller file.'
          throw new FetchFailure(`${target.label} took longer than ${timeoutMs / 1000} s`, { isLasting: false, hint })
        }
        throw toFetchFailure(error, target.label)
      }
    },
    stop() {
      clearTimeout(timer)
      signal.removeEventListener('abort', release)
      release()
    },
  }
}

interface ResponseRules {
  maxBytes: number
  allowHtml: boolean
}

type ResponseHead = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

export function checkResponse(response: ResponseHead, label: string, { maxBytes, allowHtml }: ResponseRules): void {
  const { statusCode } = response
  if (statusCode === 204 || statusCode === 205) {
    throw new FetchFailure(`${label} returned ${statusCode} without a file`, { isLasting: true })
  }
  if (statusCode !== 200 && statusCode !== 203) {
    const status = [statusCode, STATUS_CODES[statusCode]].join(' ').trim()
    const retryAfterMs = parseRetryAfter(readHeader(response, 'retry-after'), Date.now())
    throw new FetchFailure(`${label} returned ${status}`, { isLasting: !isTemporaryStatus(statusCode), retryAfterMs })
  }
  if (!allowHtml && /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(readHeader(response, 'content-type') ?? '')) {
    throw htmlPageError(label)
  }
  if (Number(readHeader(response, 'content-length') ?? 0) > maxBytes) throw tooLargeError(label, maxBytes)
}

function htmlPageError(label: string): FetchFailure {
  return new FetchFailure(`${label} returned an HTML page, not a file`, {
    isLasting: true,
    hint: 'Use the URL of the file itself, not of a page that shows it.',
  })
}

/** Throws if the first bytes show that the content must not be stored. */
export function checkHead(head: Uint8Array, label: string, rules: Pick<ResponseRules, 'allowHtml'>): void {
  const problem = contentProblem(head, rules)
  if (problem === 'an HTML page') throw htmlPageError(label)
  if (problem !== null) throw new FetchFailure(`${label} returned ${problem}`, { isLasting: true })
}

/**
 * Returns whether a URL's host is literally this machine or a private address. Such an address was chosen deliberately.
 */
function isPrivateHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && !isPublicAddress(host))
}

/** Returns the value of a header. If the header is repeated, returns the first value. */
export function readHeader(response: Pick<ResponseHead, 'headers'>, name: string): string | undefined {
  const value = response.headers[name]
  return Array.isArray(value) ? value[0] : value
}

function withoutHash(url: URL): string {
  return url.href.replace(/#.*$/s, '')
}

/** Ends a transfer whose content isn't needed. Ignores errors of the transfer. */
export function discardBody(response: Dispatcher.ResponseData | undefined): void {
  response?.body.on('error', () => undefined).destroy()
}
