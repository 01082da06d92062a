import { fileUrlProblem } from '../api/file-url.ts'
import { sleep as systemSleep } from '../core/time.ts'
import { FetchFailure } from './failure.ts'
import type { Prober } from './prober.ts'

/**
 * A problem with a URL. `error` means that the server would certainly reject the URL. `warning` means that the server
 * may accept the URL later.
 */
export interface UrlFinding {
  url: string
  severity: 'error' | 'warning'
  message: string
  hint?: string | undefined
}

export interface CheckUrlsOptions {
  prober: Prober
  /** Checks URLs without the rules for addresses and ports. Null if the server certainly applies these rules. */
  lenientProber: Prober | null
  /** Returns why a well-formed ipfs URL is rejected, or null. */
  checkIpfs?(url: string, signal: AbortSignal | undefined): Promise<Omit<UrlFinding, 'url'> | null>
  onFinding(finding: UrlFinding): void
  /** Called after each URL. */
  onChecked?(): void
  signal?: AbortSignal | undefined
  now?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

const MAX_CONCURRENT_ORIGINS = 6
/** Maximum number of concurrent requests to one origin. */
const MAX_REQUESTS_PER_ORIGIN = 3
/** Milliseconds between two requests to one origin. */
const MIN_INTERVAL_MS = 50
const RETRY_MS = 1_000
const MAX_WAIT_MS = 30_000
/** After this many consecutive failures without a response, no further requests are sent to an origin. */
const MAX_CONSECUTIVE_FAILURES = 5

/**
 * Probes each URL, and retries a temporary failure once. Limits the concurrency and the request rate for each origin.
 * Pauses for as long as a server requests, but for at most 30 s. Resolves when all URLs have been checked.
 */
export async function checkUrls(urls: Iterable<string>, options: CheckUrlsOptions): Promise<void> {
  const byOrigin = new Map<string, string[]>()
  for (const url of urls) {
    // Skip malformed URLs, which are already reported with their rows, and ar URLs, which are never requested.
    if (fileUrlProblem(url) !== null || /^ar:/i.test(url)) {
      options.onChecked?.()
      continue
    }
    const origin = /^ipfs:/i.test(url) ? 'ipfs:' : new URL(url).origin
    const ofOrigin = byOrigin.get(origin)
    if (ofOrigin === undefined) byOrigin.set(origin, [url])
    else ofOrigin.push(url)
  }
  await forEachConcurrently(MAX_CONCURRENT_ORIGINS, byOrigin, ([origin, ofOrigin]) =>
    checkOrigin(origin, ofOrigin, options),
  )
}

async function checkOrigin(origin: string, urls: readonly string[], options: CheckUrlsOptions): Promise<void> {
  const { onFinding, onChecked, signal, now = () => performance.now(), sleep = systemSleep } = options
  let next = 0
  let failures = 0

  const waitForTurn = async () => {
    for (;;) {
      signal?.throwIfAborted()
      const wait = next - now()
      if (wait <= 0) break
      await sleep(wait, signal)
    }
    next = now() + MIN_INTERVAL_MS
  }

  const checkWithRetry = async (url: string): Promise<UrlFinding | null> => {
    for (let attempt = 1; ; attempt++) {
      await waitForTurn()
      try {
        const result = await checkUrl(url, options)
        failures = 0
        return result
      } catch (error) {
        if (!(error instanceof FetchFailure)) throw error
        if (attempt === 1 && failures < MAX_CONSECUTIVE_FAILURES) {
          next = Math.max(next, now() + Math.min(error.retryAfterMs ?? RETRY_MS, MAX_WAIT_MS))
          continue
        }
        failures++
        return { url, severity: 'warning', message: error.message }
      }
    }
  }

  await forEachConcurrently(MAX_REQUESTS_PER_ORIGIN, urls, async (url) => {
    if (failures >= MAX_CONSECUTIVE_FAILURES) {
      onFinding({ url, severity: 'warning', message: `${url} was not requested: ${origin} failed ${failures} times` })
    } else {
      const finding = await checkWithRetry(url)
      if (finding !== null) onFinding(finding)
    }
    onChecked?.()
  })
}

/** @throws FetchFailure if the failure is temporary */
async function checkUrl(url: string, options: CheckUrlsOptions): Promise<UrlFinding | null> {
  const { prober, lenientProber, checkIpfs, signal } = options
  if (/^ipfs:/i.test(url)) {
    const finding = (await checkIpfs?.(url, signal)) ?? null
    return finding === null ? null : { url, ...finding }
  }
  try {
    await prober.probe(url, signal)
    return null
  } catch (error) {
    if (!(error instanceof FetchFailure) || !error.isLasting) throw error
    if (!error.isPrivate || lenientProber === null) return urlFinding(url, 'error', error)
    return await checkLeniently(url, error, lenientProber, signal)
  }
}

/**
 * Probes a private URL again without the rules for addresses and ports. A success is still reported as a warning,
 * because only the backend's operator knows whether private files are allowed.
 */
async function checkLeniently(
  url: string,
  strict: FetchFailure,
  lenient: Prober,
  signal: AbortSignal | undefined,
): Promise<UrlFinding> {
  try {
    await lenient.probe(url, signal)
    return urlFinding(url, 'warning', strict)
  } catch (error) {
    if (!(error instanceof FetchFailure) || !error.isLasting) throw error
    return urlFinding(url, 'error', error)
  }
}

function urlFinding(url: string, severity: UrlFinding['severity'], { message, hint }: FetchFailure): UrlFinding {
  return { url, severity, message, hint }
}

/** Runs a function for each item, with at most `count` calls at a time. Stops at the first failure. */
async function forEachConcurrently<Item>(
  count: number,
  items: Iterable<Item>,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]()
  let failed = false
  const work = async () => {
    for (let next = iterator.next(); next.done !== true && !failed; next = iterator.next()) {
      try {
        await task(next.value)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: count }, work))
}
