import * as z from 'zod/mini'

/** Returns why a text can't be stored in every database and on every chain; null if it can. */
export function textProblem(value: string): string | null {
  if (!value.isWellFormed()) return 'has an unpaired surrogate, which is not a valid character'
  return value.includes('\0') ? 'has a NUL character' : null
}

/** Text that can be stored in every database and on every chain. It contains no lone surrogates and no NUL. */
export const textSchema = z.string().check((context) => {
  const problem = textProblem(context.value)
  if (problem !== null) context.issues.push({ code: 'custom', message: problem, input: context.value })
})

export const makeShortTextSchema = (max: number) =>
  textSchema.check(
    z.minLength(1, { error: 'must not be empty' }),
    z.maxLength(max, { error: `must have at most ${max} characters` }),
  )
