import { textOrJson } from '../core/excerpt.ts'
import { quoted } from '../core/quoted.ts'

/**
 * The values of `display_type` in OpenSea's metadata standards, which determine how marketplaces display a number
 * (https://docs.opensea.io/docs/metadata-standards).
 */
export const TRAIT_TYPES = ['number', 'boost_number', 'boost_percentage', 'date'] as const
export type TraitType = (typeof TRAIT_TYPES)[number]

export const isTraitType = (value: unknown): value is TraitType => TRAIT_TYPES.includes(value as TraitType)

/** An attribute of a request. With a `display_type`, it is a typed trait, whose texts are decimal numbers. */
export interface Attribute {
  tag: string
  value: string
  display_type?: TraitType | undefined
  max_value?: string | undefined
}

type ParsedTrait = { text: string } | { problem: string }

/** Upper bound for times in seconds, which is 5138-11-16. A larger number is probably a time in milliseconds. */
const MAX_UNIX_SECONDS = 1e11
const DAY_SECONDS = 86_400
/** The smallest fraction that JavaScript writes without an exponent. */
const MIN_FRACTION = 1e-6
/**
 * Maximum length of a number. Longer texts are rejected before the slower checks, because no exact number needs this
 * many characters.
 */
const MAX_NUMBER_LENGTH = 40
const TOO_MANY_DIGITS_PROBLEM = 'has more digits than a JSON number can represent exactly: use at most 15'

/**
 * Parses a decimal number that JSON can represent exactly. Returns its shortest text. For example, `1.50` becomes
 * `1.5`. Rejects exponents, signs other than `-`, leading zeros and separators.
 */
export function parseDecimal(typed: string): ParsedTrait {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(typed)) {
    return { problem: `must be a number such as 5 or 2.5, not ${quoted(typed)}` }
  }
  if (typed.length > MAX_NUMBER_LENGTH) return { problem: TOO_MANY_DIGITS_PROBLEM }
  const short = typed.includes('.') ? typed.replace(/\.?0+$/, '') : typed
  const text = short === '-0' ? '0' : short
  const size = Math.abs(Number(text))
  if (size > Number.MAX_SAFE_INTEGER) {
    return {
      problem: `must be at most ${Number.MAX_SAFE_INTEGER}, the largest whole number that JSON can represent exactly`,
    }
  }
  if (text !== '0' && size < MIN_FRACTION) return { problem: `is too close to 0: use at most 6 decimal places` }
  return String(Number(text)) === text ? { text } : { problem: TOO_MANY_DIGITS_PROBLEM }
}

/** Parses a date as Unix seconds, `2026-11-01`, or `2026-11-01T18:30:00Z`. Returns Unix seconds. */
function parseDate(typed: string): ParsedTrait {
  if (/^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?$/.test(typed)) {
    const ms = Date.parse(typed)
    // JavaScript parses February 30 as March 2.
    const isReal = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(typed.replace('Z', ''))
    return isReal ? { text: String(ms / 1000) } : { problem: `must be a date that exists, not ${quoted(typed)}` }
  }
  if (!/^(?:0|-?[1-9]\d*)$/.test(typed)) {
    return {
      problem: `must be a date such as 2026-11-01, a time such as 2026-11-01T18:30:00Z, or a Unix time in seconds, not ${quoted(typed)}`,
    }
  }
  // A number that looks like a year or a date without dashes is probably not a time in 1970. A number for midnight is
  // accepted, because this function returns such a number for a day.
  const [, year, month = '01', day = '01'] = /^((?:19|20)\d\d)(?:(\d\d)(\d\d))?$/.exec(typed) ?? []
  const date = `${year}-${month}-${day}`
  if (Number(typed) % DAY_SECONDS !== 0 && 'text' in parseDate(date)) {
    return { problem: `must be a date such as ${date}, not ${quoted(typed)}` }
  }
  if (Math.abs(Number(typed)) < MAX_UNIX_SECONDS) return { text: typed }
  const inSeconds = Math.trunc(Number(typed) / 1000)
  const suggestion = Math.abs(inSeconds) < MAX_UNIX_SECONDS ? `: did you mean ${inSeconds}?` : ''
  return { problem: `must be a Unix time in seconds, not milliseconds${suggestion}` }
}

/** Returns the shortest text of a maximum value, or the reason why it is invalid for this type of trait. */
export function parseMaximum(type: TraitType, typed: string): ParsedTrait {
  if (type === 'date') return { problem: "can't be used with a date" }
  const parsed = parseDecimal(typed)
  if ('problem' in parsed || Number(parsed.text) > 0) return parsed
  return { problem: `must be greater than 0, not ${quoted(typed)}` }
}

/**
 * Returns the shortest text of a trait's value, or the reason why the value is invalid.
 *
 * @param max the trait's maximum, as returned by `parseMaximum`
 */
export function parseTraitValue(type: TraitType, max: string | undefined, typed: string): ParsedTrait {
  const parsed = type === 'date' ? parseDate(typed) : parseDecimal(typed)
  if ('problem' in parsed || max === undefined || Number(parsed.text) <= Number(max)) return parsed
  return { problem: `must be at most ${max}, its maximum, not ${quoted(typed)}` }
}

/** Returns an attribute in the form that metadata files contain. The value of a typed trait is a JSON number. */
export function toFileAttribute({ tag, value, display_type, max_value }: Attribute): Readonly<Record<string, unknown>> {
  if (display_type === undefined) return { trait_type: tag, value }
  const typed = { trait_type: tag, value: Number(value), display_type }
  return max_value === undefined ? typed : { ...typed, max_value: Number(max_value) }
}

/** Returns an attribute from a server's response, in which it may have any form. */
export function readAttribute({ tag, value, display_type, max_value }: Readonly<Record<string, unknown>>): Attribute {
  const attribute: Attribute = { tag: textOrJson(tag ?? ''), value: textOrJson(value ?? '') }
  if (isTraitType(display_type)) attribute.display_type = display_type
  if (max_value !== undefined) attribute.max_value = textOrJson(max_value)
  return attribute
}

/**
 * Formats an attribute's value in the way that marketplaces display it, such as `5 of 100`, `+20%` or `2026-11-01`.
 * Returns a value of an unknown form unchanged.
 */
export function formatTraitValue({ value, display_type: type, max_value: max }: Omit<Attribute, 'tag'>): string {
  if (!isTraitType(type) || 'problem' in parseTraitValue(type, undefined, value)) return value
  if (type === 'date') {
    const time = new Date(Number(value) * 1000).toISOString().replace('.000Z', 'Z')
    return Number(value) % DAY_SECONDS === 0 ? time.replace('T00:00:00Z', '') : time
  }
  const number = type === 'number' || value.startsWith('-') ? value : `+${value}`
  const unit = type === 'boost_percentage' ? '%' : ''
  return `${number}${unit}${max === undefined ? '' : ` of ${max}${unit}`}`
}
