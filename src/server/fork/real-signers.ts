import { GdnError } from '../../core/errors.ts'
import type { Hex } from '../chain/evm/network.ts'

/** Replaces signers of a rehearsal by the real ones, in texts and errors. */
export interface RealSigners {
  inText(text: string): string
  /** Replaces them in message, hint, details and causes. Errors of other classes are returned as they are. */
  inError(error: unknown): unknown
}

/**
 * Returns what names the real signers in all output of a rehearsal. Nobody keeps the keys of its own signers, so coins
 * that a person sends to one of them are lost.
 */
export function realSigners(pairs: readonly { real: Hex; copy: Hex }[]): RealSigners {
  const real = new Map(pairs.map((pair) => [digits(pair.copy).toLowerCase(), digits(pair.real)]))
  // Without 0x, so that addresses in the data of calls are replaced too.
  const copies = new RegExp([...real.keys()].join('|'), 'gi')
  const inText = (text: string) =>
    real.size === 0 ? text : text.replace(copies, (copy) => real.get(copy.toLowerCase()) ?? copy)
  const inError = (error: unknown): unknown => {
    if (!(error instanceof GdnError)) return error
    const { code, message, hint, place, details, operationId, cause, stack } = error
    const named = new GdnError(code, inText(message), {
      hint: hint && inText(hint),
      place,
      details: details && JSON.parse(inText(JSON.stringify(details))),
      operationId,
      cause: inError(cause),
    })
    if (stack !== undefined) named.stack = inText(stack)
    return named
  }
  return { inText, inError }
}

const digits = (address: Hex): string => address.slice(2)
