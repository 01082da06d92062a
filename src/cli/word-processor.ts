import { GdnError } from '../core/errors.ts'
import { isInQuotes, WORD_PROCESSOR_QUOTES } from '../core/quotes.ts'
import type { Io } from './io/io.ts'

/** A flag whose hyphens a word processor or a chat has replaced. */
const DASHED_FLAG = /^-?[‐‑‒–—―−]+-?(\p{L}[\w-]*)/u

/** Returns the error of a flag that begins with another dash than a hyphen. Its value is not repeated. */
export function dashError(words: readonly string[]): GdnError | undefined {
  for (const word of words) {
    const [begun, name = ''] = DASHED_FLAG.exec(word) ?? []
    if (begun === undefined) continue
    const typed = name.length === 1 ? `-${name}` : `--${name}`
    return new GdnError('usage', `"${begun}" begins with a dash of a word processor, not with hyphens`, {
      hint: `Type it as ${typed}.`,
    })
  }
  return undefined
}

/** Adds to an error of arguments that quotes of a word processor are none to a shell. */
export function withQuotesHint(error: GdnError, argv: readonly string[]): GdnError {
  const isQuoted = argv.some((word) => {
    const value = word.slice(word.indexOf('=') + 1)
    return WORD_PROCESSOR_QUOTES.test(value.charAt(0)) || WORD_PROCESSOR_QUOTES.test(value.slice(-1))
  })
  if (!isQuoted) return error
  const quotes = "An argument has the quotes of a word processor, which a shell doesn't remove. Type \" or ' instead."
  return error.with({ hint: error.hint === undefined ? quotes : `${quotes}\n${error.hint}` })
}

/** Warns of a title or name in quotes that the shell has not removed. They are minted too. */
export function warnOfQuotes(io: Io, flag: string, text: string | undefined): void {
  if (text === undefined || !isInQuotes(text)) return
  io.warn(`${io.errPaint.busy('warning:')} ${flag}: is in quotes, which become part of the value`)
}
