import { GdnError } from '../core/errors.ts'

/**
 * Why a file can't be had from a URL. The message is a sentence for the person who gave the URL; nothing that the
 * server answered is quoted in it.
 */
export class FetchFailure extends GdnError {
  /** True when asking again can't help: the NFT fails with this reason. False: worth another attempt later. */
  readonly lasting: boolean

  constructor(message: string, options: { lasting: boolean; hint?: string; cause?: unknown }) {
    const { lasting, hint, cause } = options
    super(lasting ? 'invalid_input' : 'unreachable', message, {
      hint: hint ?? (lasting ? 'give a URL that answers with the file itself' : 'it will be tried again'),
      ...(cause === undefined ? {} : { cause }),
    })
    this.name = 'FetchFailure'
    this.lasting = lasting
  }
}
