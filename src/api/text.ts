import * as z from 'zod'

/** Text that every store and every chain can keep: no lone surrogates, no NUL. */
export const text = z.string().check((context) => {
  const problem = !context.value.isWellFormed()
    ? 'holds half of a surrogate pair, which is no character'
    : context.value.includes('\0')
      ? 'holds a NUL character'
      : null
  if (problem !== null) context.issues.push({ code: 'custom', message: problem, input: context.value })
})

/** Non-empty text of bounded length. */
export const shortText = (max: number) =>
  text.min(1, { error: 'must not be empty' }).max(max, { error: `must have at most ${max} characters` })
