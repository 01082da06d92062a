import { distance } from '../core/nearest.ts'
import { TRAIT_TYPES } from './traits.ts'

const TYPE_PATTERN = `\\( *(${TRAIT_TYPES.join('|')}) *(?:,[^()]*)?\\)`

/** Matches a tag such as `(number)Level`. */
const TYPE_AT_START = new RegExp(`^${TYPE_PATTERN}`, 'i')

/**
 * Matches a tag such as `Level(number)`, in which the type is in the wrong place. A unit follows a space, as in `Size
 * (number)`.
 */
const TYPE_AT_END = new RegExp(`[^\\s(]${TYPE_PATTERN}$`, 'i')

/**
 * Returns why a tag looks like a misplaced type or a column name; null for any other tag. A mint would make such a tag
 * permanent.
 */
export function tagProblem(tag: string): string | null {
  if (/^attr *[(:]/i.test(tag)) return 'begins like a column name'
  const [, first] = TYPE_AT_START.exec(tag) ?? []
  if (first !== undefined) return `begins with "(${first})", but has no type`
  const [, last] = TYPE_AT_END.exec(tag) ?? []
  if (last !== undefined) return `ends with "(${last})", but has no type`
  // `tag(max=100)=5` is split at the first "=".
  if (OPEN_AT_END.test(tag)) return 'contains "(" without ")"'
  const word = WORD_AT_END.exec(tag)?.[1]?.trim() ?? ''
  return isLikeType(word) ? `ends with "(${word})", which is not a type` : null
}

const OPEN_AT_END = /[^\s(]\([^()]+$/
const WORD_AT_END = /[^\s(]\(([^(),=]{1,40})(?:[,=][^()]*)?\)$/
const FOREIGN_TYPE_WORDS = ['max', 'int', 'integer', 'float', 'numeric']

/** Returns whether a word is a misspelled type, or a word for a type in other tools. */
function isLikeType(word: string): boolean {
  const lower = word.toLowerCase()
  const isMisspelled = (type: string) =>
    type.length > 4 && type[0] === lower[0] && distance(lower, type) <= Math.floor(type.length / 4)
  return FOREIGN_TYPE_WORDS.includes(lower) || TRAIT_TYPES.some(isMisspelled)
}
