import { GdnError } from '../core/errors.ts'
import { isInQuotes, WORD_PROCESSOR_QUOTES } from '../core/quotation-marks.ts'
import type { Io } from './io/io.ts'

/** Matches a flag whose hyphens a word processor or chat app replaced with dashes. */
const DASHED_FLAG = /^-?[‐‑‒–—―−]+-?(\p{L}[\w-]*)/u

/** Returns an error if a flag begins with a dash instead of a hyphen. Doesn't repeat the flag's value. */
export function dashError(words: readonly string[]): GdnError | undefined {
  for (const word of words) {
    const [begun, name = ''] = DASHED_FLAG.exec(word) ?? []
    if (begun === undefined) continue
    const typed = name.length === 1 ? `-${name}` : `--${name}`
    return new GdnError('usage', `"${begun}" begins with a typographic dash, not with hyphens`, {
      hint: `Type it as ${typed}.`,
    })
  }
  return undefined
}

/** Adds a hint to an error if an argument contains typographic quotes, which shells don't interpret. */
export function addQuotesHintToError(error: GdnError, argv: readonly string[]): GdnError {
  const isQuoted = argv.some((word) => {
    const value = word.slice(word.indexOf('=') + 1)
    return WORD_PROCESSOR_QUOTES.test(value.charAt(0)) || WORD_PROCESSOR_QUOTES.test(value.slice(-1))
  })
  if (!isQuoted) return error
  const quotes = "An argument has typographic quotes, which a shell doesn't remove. Type \" or ' instead."
  return error.with({ hint: error.hint === undefined ? quotes : `${quotes}\n${error.hint}` })
}

/** Warns if a title or name is in quotes that the shell didn't remove. The quotes become part of the value. */
export function warnOfQuotes(io: Io, flag: string, text: string | undefined): void {
  if (text === undefined || !isInQuotes(text)) return
  io.warn(`${io.errPaint.busy('warning:')} ${flag}: the value is in quotes, which become part of it`)
}
