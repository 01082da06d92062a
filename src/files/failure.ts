import { GdnError } from '../core/errors.ts'

interface FetchFailureOptions {
  lasting: boolean
  hint?: string
  cause?: unknown
  isPrivate?: boolean
  retryAfterMs?: number | null
}

/**
 * Why a file can't be had from a URL. The message is a sentence for the person who gave the URL; nothing that the
 * server answered is quoted in it.
 */
export class FetchFailure extends GdnError {
  /** True when asking again can't help: the NFT fails with this reason. False: worth another attempt later. */
  readonly lasting: boolean
  /** Whether the rules on addresses and ports refuse it, which `allowPrivate` lifts. */
  readonly isPrivate: boolean
  /** How long the server asks to be left alone, in milliseconds. */
  readonly retryAfterMs: number | null

  constructor(message: string, options: FetchFailureOptions) {
    const { lasting, hint, cause, isPrivate = false, retryAfterMs = null } = options
    super(lasting ? 'invalid_input' : 'unreachable', message, {
      hint: hint ?? (lasting ? 'give a URL that answers with the file itself' : 'it will be tried again'),
      ...(cause === undefined ? {} : { cause }),
    })
    this.name = 'FetchFailure'
    this.lasting = lasting
    this.isPrivate = isPrivate
    this.retryAfterMs = retryAfterMs
  }
}
