import { GdnError } from '../core/errors.ts'

interface FetchFailureOptions {
  isLasting: boolean
  hint?: string | undefined
  cause?: unknown
  isPrivate?: boolean
  retryAfterMs?: number | null
}

/**
 * The error for a file that can't be fetched from a URL. The message is for the person who provided the URL, and
 * doesn't quote the server's response.
 */
export class FetchFailure extends GdnError {
  /** Whether a retry can't succeed, so that the NFT fails with this error. False if a later attempt may succeed. */
  readonly isLasting: boolean
  /** Whether the URL has a private address, or a port other than 80 and 443. `allowPrivate` permits both. */
  readonly isPrivate: boolean
  /** The pause that the server requests, in milliseconds. */
  readonly retryAfterMs: number | null

  constructor(message: string, options: FetchFailureOptions) {
    const { isLasting, hint, cause, isPrivate = false, retryAfterMs = null } = options
    super(isLasting ? 'invalid_input' : 'unreachable', message, {
      hint: hint ?? (isLasting ? 'Use a URL that returns the file itself.' : 'The download will be retried.'),
      cause,
    })
    this.name = 'FetchFailure'
    this.isLasting = isLasting
    this.isPrivate = isPrivate
    this.retryAfterMs = retryAfterMs
  }
}

/** Returns the error for a file that can't be fetched even if the request is retried. */
export const permanentError = (message: string, hint?: string): FetchFailure =>
  new FetchFailure(message, { isLasting: true, hint })
