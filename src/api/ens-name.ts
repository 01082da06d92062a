import { isInQuotes } from '../core/quotes.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/i
/** Matches a number into which a spreadsheet has converted an address. */
const MANGLED_NUMBER = /^\d+([.,]\d+)?[eE]\+?\d+$/
const ONLY_DIGITS = /^[\d.,]*$/

/** The form of a value that is meant as an ENS name, for JSON Schema. `isEnsName` is stricter. */
export const ENS_FORM = '(?=[\\s\\S]*[^\\d.,])(?!\\d+(?:[.,]\\d+)?[eE]\\+?\\d+$)[^@/\\\\:]*\\.[^@/\\\\:]*'

/**
 * Returns whether a value is meant as an ENS name, such as `alice.eth`. Such a value has a dot, and is neither an
 * address, a name on this machine (`@alice`), an e-mail address, a URL nor a number. The name may still be invalid.
 */
export function isEnsName(value: unknown): value is string {
  if (typeof value !== 'string' || !value.includes('.') || /[@/\\:]/.test(value)) return false
  return !ADDRESS.test(value) && !MANGLED_NUMBER.test(value) && !ONLY_DIGITS.test(value) && !isInQuotes(value)
}
