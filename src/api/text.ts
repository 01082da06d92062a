import * as z from 'zod/mini'

/** Returns why some database or chain can't store a text, or null. */
export function textProblem(value: string): string | null {
  if (!value.isWellFormed()) return 'has half of a surrogate pair, which is not a character'
  return value.includes('\0') ? 'has a NUL character' : null
}

/** Text that every database and chain can store: no lone surrogates, no NUL. */
export const text = z.string().check((context) => {
  const problem = textProblem(context.value)
  if (problem !== null) context.issues.push({ code: 'custom', message: problem, input: context.value })
})

export const shortText = (max: number) =>
  text.check(
    z.minLength(1, { error: 'must not be empty' }),
    z.maxLength(max, { error: `must have at most ${max} characters` }),
  )
