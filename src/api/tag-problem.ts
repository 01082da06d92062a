import { TRAIT_TYPES } from './traits.ts'

const TYPE = `\\( *(${TRAIT_TYPES.join('|')}) *(?:,[^()]*)?\\)`

/** Matches a tag such as `(number)Level`. */
const TYPE_AT_START = new RegExp(`^${TYPE}`, 'i')

/** Matches a tag such as `Level(number)`, whose type is in the wrong place. A unit has a space: `Size (number)`. */
const TYPE_AT_END = new RegExp(`[^\\s(]${TYPE}$`, 'i')

/** Returns why a tag must be a misplaced type or column name, which would be published permanently, or null. */
export function tagProblem(tag: string): string | null {
  if (/^attr *[(:]/i.test(tag)) return 'begins like the name of a column'
  const [, first] = TYPE_AT_START.exec(tag) ?? []
  if (first !== undefined) return `begins with "(${first})", but has no type`
  const [, last] = TYPE_AT_END.exec(tag) ?? []
  return last === undefined ? null : `ends with "(${last})", but has no type`
}
