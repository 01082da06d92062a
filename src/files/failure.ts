import { GdnError } from '../core/errors.ts'

interface FetchFailureOptions {
  lasting: boolean
  hint?: string | undefined
  cause?: unknown
  isPrivate?: boolean
  retryAfterMs?: number | null
}

/**
 * Why a file can't be fetched from a URL. The message is for the person who provided the URL. It quotes nothing of the
 * server's response.
 */
export class FetchFailure extends GdnError {
  /** True if a retry can't help: the NFT fails with this reason. False if a later attempt may succeed. */
  readonly lasting: boolean
  /** Whether the rules on addresses and ports reject it, which `allowPrivate` lifts. */
  readonly isPrivate: boolean
  /** The pause that the server asks for, in milliseconds. */
  readonly retryAfterMs: number | null

  constructor(message: string, options: FetchFailureOptions) {
    const { lasting, hint, cause, isPrivate = false, retryAfterMs = null } = options
    super(lasting ? 'invalid_input' : 'unreachable', message, {
      hint: hint ?? (lasting ? 'Use a URL that returns the file itself.' : 'The download will be retried.'),
      cause,
    })
    this.name = 'FetchFailure'
    this.lasting = lasting
    this.isPrivate = isPrivate
    this.retryAfterMs = retryAfterMs
  }
}
