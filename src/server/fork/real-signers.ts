import { GdnError } from '../../core/errors.ts'
import type { Hex } from '../chain/evm/network.ts'

/** Replaces the addresses of a rehearsal's substitute signers in text and errors with those of the real signers. */
export interface RealSigners {
  replaceInText(text: string): string
  /**
   * Returns the error with replaced addresses in its message, hint, details and causes. Returns errors of other classes
   * unchanged.
   */
  replaceInError(error: unknown): unknown
}

/**
 * Returns functions that show the real signers in the output of a rehearsal. Users must not send coins to a substitute.
 * Its key isn't stored, so the coins would be lost.
 */
export function realSigners(pairs: readonly { real: Hex; copy: Hex }[]): RealSigners {
  const real = new Map(pairs.map((pair) => [digits(pair.copy).toLowerCase(), digits(pair.real)]))
  // Match addresses without 0x, so that addresses in call data are replaced too.
  const copies = new RegExp([...real.keys()].join('|'), 'gi')
  const replaceInText = (text: string) =>
    real.size === 0 ? text : text.replace(copies, (copy) => real.get(copy.toLowerCase()) ?? copy)
  const replaceInError = (error: unknown): unknown => {
    if (!(error instanceof GdnError)) return error
    const { code, message, hint, place, details, operationId, cause, stack } = error
    const replacedError = new GdnError(code, replaceInText(message), {
      hint: hint && replaceInText(hint),
      place,
      details: details && JSON.parse(replaceInText(JSON.stringify(details))),
      operationId,
      cause: replaceInError(cause),
    })
    if (stack !== undefined) replacedError.stack = replaceInText(stack)
    return replacedError
  }
  return { replaceInText, replaceInError }
}

const digits = (address: Hex): string => address.slice(2)
