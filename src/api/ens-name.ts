import { isInQuotes } from '../core/quotation-marks.ts'

/** Matches a number to which a spreadsheet has converted an address. */
export const MANGLED_NUMBER = /^\d+([.,]\d+)?[eE]\+?\d+$/
const ONLY_DIGITS = /^[\d.,]*$/

/** The form of an ENS name, for JSON Schema. `isEnsName` is stricter. */
export const ENS_FORM = '(?=[\\s\\S]*[^\\d.,])(?!\\d+(?:[.,]\\d+)?[eE]\\+?\\d+$)[^@/\\\\:]*\\.[^@/\\\\:]*'

/**
 * Returns whether a value looks like an ENS name, such as `alice.eth`. Such a value contains a dot, and isn't a saved
 * name (`@alice`), an email address, a URL or a number. The name may still be invalid.
 */
export function isEnsName(value: unknown): value is string {
  if (typeof value !== 'string' || !value.includes('.') || /[@/\\:]/.test(value)) return false
  return !MANGLED_NUMBER.test(value) && !ONLY_DIGITS.test(value) && !isInQuotes(value)
}
