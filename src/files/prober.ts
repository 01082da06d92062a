import type { Dispatcher } from 'undici'
import { decodeBody, limitBody, tooLargeError } from './body.ts'
import { SNIFF_BYTES } from './content-type.ts'
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

/** Checks whether files can be fetched, without downloading them. */
export interface Prober {
  /**
   * Requests the first bytes of a file and applies all rules for fetching it.
   *
   * @throws FetchFailure (`isLasting` or not); the signal's reason once the signal is aborted
   */
  probe(url: string, signal?: AbortSignal): Promise<void>
  close(): Promise<void>
}

export function createProber(options: FetcherOptions): Prober {
  const { allowPrivate, allowHtml = false, maxBytes = DEFAULT_MAX_BYTES, timeoutMs = DEFAULT_FILE_TIMEOUT_MS } = options
  const requester = createFileRequester(options)

  async function look(
    { target, response }: { target: FileTarget; response: Dispatcher.ResponseData },
    timeLimit: TimeLimit,
  ) {
    const { label } = target
    try {
      // The request was for a range, so treat a partial response like a complete one, unless the complete file is too
      // large.
      const isPart = response.statusCode === 206
      const { 'content-length': _ofThePart, ...headers } = response.headers
      checkResponse(isPart ? { statusCode: 200, headers } : response, label, { maxBytes, allowHtml })
      if (isPart && parseTotalSize(response) > maxBytes) throw tooLargeError(label, maxBytes)
      const contentEncoding = readHeader(response, 'content-encoding') ?? ''
      const decoded = decodeBody(response.body, { contentEncoding, label, maxBytes })
      const body = limitBody(decoded, maxBytes, label)[Symbol.asyncIterator]()
      const head = await timeLimit.runLimited(target, () => readHead(body))
      checkHead(head, label, { allowHtml })
    } finally {
      discardBody(response)
    }
  }

  return {
    async probe(url, signal) {
      const first = checkTarget(url, allowPrivate)
      const timeLimit = startTimeLimit(timeoutMs, signal)
      try {
        const part = await requester.follow(first, timeLimit, { range: `bytes=0-${SNIFF_BYTES - 1}` })
        if (!isUnusablePart(part.response)) return await look(part, timeLimit)
        discardBody(part.response)
        await look(await requester.follow(first, timeLimit), timeLimit)
      } finally {
        timeLimit.stop()
      }
    },
    close: () => requester.close(),
  }
}

/**
 * Returns whether a range request must be repeated without the range. An empty file has no ranges, and a range of
 * compressed data can't be decoded.
 */
function isUnusablePart(response: Dispatcher.ResponseData): boolean {
  const { statusCode } = response
  return statusCode === 416 || (statusCode === 206 && readHeader(response, 'content-encoding') !== undefined)
}

/** Returns the total size in a `Content-Range` header such as `bytes 0-1023/4711`, or 0 if the size is missing. */
function parseTotalSize(response: Dispatcher.ResponseData): number {
  return Number(/\/(\d+)$/.exec(readHeader(response, 'content-range') ?? '')?.[1] ?? 0)
}
