import { isInQuotes } from '../core/quotation-marks.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/i
/** Matches a number to which a spreadsheet has converted an address. */
const MANGLED_NUMBER = /^\d+([.,]\d+)?[eE]\+?\d+$/
const ONLY_DIGITS = /^[\d.,]*$/

/** The form of an ENS name, for JSON Schema. `isEnsName` is stricter. */
export const ENS_FORM = '(?=[\\s\\S]*[^\\d.,])(?!\\d+(?:[.,]\\d+)?[eE]\\+?\\d+$)[^@/\\\\:]*\\.[^@/\\\\:]*'

/**
 * Returns whether a value looks like an ENS name, such as `alice.eth`. It contains a dot, and isn't an address, a saved
 * name (`@alice`), an email address, a URL or a number. The name may still be invalid.
 */
export function isEnsName(value: unknown): value is string {
  if (typeof value !== 'string' || !value.includes('.') || /[@/\\:]/.test(value)) return false
  return !ADDRESS.test(value) && !MANGLED_NUMBER.test(value) && !ONLY_DIGITS.test(value) && !isInQuotes(value)
}
