import type { Dispatcher } from 'undici'
import { parseUrl } from '../core/parse-url.ts'
import { decodeBody, limitBody } from './body.ts'
import {
  checkHead,
  checkResponse,
  createFileRequester,
  DEFAULT_FILE_TIMEOUT_MS,
  DEFAULT_MAX_BYTES,
  discardBody,
  type FetcherOptions,
  readHeader,
  startTimeLimit,
  type TimeLimit,
} from './exchange.ts'
import { readHead } from './file-content.ts'
import { checkTarget, type FileTarget } from './target.ts'

export interface FetchedFile {
  /**
   * The content of the file. It must be read only once and immediately, because the timeout keeps running. Reading
   * throws if the rest of the transfer fails. If you stop reading early, the connection is closed.
   */
  content: AsyncIterable<Uint8Array>
  /** The content type that the server specifies; null if it specifies none. */
  contentType: string | null
}

export interface Fetcher {
  /**
   * Fetches a file from an untrusted URL. Resolves when the first bytes have arrived and look like a valid file.
   *
   * @throws FetchFailure (`isLasting` or not) from this function and from `content`; the signal's reason once the
   *   signal
   *   is aborted.
   *
   * @example
   * const { content } = await fetcher.fetchFile('https://example.com/art.png', signal)
   * const { cid } = await storage.add(content)
   */
  fetchFile(url: string, signal?: AbortSignal): Promise<FetchedFile>
  /** Returns how many milliseconds to wait before fetching a URL, so that its origin isn't overloaded. */
  queueDelayMs(url: string): number
  /** Closes idle connections and aborts transfers. */
  close(): Promise<void>
}

export function createFetcher(options: FetcherOptions): Fetcher {
  const { allowPrivate, allowHtml = false, maxBytes = DEFAULT_MAX_BYTES, timeoutMs = DEFAULT_FILE_TIMEOUT_MS } = options
  const requester = createFileRequester(options)
  const mayBePrivate = (url: URL) => allowPrivate || (options.isTrusted?.(url) ?? false)

  return {
    async fetchFile(url, signal) {
      const first = checkTarget(url, mayBePrivate)
      const timeLimit = startTimeLimit(timeoutMs, signal)
      let response: Dispatcher.ResponseData | undefined
      try {
        const followed = await requester.follow(first, timeLimit)
        response = followed.response
        const { target } = followed
        checkResponse(response, target.label, { maxBytes, allowHtml })
        const { label } = target
        const contentEncoding = readHeader(response, 'content-encoding') ?? ''
        const decoded = decodeBody(response.body, { contentEncoding, label, maxBytes })
        const body = limitBody(decoded, maxBytes, target.label)[Symbol.asyncIterator]()
        const head = await timeLimit.runLimited(target, () => readHead(body))
        checkHead(head, label, { allowHtml })
        const content = restOfBody(head, body, target, timeLimit)
        return { content, contentType: readHeader(response, 'content-type') ?? null }
      } catch (error) {
        timeLimit.stop()
        discardBody(response)
        throw error
      }
    },

    queueDelayMs(url) {
      const origin = parseUrl(url)?.origin
      return origin === undefined ? 0 : (options.pace?.delayMs(origin) ?? 0)
    },
    close: () => requester.close(),
  }
}

async function* restOfBody(
  head: Uint8Array,
  body: AsyncGenerator<Uint8Array>,
  target: FileTarget,
  timeLimit: TimeLimit,
) {
  try {
    yield head
    for (;;) {
      const next = await timeLimit.runLimited(target, () => body.next())
      if (next.done) return
      yield next.value
    }
  } finally {
    timeLimit.stop()
    await body.return(undefined)
  }
}
